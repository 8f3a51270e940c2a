/* SPDX-License-Identifier: Apache-2.0
 *
 * Signs of work: whose count for a producer, and for how long.
 */
#include "test_store_fixture.h"

#include "store/lease_table.h"

#include <stdatomic.h>
#include <time.h>

static struct fixture f;
static struct rs_slot *slot, *worker;
static struct rs_place place;
enum { LIMIT = 60 };

static void setup(void)
{
    bool takeover;
    fixture_open(&f, "beat");
    slot = fixture_slot(&f, "job", 0);
    IN_CHILD(fixture_slot(&f, "job", 1));
    worker = &rs_slots(f.store.segment)[1];
    place = place_of(1);
    cr_assert_eq(rs_lease_ask(&f.store, slot, &place, &takeover), RS_LEASE_PRODUCER);
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(beat, .init = setup, .fini = teardown, .timeout = 60);

static struct rs_lease *lease(void)
{
    return rs_lease_at(f.store.segment, rs_lease_index(&place, 0));
}

/* Long after it was taken: nobody has worked since. */
static void let_time_pass(void)
{
    lease()->taken_ns -= (LIMIT + 10) * UINT64_C(1000000000);
    slot->beat_s -= LIMIT + 10;
    worker->beat_s -= LIMIT + 10;
}

static bool silent(void)
{
    return rs_lease_silent(&f.store, slot, &place, LIMIT);
}

Test(beat, only_after_the_limit)
{
    cr_assert_not(silent());
    let_time_pass();
    cr_assert(silent());
    cr_assert_not(rs_lease_silent(&f.store, slot, &place, 10 * LIMIT));
}

Test(beat, a_lease_taken_later_begins_anew)
{
    uint64_t taken = lease()->taken_ns;
    let_time_pass();
    lease()->taken_ns = taken;
    cr_assert_not(silent());
}

Test(beat, the_producer_works)
{
    let_time_pass();
    rs_slot_beat(slot);
    cr_assert_not(silent());
}

Test(beat, a_worker_of_its_group_works)
{
    let_time_pass();
    cr_assert_eq(worker->group, getpgid(0));
    rs_slot_beat(worker);
    cr_assert_not(silent());
    worker->group++;
    cr_assert(silent(), "that of another group");
    worker->group--;
    worker->space++;
    cr_assert(silent(), "and of the same number in another container");
}

Test(beat, a_process_that_changes_its_group_is_followed)
{
    let_time_pass();
    IN_CHILD({
        setpgid(0, 0);
        rs_slot_beat(worker);
        _exit(worker->group == getpid() ? 0 : 1);
    });
    cr_assert(silent());
}

Test(beat, without_a_producer)
{
    let_time_pass();
    rs_lease_stored(&f.store, slot, &place);
    cr_assert_not(silent());
    cr_assert_not(rs_lease_silent(&f.store, NULL, &place, LIMIT));
}

static uint64_t last_sign(void)
{
    return rs_lease_last_sign(&f.store, slot, &place);
}

Test(beat, the_last_sign_is_the_producers_own)
{
    uint64_t sign = last_sign();
    cr_assert_neq(sign, 0);
    let_time_pass();
    cr_assert_neq(last_sign(), sign);
    sign = last_sign();
    rs_slot_beat(worker);
    cr_assert_eq(last_sign(), sign, "a worker's is none");
    rs_slot_beat(slot);
    cr_assert_neq(last_sign(), sign);
}

Test(beat, no_last_sign_without_a_producer)
{
    cr_assert_eq(rs_lease_last_sign(&f.store, NULL, &place), 0);
    rs_lease_stored(&f.store, slot, &place);
    cr_assert_eq(last_sign(), 0);
}

Test(beat, writes_once_a_second)
{
    slot->beat_s = 1;
    rs_slot_beat(slot);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    cr_assert(slot->beat_s + 1 >= (uint32_t)now.tv_sec && slot->beat_s <= (uint32_t)now.tv_sec);
    slot->group = 0;
    uint32_t before = slot->beat_s;
    rs_slot_beat(slot);
    cr_assert(slot->beat_s != before || slot->group == 0);
}
