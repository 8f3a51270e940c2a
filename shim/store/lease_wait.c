/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a lease's end. The futex word is read before the lease's word is, so an end between
 * the two is seen, and one after them finds the futex word changed: no wake-up is lost. A waker
 * that dies before it wakes costs one slice.
 */
#include "store/kill_point.h"
#include "store/lease_table.h"
#include "store/store_sys.h"

#include <stdatomic.h>

/* How often a waiter looks whether the owner lives. */
#define SLICE_NS (RS_NS_PER_S / 2)

enum { CHANGED = -1, WITHDRAWN = -2 }; /* beside enum rs_wait_end: look at the window again */

/* A slice is over. CHANGED: go on waiting. */
static int check_owner(const struct rs_asker *asker, struct rs_lease_ref ref)
{
    uint64_t to;
    enum rs_owner_state owner = rs_lease_judge(asker, ref);
    if (owner == RS_OWNER_DEAD || owner == RS_OWNER_OVERDUE) {
        bool once_more = owner == RS_OWNER_DEAD && !rs_lw_taken(ref.word);
        bool last = !once_more && rs_lease_same_run(asker, ref);
        if (!last || !rs_lw_give_up(ref.word, &to)) {
            return RS_WAIT_OWNER_DIED;
        }
    } else if (owner != RS_OWNER_THREAD_GONE || !rs_lw_give_up(ref.word, &to)) {
        return CHANGED;
    }
    return rs_lease_end(asker->segment, ref, to) ? (int)RS_WAIT_UNPRODUCTIVE : CHANGED;
}

/* How the lease of generation GENERATION stands; OVER false: it goes on. */
static int outcome(uint64_t word, uint32_t generation, bool *over)
{
    *over = true;
    if (rs_lw_generation(word) != generation) {
        return CHANGED;
    }
    switch (rs_lw_state(word)) {
    case RS_LS_STORED:
        return RS_WAIT_ENDED;
    case RS_LS_UNPRODUCTIVE:
        return RS_WAIT_UNPRODUCTIVE;
    case RS_LS_PENDING:
    case RS_LS_HELD:
        *over = false;
        return CHANGED;
    case RS_LS_FREE:
    case RS_LS_CLAIMED:
        break;
    }
    return WITHDRAWN;
}

/* When a wait is over, whatever becomes of the lease. */
struct until {
    bool (*done)(void *context); /* NULL: never */
    void *context;
    uint64_t deadline;
};

/* Waits while the entry is the lease that REF shows. */
static int watch(const struct rs_asker *asker, struct rs_lease_ref ref, const struct until *until)
{
    struct rs_lease *lease = rs_lease_at(asker->segment, ref.index);
    RS_KILL_POINT(wait_begun);
    for (;;) {
        bool over;
        RS_KILL_POINT(wait_turn);
        uint32_t turn = atomic_load(&lease->turn);
        RS_KILL_POINT(wait_word);
        uint64_t word = atomic_load(&lease->word);
        int end = outcome(word, rs_lw_generation(ref.word), &over);
        if (over) {
            return end;
        }
        if (until->done && until->done(until->context)) {
            return RS_WAIT_ENDED;
        }
        uint64_t now = rs_sys_clock_ns(CLOCK_MONOTONIC);
        if (now >= until->deadline) {
            return RS_WAIT_TIMEOUT;
        }
        uint64_t slice = until->deadline - now < SLICE_NS ? until->deadline : now + SLICE_NS;
        RS_KILL_POINT(wait_sleep);
        int slept = rs_sys_futex_wait(&lease->turn, turn, slice);
        int error = errno;
        RS_KILL_POINT(wait_woken);
        if (slept != 0 && error == EINTR) {
            return RS_WAIT_SIGNAL;
        }
        if (slept != 0 && error != EAGAIN) {
            end = check_owner(asker, (struct rs_lease_ref){ref.index, word});
            if (end != CHANGED) {
                return end;
            }
        }
    }
}

static enum rs_wait_end wait_for(const struct rs_asker *asker, const struct rs_place *place,
                                 const struct until *until)
{
    /* What it means when nothing is left to wait for. An entry that has a new tenant already was
     * most likely ended by a store. */
    enum rs_wait_end nothing = RS_WAIT_ENDED;
    for (;;) {
        struct rs_lease_look look;
        rs_lease_look(asker, place, RS_NO_LEASE, &look);
        if (look.unproductive) {
            return RS_WAIT_UNPRODUCTIVE;
        }
        if (look.active.index == RS_NO_LEASE) {
            return nothing;
        }
        int end = watch(asker, look.active, until);
        if (end != CHANGED && end != WITHDRAWN) {
            return (enum rs_wait_end)end;
        }
        nothing = end == WITHDRAWN ? RS_WAIT_OWNER_DIED : RS_WAIT_ENDED;
    }
}

enum rs_wait_end rs_lease_wait_until(struct rs_store *store, struct rs_slot *slot,
                                     const struct rs_place *place, uint64_t budget_ns,
                                     bool (*done)(void *context), void *context,
                                     uint64_t *waited_ns)
{
    struct rs_asker asker;
    *waited_ns = 0;
    if (!rs_asker_init(&asker, store, slot)) {
        return RS_WAIT_UNPRODUCTIVE;
    }
    uint64_t begin = rs_sys_clock_ns(CLOCK_MONOTONIC);
    struct until until = {done, context, UINT64_MAX};
    if (budget_ns < UINT64_MAX - begin) {
        until.deadline = begin + budget_ns;
    }
    enum rs_wait_end end = wait_for(&asker, place, &until);
    *waited_ns = rs_sys_clock_ns(CLOCK_MONOTONIC) - begin;
    return end;
}

enum rs_wait_end rs_lease_wait(struct rs_store *store, struct rs_slot *slot,
                               const struct rs_place *place, uint64_t budget_ns,
                               uint64_t *waited_ns)
{
    return rs_lease_wait_until(store, slot, place, budget_ns, NULL, NULL, waited_ns);
}

void rs_lease_nudge(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    if (rs_asker_init(&asker, store, slot) && rs_lease_find_held(&asker, place, &ref) &&
        rs_lw_owned_by(ref.word, asker.owner)) {
        struct rs_lease *lease = rs_lease_at(asker.segment, ref.index);
        atomic_fetch_add(&lease->turn, 1);
        rs_sys_futex_wake_all(&lease->turn);
    }
}
