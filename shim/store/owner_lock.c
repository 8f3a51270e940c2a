/* SPDX-License-Identifier: Apache-2.0 */
#include "store/owner_lock.h"

#include "store/process.h"
#include "store/store_sys.h"

#include <stdatomic.h>

/* Who can't get it in a second goes on without. */
enum { PATIENCE_MS = 1000, SHORT_MS = 10, YIELDS = 32, PAUSE_US = 200 };

/* For whom this process has waited a second: one that was stopped, or became another program, while
 * it held a lock. Until some lock is free again it gets little more of anybody's time. */
static _Atomic uint64_t stuck;

static enum rs_lock taken(void)
{
    if (atomic_load_explicit(&stuck, memory_order_relaxed)) {
        atomic_store_explicit(&stuck, 0, memory_order_relaxed);
    }
    return RS_LOCK_TAKEN;
}

static uint64_t patience_for(uint64_t owner)
{
    bool known = atomic_load_explicit(&stuck, memory_order_relaxed) == owner;
    return (known ? SHORT_MS : PATIENCE_MS) * (RS_NS_PER_S / 1000);
}

enum rs_lock rs_owner_lock(_Atomic uint64_t *word, uint64_t mine)
{
    uint64_t began = rs_sys_clock_ns(CLOCK_MONOTONIC);
    uint64_t first = 0;
    for (unsigned i = 0;; i++) {
        uint64_t seen = 0;
        if (atomic_compare_exchange_strong(word, &seen, mine)) {
            return taken();
        }
        if (i < YIELDS) {
            sched_yield();
            continue;
        }
        first = first ? first : seen;
        int alive = rs_tag_alive(seen);
        bool late = rs_sys_clock_ns(CLOCK_MONOTONIC) - began >= patience_for(seen);
        /* Nobody holds it for a second: an owner in a foreign namespace that seems to is dead. */
        bool gone = alive == 0 || (alive < 0 && late && seen == first);
        if (gone && atomic_compare_exchange_strong(word, &seen, mine)) {
            return RS_LOCK_INHERITED;
        }
        if (late) {
            atomic_store_explicit(&stuck, seen, memory_order_relaxed);
            return RS_LOCK_BUSY;
        }
        rs_sys_pause_us(PAUSE_US);
    }
}

void rs_owner_unlock(_Atomic uint64_t *word, uint64_t mine)
{
    atomic_compare_exchange_strong(word, &mine, 0);
}
