/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/budget.h"

enum { NS_PER_US = 1000, USED_BITS = 48 };
#define USED_MASK ((UINT64_C(1) << USED_BITS) - 1)

struct rs_slice rs_budget_take(struct rs_budget *budget, uint64_t limit_ns, uint64_t wanted_ns)
{
    uint64_t limit = limit_ns / NS_PER_US, wanted = wanted_ns / NS_PER_US, part;
    uint64_t now = atomic_load(&budget->used);
    do {
        uint64_t used = now & USED_MASK;
        if (atomic_load(&budget->exhausted) || used >= limit) {
            return (struct rs_slice){0, 0};
        }
        part = limit - used < wanted ? limit - used : wanted;
    } while (!atomic_compare_exchange_weak(&budget->used, &now, now + part));
    return (struct rs_slice){part * NS_PER_US, now >> USED_BITS};
}

void rs_budget_settle(struct rs_budget *budget, struct rs_slice slice, uint64_t spent_ns)
{
    uint64_t taken = slice.ns / NS_PER_US, spent = spent_ns / NS_PER_US, used;
    uint64_t now = atomic_load(&budget->used);
    do {
        if (now >> USED_BITS != slice.production) {
            return; /* the account that it was taken from is closed */
        }
        used = (now & USED_MASK) - taken + spent;
    } while (!atomic_compare_exchange_weak(&budget->used, &now, (now & ~USED_MASK) | used));
}

void rs_budget_refill(struct rs_budget *budget)
{
    uint64_t now = atomic_load(&budget->used);
    while (!atomic_compare_exchange_weak(&budget->used, &now,
                                         (now & ~USED_MASK) + (UINT64_C(1) << USED_BITS))) {
    }
}

void rs_budget_exhaust(struct rs_budget *budget)
{
    atomic_store(&budget->exhausted, true);
}
