/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/keep_lease.h"

#include "base/sys.h"
#include "rank/count.h"
#include "rank/keep.h"
#include "rank/node.h"
#include "rank/share.h"
#include "rank/tuning.h"
#include "rank/wait.h"

/* An FX entry has come, or will not: the AOT entry around it may follow. */
static void aot_ready(struct rs_node *node, const struct rs_place *place)
{
    if (node && node->slot && place->kind == RS_LEASE_FX) {
        rs_lease_ready(&node->store, node->slot, RS_LEASE_AOT, true);
    }
}

void rs_keep_failed(const struct rs_where *where)
{
    struct rs_node *node = rs_node();
    struct rs_place place = rs_where_place(where);
    aot_ready(node, &place);
    if (node && node->slot && rs_lease_failed(&node->store, node->slot, &place)) {
        rs_count(RS_C_unproductive, 1);
        rs_node_event(RS_EVENT_UNPRODUCTIVE, RS_KIND_other, &where->key, 0);
    }
}

/* Ends the lease; nanoseconds since it was taken, 0 when this process did not hold it. */
static uint64_t lease_stored(const struct rs_where *where)
{
    struct rs_node *node = rs_node();
    struct rs_place place = rs_where_place(where);
    if (!node || !node->slot) {
        return 0;
    }
    aot_ready(node, &place);
    uint64_t taken = rs_lease_taken_ns(&node->store, node->slot, &place);
    if (!rs_lease_stored(&node->store, node->slot, &place)) {
        return 0;
    }
    rs_wait_produced();
    return taken ? rs_sys_clock_ns(CLOCK_MONOTONIC) - taken : 0;
}

void rs_keep_stored(const struct rs_where *where)
{
    enum rs_kind kind = RS_KIND_triton_group;
    enum rs_counter counter = RS_C_stores_triton;
    if (where->shape != RS_SHAPE_TRITON_GROUP) {
        kind = rs_where_kind(where);
        counter = kind == RS_KIND_fx_entry ? RS_C_stores_fx : RS_C_stores_aot;
    }
    rs_count(counter, 1);
    rs_share_publish(where);
    uint64_t produced_ns = lease_stored(where);
    rs_node_event(RS_EVENT_STORE, kind, &where->key, produced_ns);
    if (kind == RS_KIND_fx_entry && produced_ns) {
        rs_tuning_begin(where);
    }
}

/* The directory of all keys of a KIND, or of some: the thread can't store what it produces. */
static void lost_above(enum rs_shape kind)
{
    struct rs_node *node = rs_node();
    if (node && node->slot) {
        rs_count(RS_C_unproductive,
                 rs_lease_next_lookup(&node->store, node->slot,
                                      kind == RS_SHAPE_FX_DIR ? RS_LEASE_FX : RS_LEASE_AOT));
    }
}

void rs_keep_lost(int dirfd, const char *path)
{
    struct rs_where where;
    int saved = errno;
    enum rs_shape above = rs_shape_above(path);
    if (above != RS_SHAPE_NONE) {
        lost_above(above);
    } else if (rs_where(dirfd, path, &where) && rs_where_leased(&where)) {
        rs_keep_failed(&where);
    }
    errno = saved;
}

void rs_keep_writing(int dirfd, const char *path)
{
    struct rs_where where;
    struct rs_node *node = rs_node();
    int saved = errno;
    if (node && node->slot && rs_where(dirfd, path, &where) &&
        (where.shape == RS_SHAPE_FX_FILE || where.shape == RS_SHAPE_AOT_FILE)) {
        struct rs_place place = rs_where_place(&where);
        rs_lease_storing(&node->store, node->slot, &place);
    }
    errno = saved;
}
