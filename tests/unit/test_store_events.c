/* SPDX-License-Identifier: Apache-2.0
 *
 * The event ring: order, overwriting, torn entries, many writers.
 */
#include "test_store_fixture.h"

#include <pthread.h>

static struct fixture f;
static struct rs_event events[RS_EVENTS];

static void setup(void)
{
    fixture_open(&f, "events");
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(store_events, .init = setup, .fini = teardown, .timeout = 60);

Test(store_events, one)
{
    struct rs_key key = {.bytes = {1, 2, 3}};
    struct rs_slot *slot = fixture_slot(&f, "job", 5);
    rs_event(&f.store, slot, RS_EVENT_STORE, RS_KIND_triton_group, &key, 77);
    rs_event(&f.store, NULL, RS_EVENT_REFUSED, RS_KIND_other, NULL, RS_REFUSED_opcode);
    cr_assert_eq(rs_events_read(&f.store, events, RS_EVENTS), 2);
    cr_assert_eq(events[0].type, RS_EVENT_STORE);
    cr_assert_eq(events[0].kind, RS_KIND_triton_group);
    cr_assert_eq(events[0].value, 77);
    cr_assert_eq(events[0].rank, 5);
    cr_assert_eq(events[0].job, 0);
    cr_assert_eq(events[0].pid, (uint32_t)getpid());
    cr_assert_arr_eq(events[0].key, key.bytes, 32);
    cr_assert_neq(events[0].time_ns, 0);
    cr_assert_eq(events[1].rank, -1);
    cr_assert_eq(events[1].job, RS_NO_JOB);
    cr_assert_eq(rs_events_read(&f.store, events, 1), 1);
}

Test(store_events, wrap)
{
    enum { MORE = RS_EVENTS + 100 };
    for (uint64_t i = 0; i < MORE; i++) {
        rs_event(&f.store, NULL, RS_EVENT_HIT, RS_KIND_cubin, NULL, i);
    }
    cr_assert_eq(rs_events_read(&f.store, events, RS_EVENTS), RS_EVENTS);
    for (uint64_t i = 0; i < RS_EVENTS; i++) {
        cr_assert_eq(events[i].value, i + 100);
    }
}

Test(store_events, torn)
{
    struct rs_event_cell *cells = rs_events(f.store.segment);
    for (uint64_t i = 0; i < 4; i++) {
        rs_event(&f.store, NULL, RS_EVENT_HIT, RS_KIND_cubin, NULL, i);
    }
    cells[1].word = 0;                 /* its writer died */
    cells[2].data[7] ^= 0x100;         /* a late writer's word among a newer one's */
    f.store.segment->events_next += 1; /* a ticket that was never used */
    cr_assert_eq(rs_events_read(&f.store, events, RS_EVENTS), 2);
    cr_assert_eq(events[0].value, 0);
    cr_assert_eq(events[1].value, 3);
}

static void *writer(void *arg)
{
    for (uint64_t i = 0; i < 20000; i++) {
        struct rs_key key;
        uint64_t value = (uint64_t)(uintptr_t)arg << 32 | i;
        for (int part = 0; part < 4; part++) {
            memcpy(key.bytes + part * 8, &value, 8);
        }
        rs_event(&f.store, NULL, RS_EVENT_HIT, RS_KIND_cubin, &key, value);
    }
    return NULL;
}

Test(store_events, many_writers)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, writer, (void *)i);
    }
    for (int round = 0; round < 50; round++) {
        size_t count = rs_events_read(&f.store, events, RS_EVENTS);
        for (size_t i = 0; i < count; i++) {
            for (int part = 0; part < 4; part++) {
                cr_assert_eq(memcmp(events[i].key + part * 8, &events[i].value, 8), 0);
            }
        }
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    cr_assert_geq(rs_events_read(&f.store, events, RS_EVENTS), RS_EVENTS - 4);
}
