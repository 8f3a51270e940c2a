/* SPDX-License-Identifier: Apache-2.0
 *
 * The lease table: rivals for one place, threads that race, windows that fill up, reclaiming.
 */
#include "test_store_fixture.h"

#include "store/lease_table.h"

#include <pthread.h>
#include <stdatomic.h>

static struct fixture f;
static struct rs_slot *slot;

static void setup(void)
{
    fixture_open(&f, "table");
    slot = fixture_slot(&f, "job", 0);
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(lease_table, .init = setup, .fini = teardown, .timeout = 120);

static enum rs_lease_verdict ask(const struct rs_place *place)
{
    bool takeover;
    return rs_lease_ask(&f.store, slot, place, &takeover);
}

static struct rs_lease *entry(const struct rs_place *place, int i)
{
    return rs_lease_at(f.store.segment, rs_lease_index(place, i));
}

/* Puts an entry as another process, slot OWNER, would have made it. */
static void plant(const struct rs_place *place, int i, enum rs_lease_state state, uint32_t owner)
{
    struct rs_lease *lease = entry(place, i);
    uint64_t word;
    lease->kind = (uint32_t)place->kind;
    lease->dev = place->dev;
    lease->ino = place->ino;
    for (int part = 0; part < 4; part++) {
        memcpy(&word, place->key.bytes + part * 8, 8);
        lease->key[part] = word;
    }
    lease->job = slot->job;
    lease->run = rs_jobs(f.store.segment)[slot->job].run;
    lease->tid = getppid();
    struct rs_lease_owner by = {owner, 1};
    lease->word = rs_lw_make(state, false, by, 1);
}

/* A slot for a process that lives: Criterion's own, our parent. */
static uint32_t plant_living(void)
{
    struct rs_slot *other = &rs_slots(f.store.segment)[100];
    other->pid = getppid();
    other->start = 0;
    other->space = slot->space;
    other->word = rs_word(RS_SLOT_LIVE, 1);
    return 100;
}

Test(lease_table, window_is_within_the_table)
{
    for (unsigned i = 0; i < 20000; i++) {
        struct rs_place place = place_of(i);
        for (int j = 0; j < RS_WINDOW; j++) {
            int index = rs_lease_index(&place, j);
            cr_assert(index >= 0 && index < RS_LEASES);
        }
    }
}

Test(lease_table, keys_spread)
{
    static unsigned load[RS_LEASES];
    unsigned worst = 0;
    for (unsigned i = 0; i < RS_LEASES; i++) {
        struct rs_place place = place_of(i);
        unsigned now = ++load[rs_lease_index(&place, 0)];
        worst = now > worst ? now : worst;
    }
    cr_assert_lt(worst, 10);
}

Test(lease_table, pending_rival_with_lower_index_wins)
{
    struct rs_place place = place_of(1);
    plant(&place, 0, RS_LS_PENDING, plant_living());
    cr_assert_eq(ask(&place), RS_LEASE_WAIT);
    cr_assert_eq(rs_lw_state(entry(&place, 0)->word), RS_LS_PENDING);
    cr_assert_eq(rs_lw_state(entry(&place, 1)->word), RS_LS_FREE);
}

/* The model's trace: a rival claims entry 0 and is slow, this thread is elected with entry 1, the
 * rival publishes and has not looked yet. */
Test(lease_table, store_finds_the_lease_behind_a_pending_rival)
{
    struct rs_place place = place_of(1);
    uint32_t living = plant_living();
    plant(&place, 0, RS_LS_CLAIMED, living);
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER);
    cr_assert_eq(rs_lw_state(entry(&place, 1)->word), RS_LS_HELD);
    plant(&place, 0, RS_LS_PENDING, living);
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER, "it still is");
    cr_assert(rs_lease_stored(&f.store, slot, &place));
    cr_assert_eq(rs_lw_state(entry(&place, 1)->word), RS_LS_STORED);
}

Test(lease_table, dead_rivals_are_no_rivals)
{
    struct rs_place place = place_of(1);
    plant(&place, 5, RS_LS_PENDING, 200); /* a slot that nobody has */
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER);
    place = place_of(2);
    plant(&place, 0, RS_LS_CLAIMED, 200);
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER, "nobody can read a claimed entry");
}

