/* SPDX-License-Identifier: Apache-2.0
 *
 * The model's traces, gone by the product's code: real processes and threads that stop at each
 * RS_STEP point until the runner lets them go on. Behind every step the segment must look as the
 * model says, and the thread must stand where the model's does.
 */
#ifndef RS_TEST_REPLAY_H
#define RS_TEST_REPLAY_H

#include "../explore.h"
#include "store/store.h"

#include <semaphore.h>
#include <sys/types.h>

/* What the runner and a thread know of each other, in shared memory. */
struct actor {
    sem_t go, arrived;
    _Atomic int point, choice, did[M_PLACES];
    _Atomic int sleeps_at; /* entry + 1 */
    _Atomic bool woken, expired;
    _Atomic pid_t pid, tid;
    _Atomic int slot; /* its process's, in the segment */
};

struct stage {
    struct actor actors[M_THREADS];
    _Atomic bool filled[M_PLACES];
    struct rs_place places[M_PLACES];
    struct rs_store store;
    int base; /* first entry of the window */
};
extern struct stage *stage;

/* A process with the threads that the configuration gives it; called in that process. */
void actor_process(int process) __attribute__((noreturn));

/* Once, at first. */
bool replay_open(void);
/* One run: the processes of m_config from the first state on, move by move. False: something
 * differs; replay_end() says what, or returns NULL. */
bool replay_begin(void);
bool replay_move(struct move move);
const struct m_state *replay_state(void);
const char *replay_end(void);

/* A trace that the explorer has found, and the kind of its last transition. */
void replay_collect(const struct trace *trace, uint64_t kind);
/* Goes what was collected, and WALKS random walks. TEXT: what differed, or how much it was. */
bool replay_config(int walks, unsigned seed, char *text, size_t size);

#endif
