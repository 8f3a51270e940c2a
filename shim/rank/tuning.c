/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/tuning.h"

#include "base/sys.h"
#include "ordinal/flags.h"
#include "rank/count.h"
#include "rank/known.h"
#include "rank/tuned.h"
#include "rank/wait.h"

#include <string.h>

/* What this thread measures for others, and whose results it is about to look up. */
struct thread_place {
    bool set;
    struct rs_place place;
};
static __thread struct thread_place measured, loaded;

/* The lease for what follows the store of FX. It is one of FX's kind, so that the thread's next
 * details end it, under a key that is nobody else's. */
static struct rs_place place_after(const struct rs_where *where)
{
    static const char other[8] = "measured";
    struct rs_place place = {RS_LEASE_FX, where->key, where->dev, where->ino};
    for (size_t i = 0; i < sizeof(other); i++) {
        place.key.bytes[i] ^= (uint8_t)other[i];
    }
    return place;
}

static bool same_place(const struct rs_place *a, const struct rs_place *b)
{
    return rs_key_equal(&a->key, &b->key) && a->dev == b->dev && a->ino == b->ino;
}

static struct rs_node *tied(void)
{
    struct rs_node *node = rs_node();
    return node && node->slot ? node : NULL;
}

void rs_tuning_over(void)
{
    struct rs_node *node = measured.set ? tied() : NULL;
    if (node) {
        (void)rs_lease_stored(&node->store, node->slot, &measured.place);
    }
    measured.set = loaded.set = false;
}

/* The lease of PLACE; *ACTIVE: somebody else has it. */
static void ask(struct rs_node *node, const struct rs_place *place, bool *active)
{
    bool takeover;
    enum rs_lease_verdict verdict = rs_lease_ask(&node->store, node->slot, place, &takeover);
    *active = verdict == RS_LEASE_WAIT;
    if (verdict == RS_LEASE_PRODUCER) {
        measured = (struct thread_place){true, *place};
    }
}

void rs_tuning_begin(const struct rs_where *where)
{
    struct rs_known known = rs_known_find(&where->key);
    struct rs_node *node = tied();
    bool active;
    if (node && known.treatment == RS_TREAT_CANONICAL && !(known.flags & RS_FLAG_COLLECTIVES)) {
        struct rs_place place = place_after(where);
        rs_tuning_over();
        ask(node, &place, &active);
    }
}

void rs_tuning_reads(const struct rs_where *where)
{
    loaded = (struct thread_place){true, place_after(where)};
}

static void await(struct rs_node *node, const struct rs_place *place, bool (*there)(void *),
                  struct rs_where *where)
{
    struct rs_wait_for what = {
        .place = *place, .known = {.kind = RS_KIND_best_config}, .there = there, .context = where};
    if (rs_wait(node, &what) != RS_WAITED_NOT) {
        rs_count(there(where) ? RS_C_configs_waited : RS_C_configs_left, 1);
    }
}

static bool config_there(void *where)
{
    return rs_tuned_is_there(where);
}

void rs_tuning_look(struct rs_where *where)
{
    int saved = errno;
    if (rs_primary() < 0 || rs_tuned_look(where)) {
        return;
    }
    struct rs_node *node = tied();
    /* Who is the producer of a graph, or measures itself, waits for nobody else's. */
    if (node && loaded.set && !rs_lease_holds(&node->store, node->slot, RS_LEASE_FX) &&
        rs_lease_active(&node->store, node->slot, &loaded.place)) {
        await(node, &loaded.place, config_there, where);
        (void)rs_tuned_look(where);
    }
    errno = saved;
}

static bool file_there(void *context)
{
    const struct rs_where *where = context;
    struct stat st;
    return rs_sys_fstatat(AT_FDCWD, where->path, &st, 0) == 0;
}

void rs_tuning_look_triton(struct rs_where *where)
{
    int saved = errno;
    struct rs_node *node = tied();
    struct rs_place place = place_after(where);
    bool active;
    if (node && !file_there(where) && !(measured.set && same_place(&measured.place, &place))) {
        rs_tuning_over();
        /* Who holds a graph's lease has others waiting for the graph. */
        if (!rs_lease_holds(&node->store, node->slot, RS_LEASE_FX)) {
            ask(node, &place, &active);
            if (active) {
                await(node, &place, file_there, where);
            }
        }
    }
    errno = saved;
}

void rs_tuning_saved(const struct rs_where *where)
{
    int saved = errno;
    struct rs_node *node = measured.set ? tied() : NULL;
    struct rs_place place = place_after(where);
    if (!node) {
        return;
    }
    if (same_place(&measured.place, &place)) {
        rs_tuning_over(); /* Triton's: one result for each lease */
    } else {
        rs_lease_nudge(&node->store, node->slot, &measured.place);
    }
    errno = saved;
}

void rs_tuning_forked(void)
{
    measured.set = loaded.set = false;
}
