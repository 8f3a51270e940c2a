/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/look.h"

#include "base/sys.h"
#include "ordinal/flags.h"
#include "rank/count.h"
#include "rank/driver.h"
#include "rank/node.h"
#include "rank/redirect.h"
#include "rank/root.h"
#include "rank/share.h"
#include "rank/tuning.h"
#include "rank/wait.h"

/* How looks at the three kinds of key are counted. */
static const struct {
    enum rs_counter hits, misses, waited;
} counts[] = {
    [RS_LEASE_TRITON] = {RS_C_triton_hits, RS_C_triton_misses, RS_C_triton_waited},
    [RS_LEASE_FX] = {RS_C_fx_hits, RS_C_fx_misses, RS_C_fx_waited},
    [RS_LEASE_AOT] = {RS_C_aot_hits, RS_C_aot_misses, RS_C_aot_waited},
};

bool rs_look_begin(struct rs_look *look, int dirfd, const char *path, enum rs_look_op op)
{
    look->op = op;
    look->stage = RS_LOOK_FRESH;
    look->first = look->fetched = false;
    bool waits = op != RS_LOOK_WRITE && !rs_driver_inside();
    if (op != RS_LOOK_WRITE && rs_redirect_here(path)) {
        rs_redirect_bring(path);
    }
    if (!rs_where(dirfd, path, &look->where)) {
        return false;
    }
    rs_tuning_works();
    switch (look->where.shape) {
    case RS_SHAPE_FX_DIR:
    case RS_SHAPE_AOT_DIR:
    case RS_SHAPE_AOT_FILE: /* up to 2.7 the look-up is one of <key>/entry */
    case RS_SHAPE_TRITON_GROUP:
        look->first = waits && rs_known_first_look(&look->where.key, &look->known);
        break;
    case RS_SHAPE_FX_FILE:
    case RS_SHAPE_TRITON_FILE:
        break;
    case RS_SHAPE_CONFIG:
        if (waits) {
            rs_tuning_look(&look->where);
        }
        return false;
    case RS_SHAPE_TRITON_TUNED:
        if (waits) {
            rs_tuning_look_triton(&look->where);
        }
        return false;
    default:
        return false;
    }
    if (look->first) {
        rs_root_enter(&look->where);
        look->place = rs_where_place(&look->where);
    }
    return true;
}

static bool place_filled(const struct rs_look *look, bool found)
{
    bool directory = look->where.shape == RS_SHAPE_FX_DIR || look->where.shape == RS_SHAPE_AOT_DIR;
    return found && (!directory || rs_where_holds_entry(look->where.path));
}

static void note_hit(const struct rs_look *look)
{
    enum rs_lease_kind kind = look->place.kind;
    bool waited = look->stage == RS_LOOK_WAITED || look->stage == RS_LOOK_PROMISED;
    rs_count(waited ? counts[kind].waited : counts[kind].hits, 1);
    rs_node_event(RS_EVENT_HIT, look->known.kind, &look->where.key, 0);
}

static void note_miss(const struct rs_look *look)
{
    rs_count(counts[look->place.kind].misses, 1);
    rs_count(RS_C_leases_not_due,
             look->known.treatment == RS_TREAT_CANONICAL && (look->known.flags & RS_FLAG_TALKS));
}

/* Waits for the place's producer. True: look again. The path of <key>/entry is cut to that of <key>
 * meanwhile: a second one would be too much for a small thread's stack. */
static bool wait_for_producer(struct rs_look *look, struct rs_node *node)
{
    struct rs_wait_for what = {.place = look->place, .known = look->known};
    char *slash =
        look->where.shape == RS_SHAPE_AOT_FILE ? look->where.path + look->where.name - 1 : NULL;
    if (slash) {
        *slash = '\0';
    }
    if (look->where.shape != RS_SHAPE_TRITON_GROUP) {
        what.directory = look->where.path;
    }
    enum rs_waited waited = rs_wait(node, &what);
    if (slash) {
        *slash = '/';
    }
    if (waited != RS_WAITED_NOT) {
        look->fetched = false;
        look->stage = waited == RS_WAITED_STORED ? RS_LOOK_PROMISED : RS_LOOK_WAITED;
    }
    return waited == RS_WAITED_STORED || waited == RS_WAITED_AGAIN;
}

