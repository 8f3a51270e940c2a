/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a key's producer, and when to stop. Thread safe, fork safe, without CPU time.
 */
#ifndef RS_RANK_WAIT_H
#define RS_RANK_WAIT_H

#include "rank/known.h"
#include "rank/node.h"

#include <stdbool.h>

enum rs_waited {
    RS_WAITED_NOT,    /* nothing is left of the budget: the wait has not begun */
    RS_WAITED_STORED, /* the lease has ended in a store: look again */
    RS_WAITED_AGAIN,  /* its owner is dead, or the store stalled: look again */
    RS_WAITED_OVER,   /* compile */
};

struct rs_wait_for {
    struct rs_place place;
    struct rs_known known; /* what was hashed */
    const char *directory; /* where its producer writes the entry; NULL: not watched */
    /* for autotuning results: the wait ends when THERE says so of CONTEXT, or with the patience
     * that is due there */
    bool (*there)(void *context);
    void *context;
};

/* Waits for the producer of WHAT; counts and records what came of it. */
enum rs_waited rs_wait(struct rs_node *node, const struct rs_wait_for *what);

/* This process has stored what it held a lease for: its budget is full again. */
void rs_wait_produced(void);

/* In a fork child: nothing waited yet. */
void rs_wait_forked(void);

#endif
