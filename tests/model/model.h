/* SPDX-License-Identifier: Apache-2.0
 *
 * The lease protocol as a model: processes and their threads, a window of lease entries, places in
 * a cache directory. One transition is what a thread of shim/store/lease*.c does from one RS_STEP
 * point to the next: one access to shared memory, or one look at another process. The changes of a
 * lease's word are the product's own (store/lease_word.h), the procedures follow its C code.
 */
#ifndef RS_TEST_MODEL_H
#define RS_TEST_MODEL_H

#include "store/lease_word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    M_THREADS = 4,
    M_ENTRIES = 3,
    M_PLACES = 3,
    M_KINDS = 3,
    M_FORMER = 7, /* slot of a process that died before */
    M_NONE = 0xff,
};

/* Where a thread stands: before what. From LOOK_WORD on these are the RS_STEP points. */
#define M_POINTS(X)                                                                                \
    X(op)     /* the program's next step: a look-up, a store */                                    \
    X(disk)   /* one more look at the place */                                                     \
    X(put)    /* the store has begun; the entry comes into its place */                            \
    X(wait)   /* it is about to wait */                                                            \
    X(asleep) /* in FUTEX_WAIT */                                                                  \
    X(gone)   /* not begun, or over */                                                             \
    X(look_word)                                                                                   \
    X(look_place)                                                                                  \
    X(look_again)                                                                                  \
    X(run_read)                                                                                    \
    X(own_word)                                                                                    \
    X(judge_fields)                                                                                \
    X(judge_word)                                                                                  \
    X(judge_process)                                                                               \
    X(judge_thread)                                                                                \
    X(judge_ending)                                                                                \
    X(lease_apply)                                                                                 \
    X(lease_claimed)                                                                               \
    X(lease_sign)                                                                                  \
    X(lease_sign_run)                                                                              \
    X(lease_ended)                                                                                 \
    X(lease_turned)                                                                                \
    X(storing_write)                                                                               \
    X(storing_read)                                                                                \
    X(reclaim_word)                                                                                \
    X(reclaim_mark)                                                                                \
    X(wait_turn)                                                                                   \
    X(wait_word)                                                                                   \
    X(wait_sleep)
enum m_point {
#define X(name) M_##name,
    M_POINTS(X)
#undef X
        M_POINT_COUNT
};
extern const char *const m_point_names[M_POINT_COUNT];

/* What may happen next to a thread, or to its process. */
#define M_CHOICES(X)                                                                               \
    X(step)   /* its next step; asleep: it has been woken */                                       \
    X(fail)   /* the store fails or is refused */                                                  \
    X(exit)   /* the thread ends */                                                                \
    X(fork)   /* its process forks */                                                              \
    X(slice)  /* FUTEX_WAIT runs into its time */                                                  \
    X(signal) /* a signal handler runs */                                                          \
    X(expire) /* the deadline of its wait is over */                                               \
    X(stall)  /* nothing seems to come of the store that a waiter waits for */                     \
    X(die)    /* SIGKILL to its process */                                                         \
    X(reap)   /* the last of a process that was killed is gone */
enum m_choice {
#define X(name) C_##name,
    M_CHOICES(X)
#undef X
        C_COUNT
};
extern const char *const m_choice_names[C_COUNT];

struct m_entry {
    uint16_t word; /* m_pack() */
    uint8_t turn;
    uint8_t place;   /* number + 1; 0: nothing written */
    uint8_t tid;     /* thread + 1 */
    uint8_t run;     /* 0 nothing written, 1 a former one, 2 the present one */
    uint8_t storing; /* generation of the lease whose store has begun */
    uint8_t died;    /* somebody died between an end and its wake-up */
};

enum m_did { DID_NOTHING, DID_HIT, DID_PRODUCE, DID_NATIVE, DID_STORE };

/* Local variables of a thread; those that mean nothing where it stands are 0. */
struct m_thread {
    uint8_t point, op; /* op: in the script, in steps of two characters */
    uint8_t place, stage, found;
    uint8_t in_wait, expired, woken, nothing, gen, turn;              /* rs_lease_wait() */
    uint8_t i, same, same_run, skip, unproductive, look_ret, run_ret; /* rs_lease_look() */
    uint8_t active, vacant, ref, mine;                                /* entries, and */
    uint16_t word, active_word, vacant_word, ref_word, mine_word;     /* their words */
    uint8_t judge_tid, judge_ret, own_k, own_ret, endown_kind, freed; /* judge, own leases */
    uint8_t cas, cas_ends, cas_ret, cas_step;                         /* rs_lease_apply() */
    uint16_t cas_from, cas_to;
    uint8_t endown_ret, own[M_KINDS], own_gen[M_KINDS], did[M_PLACES];
};

/* What the properties need to know of the past. */
struct m_place {
    uint8_t filled, unproductive, holder, left, taken, begun, died, storing;
};

struct m_state {
    struct m_entry entry[M_ENTRIES];
    struct m_place place[M_PLACES];
    struct m_thread thread[M_THREADS];
    uint8_t alive, ending; /* processes, by bit; ENDING: threads gone, process not yet */
    uint8_t budget[C_COUNT];
};

