/* SPDX-License-Identifier: Apache-2.0
 *
 * The event ring. A writer takes a ticket, which is its cell, clears the cell's word, writes, and
 * sets the word to ticket and check sum. A writer that is overtaken by a whole round may mix its
 * event with a newer one: the check sum tells, and the reader leaves the cell out.
 */
#include "store/kill_point.h"
#include "store/layout.h"
#include "store/store.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <string.h>

_Static_assert(sizeof(struct rs_event) == RS_EVENT_WORDS * 8, "an event fills its cell");

enum { TICKET_BITS = 40 };
#define TICKET_MASK ((UINT64_C(1) << TICKET_BITS) - 1)

/* Ticket (plus one: never 0) in the low bits, check sum above. */
static uint64_t seal(uint64_t ticket, const uint64_t data[RS_EVENT_WORDS])
{
    uint64_t sum = ticket;
    for (int i = 0; i < RS_EVENT_WORDS; i++) {
        sum = (sum ^ data[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum << TICKET_BITS | ((ticket + 1) & TICKET_MASK);
}

void rs_event(struct rs_store *store, const struct rs_slot *slot, enum rs_event_type type,
              enum rs_kind kind, const struct rs_key *key, uint64_t value)
{
    uint64_t data[RS_EVENT_WORDS];
    struct timespec now = {0};
    if (!store->segment || !store->writable) {
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    struct rs_event event = {
        .time_ns = (uint64_t)now.tv_sec * RS_NS_PER_S + (uint64_t)now.tv_nsec,
        .value = value,
        .rank = -1,
        .job = RS_NO_JOB,
        .type = (uint8_t)type,
        .kind = (uint8_t)kind,
    };
    if (slot) {
        event.pid = (uint32_t)atomic_load_explicit(&slot->pid, memory_order_relaxed);
        event.rank = atomic_load_explicit(&slot->rank, memory_order_relaxed);
        event.job = atomic_load_explicit(&slot->job, memory_order_relaxed);
    } else {
        event.pid = (uint32_t)rs_sys_getpid();
    }
    if (key) {
        memcpy(event.key, key->bytes, sizeof(event.key));
    }
    memcpy(data, &event, sizeof(data));
    uint64_t ticket = atomic_fetch_add(&store->segment->events_next, 1);
    struct rs_event_cell *cell = &rs_events(store->segment)[ticket % RS_EVENTS];
    atomic_store(&cell->word, 0);
    for (int i = 0; i < RS_EVENT_WORDS; i++) {
        atomic_store_explicit(&cell->data[i], data[i], memory_order_release);
        if (i == RS_EVENT_WORDS / 2) {
            RS_KILL_POINT(event_writing);
        }
    }
    atomic_store_explicit(&cell->word, seal(ticket, data), memory_order_release);
}

static bool read_cell(const struct rs_event_cell *cell, uint64_t ticket, struct rs_event *out)
{
    uint64_t data[RS_EVENT_WORDS];
    uint64_t word = atomic_load_explicit(&cell->word, memory_order_acquire);
    for (int i = 0; i < RS_EVENT_WORDS; i++) {
        data[i] = atomic_load_explicit(&cell->data[i], memory_order_acquire);
    }
    memcpy(out, data, sizeof(*out));
    return word == seal(ticket, data);
}

size_t rs_events_read(const struct rs_store *store, struct rs_event *out, size_t max)
{
    uint64_t next = atomic_load(&store->segment->events_next);
    uint64_t ticket = next > RS_EVENTS ? next - RS_EVENTS : 0;
    size_t count = 0;
    for (; ticket < next && count < max; ticket++) {
        count += read_cell(&rs_events(store->segment)[ticket % RS_EVENTS], ticket, &out[count]);
    }
    return count;
}
