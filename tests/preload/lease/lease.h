/* SPDX-License-Identifier: Apache-2.0
 *
 * Process-level lease tests. One program: as `lease rank ...` it is a rank that wants artifacts, as
 * `lease` it starts such ranks, kills some of them, and reads what they logged.
 */
#ifndef RS_TEST_LEASE_H
#define RS_TEST_LEASE_H

#include "store/kill_point.h"
#include "store/layout.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What ranks log, one line each. */
enum {
    LOG_ELECTED = 'L',
    LOG_PRODUCED = 'P',
    LOG_NATIVE = 'N',
    LOG_HIT = 'H',
    LOG_WAITED = 'W',
    LOG_SIGNAL = 'S',
    LOG_TAKEOVER = 'T'
};

struct line {
    char what;
    int rank;
    unsigned key;
    long begin_ms, end_ms; /* CLOCK_MONOTONIC */
};

/* A segment and a directory of its own, for one case or one row of rounds. */
struct bench {
    char segment[RS_SEGMENT_NAME_MAX];
    char path[RS_SEGMENT_NAME_MAX + 16]; /* of the segment */
    char dir[64];                        /* artifacts and log */
};

int rank_main(int argc, char **argv);
long now_ms(void);

bool bench_open(struct bench *bench);
void bench_close(struct bench *bench);
void bench_forget(const struct bench *bench, unsigned key); /* rm of one artifact */
/* Starts a rank; FORMAT makes its options, see rank.c. */
pid_t rank_start(const struct bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Waits until all have ended; false: some hung, and were killed. */
bool join_all(const pid_t *pids, int count, long limit_ms);
/* Waits until the log has COUNT lines of WHAT. */
bool await(const struct bench *bench, char what, int count, long limit_ms);
size_t read_log(const struct bench *bench, struct line *lines, size_t max);
/* Lines of WHAT about KEY (0: any). */
int count_log(const struct bench *bench, char what, unsigned key);
void clear_log(const struct bench *bench);

/* Runs a case and prints its line. A case returns NULL, or what went wrong. */
typedef const char *case_run(struct bench *bench, int argument);
void run_case(const char *name, case_run *run, int argument);
int print_summary(void); /* the exit status */

void run_kill_cases(void);
void run_rounds(int rounds, unsigned seed);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return #condition;                                                                     \
    } while (0)

#endif
