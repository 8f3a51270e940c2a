/* SPDX-License-Identifier: Apache-2.0
 *
 * See lease_table.h. Fields beside the word are written with release and read with acquire between
 * two readings of the word: who sees a new tenant's field sees that the word has changed.
 */
#include "store/lease_table.h"

#include "store/kill_point.h"
#include "store/layout.h"
#include "store/process.h"
#include "store/registry.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <string.h>

/* Nobody can see into a foreign pid namespace. A job whose rank waits longer than NCCL's own limit
 * has failed by then; an owner there that holds a lease longer is overdue. */
#define PATIENCE_NS (600 * RS_NS_PER_S)

bool rs_asker_init(struct rs_asker *asker, struct rs_store *store, struct rs_slot *slot)
{
    if (!slot || !store->segment || !store->writable) {
        return false;
    }
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
    uint32_t job = atomic_load_explicit(&slot->job, memory_order_relaxed);
    *asker = (struct rs_asker){
        .segment = store->segment,
        .slot = slot,
        .owner = {.slot = (uint32_t)(slot - rs_slots(store->segment)),
                  .generation = (uint32_t)rs_word_generation(word)},
        .job = job,
        .tid = rs_sys_gettid(),
        .patience_ns = store->patience_ns > PATIENCE_NS ? store->patience_ns : PATIENCE_NS,
    };
    if (job < RS_JOBS) {
        asker->run = atomic_load_explicit(&rs_jobs(store->segment)[job].run, memory_order_acquire);
    }
    return rs_word_state(word) == RS_SLOT_LIVE;
}

struct rs_lease *rs_lease_at(const struct rs_segment *segment, int index)
{
    return &rs_leases(segment)[index];
}

