/* SPDX-License-Identifier: Apache-2.0
 *
 * Many ranks at once in a store that is too small for them; then the same with deaths, each at a
 * random point or moment.
 */
#include "store.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t small = 3 << 20;

static void work(struct rank *rank)
{
    rank_work(rank, UINT32_MAX);
}

static void sum(unsigned *puts, unsigned *hits)
{
    *puts = *hits = 0;
    for (int i = 0; i < RANKS; i++) {
        *puts += atomic_load(&shared->ranks[i].puts);
        *hits += atomic_load(&shared->ranks[i].hits);
    }
}

static const char *finish(unsigned seed)
{
    struct rank rank;
    if (!rank_open(&rank, RANKS - 1, small, seed)) {
        return "the segment can't be opened";
    }
    const char *problem = check_all(&rank);
    rs_store_close(&rank.own);
    return problem;
}

/* Processes that look at it from time to time see it whole, too. */
static const char *watch(double seconds, unsigned seed)
{
    const char *problem = NULL;
    for (double end = seconds_now() + seconds; !problem && seconds_now() < end;) {
        usleep(20000);
        problem = finish(seed);
    }
    return problem;
}

enum { THREADS = 6 };

static void *thread_work(void *context)
{
    struct rank *rank = context;
    rank_work(rank, 300);
    return NULL;
}

int test_threads(unsigned rounds, unsigned seed, const char *word)
{
    struct rank ranks[THREADS];
    pthread_t threads[THREADS];
    unsigned puts, hits;
    if (!strstr("threads", word)) {
        return 0;
    }
    double began = seconds_now();
    new_segment("threads");
    const char *problem = rank_open(&ranks[0], 0, small, seed) ? NULL : "no segment";
    for (unsigned round = 0; !problem && round < rounds; round++) {
        for (int i = 0; i < THREADS; i++) {
            if (i > 0) {
                ranks[i].store = ranks[0].store;
                ranks[i].slot = ranks[0].slot;
            }
            ranks[i].number = i;
            ranks[i].state = seed + round * THREADS + (unsigned)i;
            pthread_create(&threads[i], NULL, thread_work, &ranks[i]);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        problem = check_all(&ranks[0]);
    }
    sum(&puts, &hits);
    problem = problem || (puts > 0 && hits > 0) ? problem : "nothing was done";
    rs_store_close(&ranks[0].own);
    end_segment();
    return !say("threads: one store, one slot", problem, seconds_now() - began);
}

int test_stress(int ranks, unsigned seed, const char *word)
{
    char name[128];
    pid_t pids[RANKS];
    unsigned puts, hits;
    int ended;
    if (!strstr("stress", word)) {
        return 0;
    }
    double began = seconds_now();
    new_segment("stress");
    for (int i = 0; i < ranks; i++) {
        pids[i] = start(work, i, small, seed);
    }
    const char *problem = watch(ranks > 8 ? 60 : 3, seed);
    atomic_store(&shared->stop, true);
    for (int i = 0; i < ranks; i++) {
        waitpid(pids[i], &ended, 0);
        problem = ended ? "a rank crashed" : problem;
    }
    problem = problem ? problem : finish(seed);
    sum(&puts, &hits);
    problem = problem || (puts > 0 && hits > 0) ? problem : "nothing was done";
    end_segment();
    snprintf(name, sizeof(name), "stress: %d ranks, %u puts, %u hits, all bytes right", ranks, puts,
             hits);
    return !say(name, problem, seconds_now() - began);
}

/* Arms a random point, or lets the moment decide. */
static void arm_randomly(int number, unsigned choice)
{
    static const enum rs_kill first = RS_KILL_room_locked;
    bool at_point = choice % 4 != 0;
    atomic_store(&shared->ranks[number].after, (int)(choice / 4 % 60) + 1);
    atomic_store(&shared->ranks[number].point,
                 at_point ? (int)first + (int)(choice / 240 % (RS_KILL_COUNT - first))
                          : RS_KILL_NONE);
}

struct deaths {
    unsigned wanted, seen;
    unsigned crashed;
};

/* Waits for one rank's end, or kills one that does not end by itself. */
static int next_death(pid_t *pids, int ranks, struct deaths *deaths)
{
    int status = 0;
    pid_t gone = 0;
    for (int tries = 0; gone == 0 && tries < 60; tries++) {
        gone = waitpid(-1, &status, WNOHANG);
        if (gone == 0) {
            usleep(300);
        }
    }
    if (gone == 0) {
        int victim = (int)(random() % ranks);
        kill(pids[victim], SIGKILL);
        gone = waitpid(pids[victim], &status, 0);
    }
    for (int i = 0; i < ranks; i++) {
        if (pids[i] == gone) {
            bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
            deaths->seen += killed;
            deaths->crashed += !killed;
            return i;
        }
    }
    return -1;
}

int test_kills(unsigned kills, int ranks, unsigned seed, const char *word)
{
    char name[160];
    pid_t pids[RANKS];
    struct deaths deaths = {.wanted = kills};
    const char *problem = NULL;
    unsigned puts, hits;
    if (!strstr("kills", word)) {
        return 0;
    }
    double began = seconds_now();
    srandom(seed);
    new_segment("kills");
    for (int i = 0; i < ranks; i++) {
        arm_randomly(i, (unsigned)random());
        pids[i] = start(work, i, small, seed + (unsigned)i);
    }
    while (!problem && deaths.seen < deaths.wanted) {
        int i = next_death(pids, ranks, &deaths);
        problem = i < 0 || deaths.crashed ? "a rank ended otherwise" : NULL;
        if (i >= 0) {
            arm_randomly(i, (unsigned)random());
            pids[i] = start(work, i, small, (unsigned)random());
        }
        if (!problem && deaths.seen % 10 == 0) {
            problem = finish(seed);
        }
    }
    atomic_store(&shared->stop, true);
    for (int i = 0; i < ranks; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    problem = problem ? problem : finish(seed);
    sum(&puts, &hits);
    unsigned at_points = atomic_load(&shared->died);
    problem = problem || (puts > 0 && hits > 0 && at_points > kills / 4) ? problem
                                                                         : "too little was done";
    end_segment();
    snprintf(name, sizeof(name),
             "kills: %u deaths, %u at a point; %u puts, %u hits, all bytes right", deaths.seen,
             at_points, puts, hits);
    return !say(name, problem, seconds_now() - began);
}