/* Nothing is there: become the producer, or wait. True: look again. */
static bool ask(struct rs_look *look, struct rs_node *node)
{
    bool takeover = false;
    switch (rs_lease_ask(&node->store, node->slot, &look->place, &takeover)) {
    case RS_LEASE_PRODUCER:
        rs_count(RS_C_leases, 1);
        rs_count(RS_C_takeovers, takeover);
        rs_node_event(takeover ? RS_EVENT_TAKEOVER : RS_EVENT_LEASE, look->known.kind,
                      &look->where.key, 0);
        look->stage = RS_LOOK_PRODUCER;
        return true; /* somebody may have stored between the look and the lease */
    case RS_LEASE_WAIT:
        return wait_for_producer(look, node);
    case RS_LEASE_UNPRODUCTIVE:
    case RS_LEASE_NONE:
        break;
    }
    return false;
}

/* Whether ranks may wait for each other at this look. */
static bool may_wait(const struct rs_look *look)
{
    unsigned flags = look->known.flags;
    if (look->known.treatment != RS_TREAT_CANONICAL || (flags & RS_FLAG_TALKS)) {
        return false;
    }
    /* torch writes the AOT entry of a training graph in the backward, after collectives; that of an
     * inference graph before the graph runs. */
    return look->place.kind != RS_LEASE_AOT ||
           ((flags & RS_FLAG_INFERENCE) && !(flags & RS_FLAG_CACHE_DECISION));
}

/* The calling thread goes on to another key. */
static void move_on(const struct rs_look *look, struct rs_node *node, bool filled)
{
    enum rs_lease_kind kind = look->place.kind;
    if (look->stage == RS_LOOK_FRESH) {
        if (kind != RS_LEASE_TRITON) {
            rs_tuning_over();
        }
        rs_count(RS_C_unproductive, rs_lease_next_lookup(&node->store, node->slot, kind));
    }
    if (kind == RS_LEASE_FX) {
        /* The AOT entry around it follows the last of its FX entries. */
        rs_lease_ready(&node->store, node->slot, RS_LEASE_AOT, filled);
    }
}

/* Nothing is there. True: something is now, or may be: look again. */
static bool get(struct rs_look *look, struct rs_node *node)
{
    /* What another rank has stored in a directory of its own. */
    if (!look->fetched && look->known.treatment == RS_TREAT_CANONICAL) {
        enum rs_share share = rs_share_fetch(&look->where);
        look->fetched = share != RS_SHARE_NOTHING;
        if (share == RS_SHARE_FETCHED) {
            return true;
        }
    }
    if (look->stage == RS_LOOK_PROMISED && rs_root_several(&look->where)) {
        /* Stored, but out of reach. Ranks that ask for a lease again now would compile one after
         * the other. */
        rs_root_in_vain();
        return false;
    }
    return look->stage != RS_LOOK_PRODUCER && may_wait(look) && rs_root_may_wait(&look->where) &&
           ask(look, node);
}

bool rs_look_again(struct rs_look *look, bool found)
{
    if (!look->first) {
        return false;
    }
    int saved = errno;
    bool again = false;
    struct rs_node *node = rs_node();
    bool filled = place_filled(look, found);
    if (node && node->slot) {
        move_on(look, node, filled);
    }
    if (filled) {
        if (look->stage == RS_LOOK_PRODUCER) {
            (void)rs_lease_stored(&node->store, node->slot, &look->place);
            look->stage = RS_LOOK_FRESH;
        }
        note_hit(look);
    } else {
        /* ENOENT is what "nothing is there" means; another error is none of our business. */
        bool missing = found || saved == ENOENT;
        again = missing && node && node->slot && get(look, node);
        if (!again) {
            note_miss(look);
        }
    }
    errno = saved;
    return again;
}
