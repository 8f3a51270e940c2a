/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking for leases and ending them.
 *
 * Two threads may claim two entries for one place at the same time. Each publishes its entry first
 * and looks at all the others afterwards, so at least one sees the other. The entry with the lower
 * index wins: its owner withdraws a rival that is still PENDING, and who sees a lower PENDING or a
 * HELD one withdraws itself. Hence one HELD entry at most for each place.
 */
#include "store/kill_point.h"
#include "store/lease_table.h"
#include "store/process.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <string.h>

/* Rounds in which others were faster; after them the caller goes on without a lease. */
enum { ASK_TRIES = 64, KINDS = RS_LEASE_AOT };
enum { AGAIN = -1 }; /* beside enum rs_lease_verdict: look at the window once more */

/* The calling thread's leases, at most one of each kind. An entry that has ended since says so
 * itself: its word has another state or generation. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    struct rs_segment *segment;
    uint64_t start; /* of this thread, once asked */
    int32_t tid;    /* another one: a fork child that was not told, nothing here is its own */
    struct {
        int32_t index_plus_one; /* 0: none */
        uint32_t generation;
    } held[KINDS];
} own;

static void own_check(const struct rs_asker *asker)
{
    if (own.tid != asker->tid || own.segment != asker->segment) {
        memset(&own, 0, sizeof(own));
        own.tid = asker->tid;
        own.segment = asker->segment;
    }
}

void rs_store_forked(void)
{
    memset(&own, 0, sizeof(own));
    rs_process_forked();
}

bool rs_lease_of_thread(const struct rs_asker *asker, int kind, struct rs_lease_ref *ref)
{
    own_check(asker);
    if (own.held[kind - 1].index_plus_one == 0) {
        return false;
    }
    ref->index = own.held[kind - 1].index_plus_one - 1;
    RS_KILL_POINT(own_word);
    ref->word = atomic_load(&rs_lease_at(asker->segment, ref->index)->word);
    bool held = rs_lw_state(ref->word) == RS_LS_HELD && rs_lw_owned_by(ref->word, asker->owner) &&
                rs_lw_generation(ref->word) == own.held[kind - 1].generation;
    if (!held) {
        own.held[kind - 1].index_plus_one = 0;
    }
    return held;
}

static void own_remember(const struct rs_asker *asker, int kind, struct rs_lease_ref ref)
{
    own_check(asker);
    own.held[kind - 1].index_plus_one = ref.index + 1;
    own.held[kind - 1].generation = rs_lw_generation(ref.word);
}

static uint64_t own_start(const struct rs_asker *asker)
{
    own_check(asker);
    if (own.start == 0) {
        own.start = rs_thread_start(asker->tid);
    }
    return own.start;
}

/* Ends the thread's leases of KIND and of inner kinds. */
static unsigned end_own(const struct rs_asker *asker, int kind)
{
    unsigned ended = 0;
    for (int k = RS_LEASE_TRITON; k <= kind && k <= KINDS; k++) {
        struct rs_lease_ref ref;
        uint64_t to;
        if (rs_lease_of_thread(asker, k, &ref)) {
            ended += rs_lw_give_up(ref.word, &to) && rs_lease_end(asker->segment, ref, to);
            own.held[k - 1].index_plus_one = 0;
        }
    }
    return ended;
}

static bool owns_up_to(const struct rs_asker *asker, int kind)
{
    struct rs_lease_ref ref;
    for (int k = RS_LEASE_TRITON; k <= kind; k++) {
        if (rs_lease_of_thread(asker, k, &ref)) {
            return true;
        }
    }
    return false;
}

/* The last step to being the producer, from PENDING. */
static int become_producer(const struct rs_asker *asker, const struct rs_place *place,
                           struct rs_lease_ref ref)
{
    uint64_t to;
    if (!rs_lw_hold(ref.word, &to) || !rs_lease_apply(asker->segment, ref, to)) {
        return AGAIN;
    }
    RS_KILL_POINT(lease_held);
    own_remember(asker, (int)place->kind, (struct rs_lease_ref){ref.index, to});
    return RS_LEASE_PRODUCER;
}

