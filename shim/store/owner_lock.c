/* SPDX-License-Identifier: Apache-2.0 */
#include "store/owner_lock.h"

#include "store/process.h"
#include "store/store_sys.h"

#include <stdatomic.h>

/* Who can't get it in a second goes on without. */
enum { PATIENCE_MS = 1000, YIELDS = 32, PAUSE_US = 200 };

enum rs_lock rs_owner_lock(_Atomic uint64_t *word, uint64_t mine)
{
    uint64_t end = rs_sys_clock_ns(CLOCK_MONOTONIC) + PATIENCE_MS * (RS_NS_PER_S / 1000);
    uint64_t first = 0;
    for (unsigned i = 0;; i++) {
        uint64_t seen = 0;
        if (atomic_compare_exchange_strong(word, &seen, mine)) {
            return RS_LOCK_TAKEN;
        }
        if (i < YIELDS) {
            sched_yield();
            continue;
        }
        first = first ? first : seen;
        int alive = rs_tag_alive(seen);
        bool late = rs_sys_clock_ns(CLOCK_MONOTONIC) >= end;
        /* Nobody holds it for a second: an owner in a foreign namespace that seems to is dead. */
        bool gone = alive == 0 || (alive < 0 && late && seen == first);
        if (gone && atomic_compare_exchange_strong(word, &seen, mine)) {
            return RS_LOCK_INHERITED;
        }
        if (late) {
            return RS_LOCK_BUSY;
        }
        rs_sys_pause_us(PAUSE_US);
    }
}

void rs_owner_unlock(_Atomic uint64_t *word, uint64_t mine)
{
    atomic_compare_exchange_strong(word, &mine, 0);
}
