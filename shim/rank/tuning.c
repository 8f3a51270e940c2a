/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/tuning.h"

#include "base/sys.h"
#include "ordinal/flags.h"
#include "rank/count.h"
#include "rank/known.h"
#include "rank/root.h"
#include "rank/share.h"
#include "rank/tuned.h"
#include "rank/tuned_map.h"
#include "rank/wait.h"

#include <stdatomic.h>
#include <string.h>

/* What this thread measures for others, and whose results it is about to look up. */
struct thread_place {
    bool set;
    uint16_t left;  /* measured: results still to come of the graph that it stored last, */
    uint32_t graph; /* and a number for that graph */
    struct rs_place place;
};
static __thread struct thread_place measured, loaded;

/* The lease for what follows the store of FX. It is one of FX's kind, so that the thread's next
 * details end it, under a key that is nobody else's. */
static struct rs_place place_after(const struct rs_where *where)
{
    static const char other[8] = "measured";
    struct rs_place place = {.kind = RS_LEASE_FX, .key = where->key};
    rs_root_leased(where, &place.dev, &place.ino);
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
        measured.set = true;
        measured.place = *place;
        rs_tuning_works();
    }
}

void rs_tuning_works(void)
{
    struct rs_node *node = measured.set ? tied() : NULL;
    if (node) {
        rs_lease_storing(&node->store, node->slot, &measured.place);
    }
}

void rs_tuning_expects(const struct rs_report *report)
{
    static _Atomic(uint32_t) graphs;
    uint8_t torch_key[RS_TORCH_KEY_SIZE];
    measured.left = 0;
    measured.graph = ++graphs;
    uint32_t count = rs_torch_key(torch_key) ? report->choice_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t hex[RS_HEX];
        struct rs_key key;
        rs_config_name(report->choices[i], torch_key, hex);
        measured.left += measured.left < UINT16_MAX &&
                         rs_key_from_triton((const char *)hex, RS_HEX, &key) &&
                         rs_tuned_expect(&key, measured.graph);
    }
}

/* True: it was the last one. */
static bool has_come(const struct rs_key *key)
{
    return measured.left && rs_tuned_came(key, measured.graph) && --measured.left == 0;
}

void rs_tuning_begin(const struct rs_where *where)
{
    struct rs_known known = rs_known_find(&where->key);
    struct rs_node *node = tied();
    bool active;
    if (node && measured.left && known.treatment == RS_TREAT_CANONICAL &&
        !(known.flags & RS_FLAG_COLLECTIVES)) {
        struct rs_place place = place_after(where);
        rs_tuning_over();
        ask(node, &place, &active);
    }
}

void rs_tuning_reads(const struct rs_where *where)
{
    loaded.set = true;
    loaded.place = place_after(where);
}

/* True: the result is there now, or nobody is left to wait for, and somebody may ask again. */
static bool await(struct rs_node *node, const struct rs_place *place, bool (*there)(void *),
                  struct rs_where *where)
{
    struct rs_wait_for what = {
        .place = *place, .known = {.kind = RS_KIND_best_config}, .there = there, .context = where};
    enum rs_waited waited = rs_wait(node, &what);
    if (waited != RS_WAITED_NOT) {
        rs_count(there(where) ? RS_C_configs_waited : RS_C_configs_left, 1);
    }
    return waited == RS_WAITED_STORED || waited == RS_WAITED_AGAIN;
}

static bool config_there(void *where)
{
    return rs_tuned_is_there(where);
}

/* Waits while the loaded graph has a rank that measures. If that has died, who finds out takes its
 * place: were the lease left as it is, each look-up would find out again, half a second each. */
static void await_config(struct rs_node *node, struct rs_where *where)
{
    enum { TRIES = 3 };
    for (int i = 0; i < TRIES && rs_lease_active(&node->store, node->slot, &loaded.place); i++) {
        bool active;
        ask(node, &loaded.place, &active);
        if (!active) {
            return;
        }
        bool again = await(node, &loaded.place, config_there, where);
        if (config_there(where)) {
            (void)rs_tuned_look(where);
            rs_count(RS_C_configs_taken, rs_primary() == 0); /* there no name is made */
            return;
        }
        if (!again) {
            loaded.set = false; /* this graph's others would not come either */
            return;
        }
    }
}

/* Whether the rank that measures would save a result where this one looks: under a name of its own
 * (a cache_key_tag, a full table) nobody else's ever comes. */
static bool may_come(const struct rs_where *where)
{
    char name[RS_TUNED_NAME + 1];
    return rs_primary() == 0 || rs_tuned_shared(&where->key, name);
}

void rs_tuning_look(struct rs_where *where)
{
    int saved = errno;
    if (rs_primary() < 0 || rs_tuned_look(where)) {
        return;
    }
    struct rs_node *node = tied();
    /* Who is the producer of something, or measures itself, waits for nobody else's. */
    if (node && loaded.set && may_come(where) && !rs_lease_held(&node->store, node->slot)) {
        await_config(node, where);
    }
    errno = saved;
}

/* Here, or in another rank's directory. */
static bool file_there(void *context)
{
    const struct rs_where *where = context;
    struct stat st;
    return rs_sys_fstatat(AT_FDCWD, where->path, &st, 0) == 0 || rs_share_fetch_tuned(where);
}

void rs_tuning_look_triton(struct rs_where *where)
{
    int saved = errno;
    struct rs_node *node = tied();
    bool active;
    rs_root_enter(where);
    struct rs_place place = place_after(where);
    if (node && !file_there(where) && !(measured.set && same_place(&measured.place, &place))) {
        rs_tuning_over();
        /* Who holds a graph's lease has others waiting for the graph. */
        if (!rs_lease_holds(&node->store, node->slot, RS_LEASE_FX)) {
            ask(node, &place, &active);
            if (active) {
                (void)await(node, &place, file_there, where);
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
    if (where->shape == RS_SHAPE_TRITON_TUNED) {
        rs_share_publish_tuned(where);
    }
    if (!node) {
        errno = saved;
        return;
    }
    /* Triton's lease is for this one result. And with the last of a graph's nobody waits any
     * longer: torch looks up some that never come (2.14 and later, reductions with one
     * configuration). */
    if (same_place(&measured.place, &place) || has_come(&where->key)) {
        rs_tuning_over();
    } else {
        rs_tuning_works();
        rs_lease_nudge(&node->store, node->slot, &measured.place);
    }
    errno = saved;
}

void rs_tuning_forked(void)
{
    measured.set = loaded.set = false;
}
