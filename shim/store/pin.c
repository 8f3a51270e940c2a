/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pin.h"

#include "store/process.h"
#include "store/store_sys.h"

#include <stdatomic.h>

enum { TRIES = 32, UNJUDGED_MS = 600 * 1000 };

uint64_t rs_slot_tag(const struct rs_slot *slot)
{
    if (!slot) {
        return 0;
    }
    struct rs_process process = rs_slot_process(slot);
    return rs_process_tag(&process);
}

static uint64_t name_of(uint32_t i, uint64_t word)
{
    return (uint64_t)(i + 1) | rs_word_generation(word) << 32;
}

/* A pin whose process is gone. One that can't be judged lasts ten minutes. */
static bool stale(struct rs_pin *pin, uint64_t tag)
{
    int alive = rs_tag_alive(tag);
    return alive == 0 ||
           (alive < 0 &&
            rs_now_ms() > atomic_load_explicit(&pin->since_ms, memory_order_relaxed) + UNJUDGED_MS);
}

static bool take(struct rs_pin *pin, uint64_t from, uint64_t tag)
{
    return atomic_compare_exchange_strong(&pin->tag, &from, tag);
}

int rs_pin_set(const struct rs_index *index, uint64_t tag, uint32_t i, uint64_t word)
{
    uint32_t first = ((uint32_t)rs_sys_gettid() * 2654435761U) % RS_PINS;
    for (unsigned step = 0; tag && step < 2 * TRIES; step++) {
        uint32_t at = (first + step % TRIES) % RS_PINS;
        struct rs_pin *pin = &rs_pins(index)[at];
        uint64_t owner = atomic_load_explicit(&pin->tag, memory_order_relaxed);
        /* The second time round dead processes' are taken, too. */
        if (owner != 0 && (step < TRIES || owner == tag || !stale(pin, owner))) {
            continue;
        }
        if (take(pin, owner, tag)) {
            atomic_store_explicit(&pin->since_ms, rs_now_ms(), memory_order_relaxed);
            atomic_store(&pin->group, name_of(i, word));
            return (int)at;
        }
    }
    return RS_NO_PIN;
}

void rs_pin_drop(const struct rs_index *index, int pin, uint64_t tag)
{
    if (pin < 0 || pin >= RS_PINS) {
        return;
    }
    struct rs_pin *at = &rs_pins(index)[pin];
    if (atomic_load(&at->tag) == tag) {
        atomic_store(&at->group, 0);
        (void)take(at, tag, 0);
    }
}

bool rs_pinned(const struct rs_index *index, uint32_t i, uint64_t word)
{
    uint64_t name = name_of(i, word);
    for (int at = 0; at < RS_PINS; at++) {
        struct rs_pin *pin = &rs_pins(index)[at];
        if (atomic_load(&pin->group) != name) {
            continue;
        }
        uint64_t tag = atomic_load(&pin->tag);
        if (tag != 0 && !stale(pin, tag)) {
            return true;
        }
    }
    return false;
}