struct m_config {
    const char *name;
    bool is_long; /* too large for the quick form */
    int entries, places, threads;
    bool fine;                     /* each RS_STEP point by itself, else reading an entry is one */
    bool alike;                    /* all threads: own processes, one script */
    uint8_t kind[M_PLACES];        /* enum rs_lease_kind, here 1 to 3 */
    uint8_t process[M_THREADS];    /* of each thread */
    uint8_t child;                 /* a thread that a fork of process 0 begins; 0: none */
    uint8_t budget[C_COUNT];       /* how often each thing may happen at most */
    const char *script[M_THREADS]; /* "?a" looks place a up, "!a" stores it if it was a miss */
    struct m_entry former[M_ENTRIES]; /* what is there at first */
};

/* Mistakes that the explorer must find. */
#define M_MUTANTS(X)                                                                               \
    X(none, race, "")                                                                              \
    X(no_rivals, race, "who has published does not look for rivals")                               \
    X(no_turn, full, "an end does not count the futex word up")                                    \
    X(no_wake, twice, "an end wakes nobody")                                                       \
    X(turn_late, twice, "a waiter reads the lease's word before the futex word")                   \
    X(no_slices, twice, "a waiter does not look at the owner")                                     \
    X(no_deadline, fine, "a waiter does not look at the clock")                                    \
    X(taken_twice, twice, "a lease that was taken over may be taken over")                         \
    X(withdraw_held, race, "a rival withdraws a lease that is held")                               \
    X(stopped_is_dead, race, "an owner that makes no step counts as dead")                         \
    X(same_generation, threads, "a claim keeps the generation")                                    \
    X(sign_late, race, "the thread is written after the lease is held")                            \
    X(read_once, marks, "the word is not read again behind the place")                             \
    X(run_late, marks, "the run of a mark is read behind the second reading of the word")          \
    X(lowest_only, race, "a store ends the lowest active entry or none")                           \
    X(gone_first, twice, "behind a thread that is gone, the process is not looked for again")      \
    X(not_ending, twice, "behind a thread that is gone, a process on its way out counts as alive") \
    X(any_stall, stall, "a stalled store is given up without a look at the note")                  \
    X(no_order, cross, "who holds a lease waits for any other")                                    \
    X(fork_keeps, holder, "a fork child keeps its parent's slot and leases")                       \
    X(forgets_marks, twice, "marks of the present run make room")                                  \
    X(fail_is_free, twice, "a failed store frees the entry")
enum m_mutant {
#define X(name, config, text) MUTANT_##name,
    M_MUTANTS(X)
#undef X
        MUTANT_COUNT
};

extern const struct m_config m_configs[];
extern const int m_config_count;
extern const struct m_config *m_config;
extern enum m_mutant m_mutant;
extern bool m_dies_at_once; /* no state between SIGKILL and the end of the process */
extern const char *m_wrong; /* set by a step that breaks a property */

void m_start(struct m_state *state);
bool m_enabled(const struct m_state *state, int thread, enum m_choice choice);
/* One transition of what is enabled. */
void m_step(struct m_state *state, int thread, enum m_choice choice);
/* Whether the thread's script is over (or the thread, or its process is). */
bool m_over(const struct m_state *state, int thread);
static inline bool m_alive(const struct m_state *state, int thread)
{
    return state->alive >> m_config->process[thread] & 1;
}

uint64_t m_unpack(uint16_t word);
uint16_t m_pack(uint64_t word);

/* The procedures of the store (lease.c), which the program (program.c) calls, and what they call
 * when they return. */
void m_look_begin(struct m_state *state, struct m_thread *thread, int skip, int ret);
void m_ask(struct m_state *state, struct m_thread *thread);
void m_wait(struct m_state *state, struct m_thread *thread);
void m_stored(struct m_state *state, struct m_thread *thread);
void m_storing(struct m_state *state, struct m_thread *thread);
void m_stalled(struct m_state *state, struct m_thread *thread);
void m_failed(struct m_state *state, struct m_thread *thread);
void m_next_lookup(struct m_state *state, struct m_thread *thread);
void m_store_step(struct m_state *state, struct m_thread *thread);
void m_asleep(struct m_state *state, struct m_thread *thread, enum m_choice choice);

enum m_verdict { V_PRODUCER, V_WAIT, V_UNPRODUCTIVE, V_NONE };
enum m_end { E_ENDED, E_UNPRODUCTIVE, E_OWNER_DIED, E_TIMEOUT, E_SIGNAL };
void m_verdict(struct m_state *state, struct m_thread *thread, enum m_verdict verdict);
void m_wait_end(struct m_state *state, struct m_thread *thread, enum m_end end);
void m_storing_end(struct m_state *state, struct m_thread *thread);
void m_stalled_end(struct m_state *state, struct m_thread *thread);
void m_stored_end(struct m_state *state, struct m_thread *thread);
void m_next_lookup_end(struct m_state *state, struct m_thread *thread);

/* Properties (check.c): of a change of a word, of a state, and of what follows from it. */
enum m_cas {
    S_CLAIM,
    S_PUBLISH,
    S_HOLD,
    S_WITHDRAW,
    S_TAKE_OVER,
    S_STORE,
    S_GIVE_UP,
    S_FORGET,
    S_STALL
};
void m_check_change(struct m_state *state, int thread, int entry, enum m_cas step);
void m_check_storing(struct m_state *state, int entry, uint16_t word);
void m_check_begin(struct m_state *state, int place);
void m_check_state(const struct m_state *state);
void m_check_future(const struct m_state *state);

#endif