int rs_lease_index(const struct rs_place *place, int i)
{
    uint64_t word, hash = (uint64_t)place->kind ^ place->ino;
    hash = (hash ^ place->dev << 32) * UINT64_C(0x9e3779b97f4a7c15);
    for (int part = 0; part < 4; part++) {
        memcpy(&word, place->key.bytes + part * 8, 8);
        hash = (hash ^ hash >> 29 ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
    }
    return (int)(((hash >> 40) + (uint64_t)i) % RS_LEASES);
}

static bool same_place(const struct rs_lease *lease, const struct rs_place *place)
{
    uint64_t word;
    for (int i = 0; i < 4; i++) {
        memcpy(&word, place->key.bytes + i * 8, 8);
        if (atomic_load_explicit(&lease->key[i], memory_order_acquire) != word) {
            return false;
        }
    }
    return atomic_load_explicit(&lease->kind, memory_order_acquire) == (uint32_t)place->kind &&
           atomic_load_explicit(&lease->dev, memory_order_acquire) == place->dev &&
           atomic_load_explicit(&lease->ino, memory_order_acquire) == place->ino;
}

static bool run_is(const struct rs_lease *lease, const struct rs_asker *asker)
{
    return atomic_load_explicit(&lease->job, memory_order_acquire) == asker->job &&
           atomic_load_explicit(&lease->run, memory_order_acquire) == asker->run;
}

/* An entry, read between two equal readings of its word. */
struct seen {
    uint64_t word;
    bool same;     /* it is about the place (in the states in which it is about one) */
    bool same_run; /* and about the asker's run */
};

/* An entry that changes all the time is given up as another's: each change is somebody's
 * progress. */
static struct seen read_entry(const struct rs_lease *lease, const struct rs_asker *asker,
                              const struct rs_place *place)
{
    enum { READINGS = 64 };
    struct seen seen = {0};
    for (int i = 0; i < READINGS; i++) {
        RS_KILL_POINT(look_word);
        seen = (struct seen){.word = atomic_load(&lease->word)};
        if (rs_lw_active(seen.word) || rs_lw_state(seen.word) == RS_LS_UNPRODUCTIVE) {
            RS_KILL_POINT(look_place);
            seen.same = same_place(lease, place);
            seen.same_run = run_is(lease, asker);
        }
        RS_KILL_POINT(look_again);
        if (atomic_load(&lease->word) == seen.word) {
            return seen;
        }
    }
    return (struct seen){.word = seen.word};
}

bool rs_lease_same_run(const struct rs_asker *asker, struct rs_lease_ref ref)
{
    RS_KILL_POINT(run_read);
    return run_is(rs_lease_at(asker->segment, ref.index), asker);
}

void rs_lease_look(const struct rs_asker *asker, const struct rs_place *place, int skip,
                   struct rs_lease_look *look)
{
    *look = (struct rs_lease_look){.active = {RS_NO_LEASE, 0}, .vacant = {RS_NO_LEASE, 0}};
    for (int i = 0; i < RS_WINDOW; i++) {
        int index = rs_lease_index(place, i);
        if (index == skip) {
            continue;
        }
        struct seen seen = read_entry(rs_lease_at(asker->segment, index), asker, place);
        struct rs_lease_ref ref = {index, seen.word};
        enum rs_lease_state state = rs_lw_state(seen.word);
        bool free_over_stored =
            look->vacant.index == RS_NO_LEASE || rs_lw_state(look->vacant.word) == RS_LS_STORED;
        bool held_over_pending =
            look->active.index == RS_NO_LEASE ||
            (state == RS_LS_HELD && rs_lw_state(look->active.word) == RS_LS_PENDING);
        if (state == RS_LS_FREE && free_over_stored) {
            look->vacant = ref;
        } else if (state == RS_LS_STORED && look->vacant.index == RS_NO_LEASE) {
            look->vacant = ref;
        } else if (seen.same && state == RS_LS_UNPRODUCTIVE && seen.same_run) {
            look->unproductive = true;
        } else if (seen.same && rs_lw_active(seen.word) && held_over_pending) {
            look->active = ref;
        }
    }
}

bool rs_lease_find_held(const struct rs_asker *asker, const struct rs_place *place,
                        struct rs_lease_ref *ref)
{
    struct rs_lease_look look;
    rs_lease_look(asker, place, RS_NO_LEASE, &look);
    *ref = look.active;
    return ref->index != RS_NO_LEASE && rs_lw_state(ref->word) == RS_LS_HELD;
}

/* The process behind an owner: 1, 0, -1 as rs_process_alive(). */
static int process_alive(const struct rs_segment *segment, struct rs_lease_owner owner,
                         int32_t *pid)
{
    RS_KILL_POINT(judge_process);
    const struct rs_slot *slot = &rs_slots(segment)[owner.slot];
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
    bool same = ((uint32_t)rs_word_generation(word) & RS_LW_TENANT_MASK) == owner.generation;
    *pid = atomic_load_explicit(&slot->pid, memory_order_acquire);
    int alive = rs_slot_alive(slot);
    /* The slot has another tenant: it was given away because its process was dead. */
    same = same && atomic_load_explicit(&slot->word, memory_order_relaxed) == word;
    return same ? alive : 0;
}

enum rs_owner_state rs_lease_judge(const struct rs_asker *asker, struct rs_lease_ref ref)
{
    const struct rs_segment *segment = asker->segment;
    const struct rs_lease *lease = rs_lease_at(segment, ref.index);
    RS_KILL_POINT(judge_fields);
    int32_t tid = atomic_load_explicit(&lease->tid, memory_order_acquire);
    uint64_t start = atomic_load_explicit(&lease->thread_start, memory_order_acquire);
    uint64_t taken = atomic_load_explicit(&lease->taken_ns, memory_order_acquire);
    RS_KILL_POINT(judge_word);
    if (atomic_load(&lease->word) != ref.word) {
        return RS_OWNER_CHANGED;
    }
    int32_t pid;
    int alive = process_alive(segment, rs_lw_owner(ref.word), &pid);
    if (alive == 0) {
        return RS_OWNER_DEAD;
    }
    if (alive < 0) {
        bool late = rs_sys_clock_ns(CLOCK_MONOTONIC) > taken + asker->patience_ns;
        return late ? RS_OWNER_OVERDUE : RS_OWNER_ALIVE;
    }
    /* In PENDING the thread is inside rs_lease_ask(), or its fields are not written yet. */
    if (rs_lw_state(ref.word) != RS_LS_HELD) {
        return RS_OWNER_ALIVE;
    }
    RS_KILL_POINT(judge_thread);
    if (rs_thread_alive(pid, tid, start)) {
        return RS_OWNER_ALIVE;
    }
    /* Perhaps because the whole process is about to die, or has died since it was looked for. */
    RS_KILL_POINT(judge_ending);
    if (rs_process_ending(pid)) {
        return RS_OWNER_ALIVE; /* for a moment: its death will show */
    }
    return process_alive(segment, rs_lw_owner(ref.word), &pid) == 0 ? RS_OWNER_DEAD
                                                                    : RS_OWNER_THREAD_GONE;
}

bool rs_lease_apply(struct rs_segment *segment, struct rs_lease_ref ref, uint64_t to)
{
    RS_KILL_POINT(lease_apply);
    return atomic_compare_exchange_strong(&rs_lease_at(segment, ref.index)->word, &ref.word, to);
}

bool rs_lease_end(struct rs_segment *segment, struct rs_lease_ref ref, uint64_t to)
{
    struct rs_lease *lease = rs_lease_at(segment, ref.index);
    if (!rs_lease_apply(segment, ref, to)) {
        return false;
    }
    RS_KILL_POINT(lease_ended);
    atomic_fetch_add(&lease->turn, 1);
    RS_KILL_POINT(lease_turned);
    rs_sys_futex_wake_all(&lease->turn);
    return true;
}

void rs_lease_sign(const struct rs_asker *asker, struct rs_lease *lease, uint64_t thread_start)
{
    RS_KILL_POINT(lease_sign);
    atomic_store_explicit(&lease->thread_start, thread_start, memory_order_release);
    atomic_store_explicit(&lease->taken_ns, rs_sys_clock_ns(CLOCK_MONOTONIC), memory_order_release);
    atomic_store_explicit(&lease->storing, 0, memory_order_release);
    atomic_store_explicit(&lease->tid, asker->tid, memory_order_release);
    RS_KILL_POINT(lease_sign_run);
    atomic_store_explicit(&lease->job, asker->job, memory_order_release);
    atomic_store_explicit(&lease->run, asker->run, memory_order_release);
}

/* A mark counts as long as its run has processes. */
static bool mark_is_over(const struct rs_asker *asker, const struct rs_lease *lease)
{
    RS_KILL_POINT(reclaim_mark);
    uint32_t job = atomic_load_explicit(&lease->job, memory_order_acquire);
    uint32_t run = atomic_load_explicit(&lease->run, memory_order_acquire);
    if (job == asker->job && run == asker->run) {
        return false;
    }
    if (job >= RS_JOBS) {
        return true;
    }
    uint32_t now = atomic_load_explicit(&rs_jobs(asker->segment)[job].run, memory_order_acquire);
    return now != run || !rs_job_alive(asker->segment, job);
}

bool rs_lease_reclaim(const struct rs_asker *asker, const struct rs_place *place)
{
    bool freed = false;
    for (int i = 0; i < RS_WINDOW; i++) {
        int index = rs_lease_index(place, i);
        struct rs_lease *lease = rs_lease_at(asker->segment, index);
        RS_KILL_POINT(reclaim_word);
        struct rs_lease_ref ref = {index, atomic_load(&lease->word)};
        uint64_t to;
        int32_t pid;
        bool over = false;
        if (rs_lw_state(ref.word) == RS_LS_UNPRODUCTIVE) {
            over = mark_is_over(asker, lease);
        } else if (rs_lw_state(ref.word) == RS_LS_CLAIMED) {
            over = process_alive(asker->segment, rs_lw_owner(ref.word), &pid) == 0;
        } else if (rs_lw_active(ref.word)) {
            enum rs_owner_state owner = rs_lease_judge(asker, ref);
            over = owner == RS_OWNER_DEAD || owner == RS_OWNER_OVERDUE;
        }
        if (over && (rs_lw_withdraw(ref.word, &to) || rs_lw_forget(ref.word, &to))) {
            freed |= rs_lease_end(asker->segment, ref, to);
        }
    }
    return freed;
}