static int take_over(const struct rs_asker *asker, const struct rs_place *place,
                     struct rs_lease_ref ref, bool *takeover)
{
    uint64_t pending;
    if (!rs_lw_take_over(ref.word, asker->owner, &pending) ||
        !rs_lease_apply(asker->segment, ref, pending)) {
        return AGAIN;
    }
    RS_KILL_POINT(takeover_claimed);
    end_own(asker, (int)place->kind);
    rs_lease_sign(asker, rs_lease_at(asker->segment, ref.index), own_start(asker));
    RS_KILL_POINT(takeover_written);
    int verdict = become_producer(asker, place, (struct rs_lease_ref){ref.index, pending});
    *takeover = verdict == RS_LEASE_PRODUCER;
    return verdict;
}

/* OVERDUE: the owner has had its time, but nobody knows that it is dead. */
static int after_death(const struct rs_asker *asker, const struct rs_place *place,
                       struct rs_lease_ref ref, bool overdue, bool *takeover)
{
    uint64_t to;
    bool never_held = rs_lw_withdraw(ref.word, &to);
    bool other_run = !rs_lease_same_run(asker, ref);
    if (never_held || (other_run && rs_lw_forget(ref.word, &to))) {
        rs_lease_end(asker->segment, ref, to);
        return AGAIN;
    }
    if (overdue || rs_lw_taken(ref.word)) {
        if (rs_lw_give_up(ref.word, &to)) {
            rs_lease_end(asker->segment, ref, to);
        }
        return AGAIN; /* finds the mark */
    }
    return take_over(asker, place, ref, takeover);
}

/* The place has an active entry. */
static int answer(const struct rs_asker *asker, const struct rs_place *place,
                  struct rs_lease_ref ref, bool *takeover)
{
    struct rs_lease_ref mine;
    uint64_t to;
    if (rs_lease_of_thread(asker, (int)place->kind, &mine) && mine.index == ref.index) {
        return RS_LEASE_PRODUCER;
    }
    switch (rs_lease_judge(asker, ref)) {
    case RS_OWNER_DEAD:
        return after_death(asker, place, ref, false, takeover);
    case RS_OWNER_OVERDUE:
        return after_death(asker, place, ref, true, takeover);
    case RS_OWNER_THREAD_GONE:
        if (rs_lw_give_up(ref.word, &to)) {
            rs_lease_end(asker->segment, ref, to);
        }
        return AGAIN;
    case RS_OWNER_CHANGED:
        return AGAIN;
    case RS_OWNER_ALIVE:
        break;
    }
    return owns_up_to(asker, (int)place->kind) ? RS_LEASE_NONE : RS_LEASE_WAIT;
}

static void write_place(struct rs_lease *lease, const struct rs_place *place)
{
    uint64_t word;
    atomic_store_explicit(&lease->kind, (uint32_t)place->kind, memory_order_release);
    atomic_store_explicit(&lease->dev, place->dev, memory_order_release);
    atomic_store_explicit(&lease->ino, place->ino, memory_order_release);
    for (int i = 0; i < 4; i++) {
        memcpy(&word, place->key.bytes + i * 8, 8);
        atomic_store_explicit(&lease->key[i], word, memory_order_release);
    }
}

/* After publishing entry INDEX: whether no rival stands against it. */
static bool no_rival(const struct rs_asker *asker, const struct rs_place *place, int index)
{
    for (int i = 0; i < ASK_TRIES; i++) {
        struct rs_lease_look look;
        uint64_t to;
        rs_lease_look(asker, place, index, &look);
        if (look.unproductive) {
            return false;
        }
        if (look.active.index == RS_NO_LEASE) {
            return true;
        }
        if (look.active.index < index || !rs_lw_withdraw(look.active.word, &to)) {
            return false;
        }
        rs_lease_end(asker->segment, look.active, to);
    }
    return false;
}

