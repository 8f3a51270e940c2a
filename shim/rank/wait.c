/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/wait.h"

#include "base/log.h"
#include "base/state.h"
#include "ordinal/flags.h"
#include "rank/budget.h"
#include "rank/count.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define SLICE_NS  (SECOND_NS / 2)

/* A producer that measures kernels on a GPU may stand there behind a receive that a waiter has to
 * feed first. Tests are built with less. */
#ifndef RS_SILENT_S
#define RS_SILENT_S 60
#endif

static struct rs_budget budget;

/* How a wait ends, beside enum rs_wait_end. */
enum { LEFT_SILENT = RS_WAIT_SIGNAL + 1 };

static bool silent(struct rs_node *node, const struct rs_place *place, const struct rs_known *known)
{
    return known->flags & RS_FLAG_BENCHMARKS &&
           rs_lease_silent(&node->store, node->slot, place, RS_SILENT_S);
}

/* Slice after slice, until the lease ends or nothing is left. *SPENT: all of them. */
static int wait_in_slices(struct rs_node *node, const struct rs_place *place,
                          const struct rs_known *known, struct rs_slice slice, uint64_t *spent)
{
    while (slice.ns > 0) {
        uint64_t ns = 0;
        if (silent(node, place, known)) {
            rs_budget_settle(&budget, slice, 0);
            return LEFT_SILENT;
        }
        enum rs_wait_end end = rs_lease_wait(&node->store, node->slot, place, slice.ns, &ns);
        rs_budget_settle(&budget, slice, ns);
        *spent += ns;
        if (end != RS_WAIT_TIMEOUT) {
            return end;
        }
        slice = rs_budget_take(&budget, rs_config.wait_s * SECOND_NS, SLICE_NS);
    }
    return RS_WAIT_TIMEOUT;
}

enum rs_waited rs_wait(struct rs_node *node, const struct rs_place *place,
                       const struct rs_known *known)
{
    uint64_t spent = 0;
    struct rs_slice first = rs_budget_take(&budget, rs_config.wait_s * SECOND_NS, SLICE_NS);
    if (first.ns == 0) {
        return RS_WAITED_NOT;
    }
    int end = wait_in_slices(node, place, known, first, &spent);
    rs_count(RS_C_wait_ns, spent);
    rs_node_event(end == RS_WAIT_TIMEOUT ? RS_EVENT_TIMEOUT : RS_EVENT_WAIT, known->kind,
                  &place->key, spent);
    switch (end) {
    case RS_WAIT_ENDED:
    case RS_WAIT_OWNER_DIED:
        return RS_WAITED_AGAIN;
    case RS_WAIT_TIMEOUT:
        rs_budget_exhaust(&budget);
        rs_count(RS_C_wait_timeouts, 1);
        rs_log("waited too long for a producer; this process waits no more");
        break;
    case RS_WAIT_SIGNAL:
        rs_count(RS_C_wait_interrupted, 1);
        break;
    case LEFT_SILENT:
        rs_count(RS_C_wait_silent, 1);
        rs_log("the producer has shown no sign of work for %d s and may be blocked on its GPU: "
               "compiling without it",
               RS_SILENT_S);
        break;
    default: /* RS_WAIT_UNPRODUCTIVE */
        break;
    }
    return RS_WAITED_OVER;
}

void rs_wait_produced(void)
{
    rs_budget_refill(&budget);
}

void rs_wait_forked(void)
{
    memset(&budget, 0, sizeof(budget));
}