/* Threads that all want the same places: one producer for each place and round. */
enum { THREADS = 8, PLACES = 4, ROUNDS = 300 };
static pthread_barrier_t barrier;
static _Atomic int producers[ROUNDS][PLACES], waits;

static void *racer(void *arg)
{
    (void)arg;
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        for (unsigned i = 0; i < PLACES; i++) {
            struct rs_place place = place_of(round * PLACES + i);
            bool takeover;
            uint64_t waited;
            switch (rs_lease_ask(&f.store, slot, &place, &takeover)) {
            case RS_LEASE_PRODUCER:
                atomic_fetch_add(&producers[round][i], 1);
                pthread_barrier_wait(&barrier);
                cr_assert(rs_lease_stored(&f.store, slot, &place));
                break;
            case RS_LEASE_WAIT:
                pthread_barrier_wait(&barrier);
                atomic_fetch_add(&waits, 1);
                cr_assert_eq(
                    rs_lease_wait(&f.store, slot, &place, 20 * UINT64_C(1000000000), &waited),
                    RS_WAIT_ENDED);
                break;
            case RS_LEASE_UNPRODUCTIVE:
            case RS_LEASE_NONE:
                cr_assert_fail("no lease");
            }
            pthread_barrier_wait(&barrier);
        }
    }
    return NULL;
}

Test(lease_table, one_producer_among_threads)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, racer, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PLACES; i++) {
            cr_assert_eq(producers[round][i], 1);
        }
    }
    cr_assert_eq(waits, ROUNDS * PLACES * (THREADS - 1));
}

Test(lease_table, finished_leases_never_fill_it)
{
    for (unsigned i = 0; i < 5 * RS_LEASES; i++) {
        struct rs_place place = place_of(i);
        cr_assert_eq(ask(&place), RS_LEASE_PRODUCER);
        cr_assert(rs_lease_stored(&f.store, slot, &place));
    }
}

Test(lease_table, full_of_marks_of_a_living_run)
{
    struct rs_place place = place_of(1);
    unsigned others = 0;
    for (int i = 0; i < RS_WINDOW; i++) {
        struct rs_place other = place;
        other.ino = ++others + 5000;
        plant(&other, 0, RS_LS_FREE, 0);
        struct rs_lease *lease = entry(&place, i);
        lease->ino = other.ino;
        lease->job = slot->job;
        lease->run = rs_jobs(f.store.segment)[slot->job].run;
        lease->word = rs_lw_make(RS_LS_UNPRODUCTIVE, false, (struct rs_lease_owner){0, 1}, 1);
    }
    cr_assert_eq(ask(&place), RS_LEASE_NONE);
    cr_assert_eq(slot->counters[RS_C_lease_full], 1);
    rs_jobs(f.store.segment)[slot->job].run++;
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER, "the run is over, so are its marks");
}

Test(lease_table, full_of_dead_owners)
{
    struct rs_place place = place_of(1);
    for (int i = 0; i < RS_WINDOW; i++) {
        struct rs_lease *lease = entry(&place, i);
        enum rs_lease_state states[] = {RS_LS_CLAIMED, RS_LS_PENDING, RS_LS_HELD};
        lease->ino = 5000 + (uint64_t)i;
        lease->word = rs_lw_make(states[i % 3], false, (struct rs_lease_owner){200, 1}, 1);
    }
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER);
}

Test(lease_table, full_of_the_living)
{
    struct rs_place place = place_of(1);
    uint32_t living = plant_living();
    for (int i = 0; i < RS_WINDOW; i++) {
        struct rs_lease *lease = entry(&place, i);
        lease->ino = 5000 + (uint64_t)i;
        lease->tid = getppid();
        lease->word = rs_lw_make(RS_LS_HELD, false, (struct rs_lease_owner){living, 1}, 1);
    }
    cr_assert_eq(ask(&place), RS_LEASE_NONE);
    rs_slots(f.store.segment)[living].word = rs_word(RS_SLOT_LIVE, 2);
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER, "another process has the slot now");
}
