/* SPDX-License-Identifier: Apache-2.0
 *
 * Leases whose owner has begun to write and does not finish.
 */
#include "test_store_fixture.h"

#include "store/lease_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static struct fixture f;
static struct rs_slot *slot;
static struct rs_place place;

static void setup(void)
{
    fixture_open(&f, "storing");
    slot = fixture_slot(&f, "job", 0);
    place = place_of(1);
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(lease_store, .init = setup, .fini = teardown, .timeout = 60);

static const uint64_t second = 1000000000;

static enum rs_lease_verdict ask(void)
{
    bool takeover;
    return rs_lease_ask(&f.store, slot, &place, &takeover);
}

/* The one that is held. */
static struct rs_lease *lease(void)
{
    for (int i = 0; i < RS_WINDOW; i++) {
        struct rs_lease *entry = rs_lease_at(f.store.segment, rs_lease_index(&place, i));
        if (rs_lw_state(entry->word) == RS_LS_HELD) {
            return entry;
        }
    }
    cr_assert_fail("no lease is held");
    return NULL;
}

static bool stores(unsigned *age)
{
    return rs_lease_stores(&f.store, slot, &place, age);
}

Test(lease_store, noted_by_its_owner_alone)
{
    unsigned age = 77;
    rs_lease_storing(&f.store, slot, &place);
    cr_assert_not(stores(&age), "no lease");
    cr_assert_eq(ask(), RS_LEASE_PRODUCER);
    cr_assert_not(stores(&age), "nothing written");
    IN_CHILD({
        slot = fixture_slot(&f, "job", 1);
        rs_lease_storing(&f.store, slot, &place);
    });
    cr_assert_not(stores(&age), "another process writes for itself");
    rs_lease_storing(&f.store, slot, &place);
    cr_assert(stores(&age));
    cr_assert_leq(age, 30);
    lease()->storing -= 100;
    cr_assert(stores(&age));
    cr_assert(age >= 100 && age <= 130);
}

Test(lease_store, a_waiter_ends_it)
{
    uint64_t waited;
    cr_assert_eq(ask(), RS_LEASE_PRODUCER);
    rs_lease_storing(&f.store, slot, &place);
    IN_CHILD({
        slot = fixture_slot(&f, "job", 1);
        cr_assert_eq(ask(), RS_LEASE_WAIT);
        cr_assert(rs_lease_stalled(&f.store, slot, &place));
        cr_assert_not(rs_lease_stalled(&f.store, slot, &place), "once");
    });
    cr_assert_eq(rs_lease_wait(&f.store, slot, &place, second, &waited), RS_WAIT_UNPRODUCTIVE);
    cr_assert_eq(ask(), RS_LEASE_UNPRODUCTIVE);
    cr_assert_not(rs_lease_held(&f.store, slot));
    cr_assert_not(rs_lease_stored(&f.store, slot, &place), "the owner is late, and that is all");
}

Test(lease_store, not_one_that_writes_nothing)
{
    cr_assert_eq(ask(), RS_LEASE_PRODUCER);
    cr_assert_not(rs_lease_stalled(&f.store, slot, &place));
    cr_assert(rs_lease_held(&f.store, slot));
}

Test(lease_store, the_note_is_about_one_lease)
{
    unsigned age;
    cr_assert_eq(ask(), RS_LEASE_PRODUCER);
    rs_lease_storing(&f.store, slot, &place);
    uint64_t former = lease()->storing;
    cr_assert(rs_lease_stored(&f.store, slot, &place));
    cr_assert_not(stores(&age));
    cr_assert_not(rs_lease_stalled(&f.store, slot, &place));
    cr_assert_eq(ask(), RS_LEASE_PRODUCER, "removed, and compiled once more");
    cr_assert_eq(lease()->storing, 0);
    cr_assert_neq(former, 0);
    lease()->storing =
        former + (UINT64_C(1) << 33); /* of another generation: an owner was slow to write it */
    cr_assert_not(stores(&age));
    cr_assert_not(rs_lease_stalled(&f.store, slot, &place));
}

/* ---- a wait that ends before the lease does ---- */

static _Atomic(int) asked, stop_at;

static bool enough(void *context)
{
    cr_expect_eq(context, &stop_at);
    return atomic_fetch_add(&asked, 1) + 1 >= atomic_load(&stop_at);
}

Test(lease_store, a_wait_until)
{
    uint64_t waited;
    cr_assert_eq(ask(), RS_LEASE_PRODUCER);
    atomic_store(&stop_at, 1);
    cr_assert_eq(
        rs_lease_wait_until(&f.store, slot, &place, 10 * second, enough, &stop_at, &waited),
        RS_WAIT_ENDED);
    cr_assert_lt(waited, second);
    /* Without a nudge twice a second. */
    atomic_store(&asked, 0);
    atomic_store(&stop_at, 3);
    cr_assert_eq(
        rs_lease_wait_until(&f.store, slot, &place, 10 * second, enough, &stop_at, &waited),
        RS_WAIT_ENDED);
    cr_assert_gt(waited, second / 2);
    cr_assert_lt(waited, 5 * second);
    atomic_store(&stop_at, 1 << 20);
    cr_assert_eq(rs_lease_wait_until(&f.store, slot, &place, second, enough, &stop_at, &waited),
                 RS_WAIT_TIMEOUT);
    cr_assert(rs_lease_active(&f.store, slot, &place), "the lease goes on");
}

static void *nudge(void *arg)
{
    (void)arg;
    while (atomic_load(&asked) < 50) {
        rs_lease_nudge(&f.store, slot, &place);
        usleep(1000);
    }
    return NULL;
}

Test(lease_store, a_nudge_is_no_end)
{
    pthread_t thread;
    uint64_t waited;
    cr_assert_eq(ask(), RS_LEASE_PRODUCER);
    atomic_store(&stop_at, 50);
    cr_assert_eq(pthread_create(&thread, NULL, nudge, NULL), 0);
    cr_assert_eq(
        rs_lease_wait_until(&f.store, slot, &place, 20 * second, enough, &stop_at, &waited),
        RS_WAIT_ENDED);
    pthread_join(thread, NULL);
    cr_assert_lt(waited, 15 * second, "50 nudges took as long as 50 slices");
    cr_assert(rs_lease_holds(&f.store, slot, place.kind));
    cr_assert(rs_lease_stored(&f.store, slot, &place));
    cr_assert_not(rs_lease_active(&f.store, slot, &place));
    cr_assert_not(rs_lease_holds(&f.store, slot, place.kind));
    rs_lease_nudge(&f.store, slot, &place);
}
