/* SPDX-License-Identifier: Apache-2.0
 *
 * The budget of waits: RANKSHARE_WAIT bounds the sum of all waits of all threads of a process
 * between two own productions. A wait is made of slices, each taken from the budget before it
 * begins, so that threads that wait at the same time cannot spend the same seconds twice.
 * Lock-free.
 */
#ifndef RS_RANK_BUDGET_H
#define RS_RANK_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero is a full one. */
struct rs_budget {
    _Atomic(uint64_t) used;  /* number of productions (16 bits), microseconds since the last (48) */
    _Atomic(bool) exhausted; /* for good */
};

/* A slice that was taken. */
struct rs_slice {
    uint64_t ns;         /* how long it may last; 0: nothing is left */
    uint64_t production; /* the one it was taken after */
};

/* Takes WANTED_NS or what is left of LIMIT_NS. */
struct rs_slice rs_budget_take(struct rs_budget *budget, uint64_t limit_ns, uint64_t wanted_ns);

/* The slice has lasted SPENT_NS: the rest goes back, what was overdrawn is charged. */
void rs_budget_settle(struct rs_budget *budget, struct rs_slice slice, uint64_t spent_ns);

/* An own production: the budget is full again. */
void rs_budget_refill(struct rs_budget *budget);

/* A wait has run into the limit: nothing is given out any more. */
void rs_budget_exhaust(struct rs_budget *budget);

#endif