/* Claims VACANT for the place and stands for election. */
static int stand(const struct rs_asker *asker, const struct rs_place *place,
                 struct rs_lease_ref vacant)
{
    struct rs_lease *lease = rs_lease_at(asker->segment, vacant.index);
    struct rs_lease_ref mine = {vacant.index, 0};
    uint64_t start = own_start(asker), pending, back;
    if (!rs_lw_claim(vacant.word, asker->owner, &mine.word) ||
        !rs_lease_apply(asker->segment, vacant, mine.word)) {
        return AGAIN;
    }
    RS_KILL_POINT(lease_claimed);
    write_place(lease, place);
    rs_lease_sign(asker, lease, start);
    RS_KILL_POINT(lease_written);
    if (!rs_lw_publish(mine.word, &pending) || !rs_lease_apply(asker->segment, mine, pending)) {
        return AGAIN;
    }
    RS_KILL_POINT(lease_published);
    mine.word = pending;
    if (!no_rival(asker, place, mine.index)) {
        if (rs_lw_withdraw(mine.word, &back)) {
            rs_lease_end(asker->segment, mine, back);
        }
        return AGAIN;
    }
    end_own(asker, (int)place->kind);
    return become_producer(asker, place, mine);
}

enum rs_lease_verdict rs_lease_ask(struct rs_store *store, struct rs_slot *slot,
                                   const struct rs_place *place, bool *takeover)
{
    struct rs_asker asker;
    *takeover = false;
    if (!rs_asker_init(&asker, store, slot)) {
        return RS_LEASE_NONE;
    }
    for (int i = 0; i < ASK_TRIES; i++) {
        struct rs_lease_look look;
        int verdict = AGAIN;
        rs_lease_look(&asker, place, RS_NO_LEASE, &look);
        if (look.unproductive) {
            return RS_LEASE_UNPRODUCTIVE;
        }
        if (look.active.index != RS_NO_LEASE) {
            verdict = answer(&asker, place, look.active, takeover);
        } else if (look.vacant.index != RS_NO_LEASE) {
            verdict = stand(&asker, place, look.vacant);
        } else if (!rs_lease_reclaim(&asker, place)) {
            rs_slot_count(slot, RS_C_lease_full, 1);
            return RS_LEASE_NONE;
        }
        if (verdict != AGAIN) {
            return (enum rs_lease_verdict)verdict;
        }
    }
    return RS_LEASE_NONE;
}

bool rs_lease_stored(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    uint64_t to;
    if (!rs_asker_init(&asker, store, slot) || !rs_lease_find_held(&asker, place, &ref)) {
        return false;
    }
    return rs_lw_store(ref.word, &to) && rs_lease_end(asker.segment, ref, to) &&
           rs_lw_owned_by(ref.word, asker.owner);
}

bool rs_lease_failed(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    uint64_t to;
    if (!rs_asker_init(&asker, store, slot) || !rs_lease_find_held(&asker, place, &ref) ||
        !rs_lw_owned_by(ref.word, asker.owner)) {
        return false;
    }
    return rs_lw_give_up(ref.word, &to) && rs_lease_end(asker.segment, ref, to);
}

unsigned rs_lease_next_lookup(struct rs_store *store, struct rs_slot *slot, enum rs_lease_kind kind)
{
    struct rs_asker asker;
    return rs_asker_init(&asker, store, slot) ? end_own(&asker, (int)kind) : 0;
}

bool rs_lease_active(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    return rs_asker_init(&asker, store, slot) && rs_lease_find_held(&asker, place, &ref);
}

bool rs_lease_holds(struct rs_store *store, struct rs_slot *slot, enum rs_lease_kind kind)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    return rs_asker_init(&asker, store, slot) && rs_lease_of_thread(&asker, (int)kind, &ref);
}

bool rs_lease_held(struct rs_store *store, struct rs_slot *slot)
{
    struct rs_asker asker;
    return rs_asker_init(&asker, store, slot) && owns_up_to(&asker, KINDS);
}

uint64_t rs_lease_taken_ns(struct rs_store *store, struct rs_slot *slot,
                           const struct rs_place *place)
{
    struct rs_asker asker;
    struct rs_lease_ref ref;
    if (!rs_asker_init(&asker, store, slot) || !rs_lease_find_held(&asker, place, &ref) ||
        !rs_lw_owned_by(ref.word, asker.owner)) {
        return 0;
    }
    return atomic_load_explicit(&rs_lease_at(asker.segment, ref.index)->taken_ns,
                                memory_order_acquire);
}
