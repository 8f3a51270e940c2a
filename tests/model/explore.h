/* SPDX-License-Identifier: Apache-2.0
 *
 * Breadth-first exploration of a configuration: every state that can be reached, each once.
 */
#ifndef RS_TEST_EXPLORE_H
#define RS_TEST_EXPLORE_H

#include "model.h"

struct move {
    uint8_t thread, choice;
};

/* A way from the first state. */
enum { TRACE_MAX = 1024 };
struct trace {
    int length;
    struct move moves[TRACE_MAX];
};

struct exploration {
    size_t states, transitions, contexts;
    int depth;
    bool complete;     /* false: LIMIT states were not all */
    const char *wrong; /* what does not hold, or NULL */
    struct trace to;   /* the way there */
};

/* Called for each kind of transition in each local context, the first time that it is met, with a
 * way that ends with it. */
typedef void found_trace(const struct trace *trace, uint64_t kind, void *context);

/* Explores m_config under m_mutant. FUTURE_OF: what follows is checked from one state in so many.
 */
void explore(size_t limit, unsigned future_of, struct exploration *result, found_trace *found,
             void *context);
/* A number for what kind of transition MOVE is: where the thread stands with its local variables,
 * but without what differs only by name or number, and where it comes to. */
uint64_t explore_context(const struct m_state *before, const struct m_state *after,
                         struct move move);
/* Whether a thread is in the middle of what is one step in a coarse configuration. */
bool explore_inside(const struct m_thread *thread);
/* One move, and in a coarse configuration the rest of reading an entry. */
void explore_move(struct m_state *state, struct move move);
void print_trace(const struct trace *trace);

#endif
