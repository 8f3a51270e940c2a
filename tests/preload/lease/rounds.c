/* SPDX-License-Identifier: Apache-2.0
 *
 * Random rounds: several rows of them run side by side in one segment, each
 * round a job with keys of its own. In calm ones nobody is disturbed: exactly
 * one producer for each key. In deadly ones ranks die at random points, fail or
 * move on: all the rest must finish. In stopped ones (SIGSTOP at random points,
 * of producers and waiters) the rest must finish while the others are stopped,
 * nobody is elected in place of a stopped one, and who is continued finishes,
 * too.
 */
#include "lease.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 8, MOST = 6, KEYS = 2, LIMIT_MS = 20000, STOPPED_WAIT_MS = 600 };
enum round { CALM, DEADLY, STOPPED, ROUND_KINDS };

static const char *const points[] = {
#define RS_KILL(name, text) #name,
#include "store/kill_points.def"
#undef RS_KILL
};

static int below(unsigned *seed, int limit)
{
    return rand_r(seed) % limit;
}

/* Half of them stop as producers, half at a point of the protocol. (Who is
 * stopped while it holds the registry lock leaves the others without slots, and
 * so without leases: not there.) */
static void stop_fate(unsigned *seed, char *text, size_t size)
{
    const char *point;
    if (below(seed, 2)) {
        snprintf(text, size, "act=stop");
        return;
    }
    do {
        point = points[below(seed, (int)(sizeof(points) / sizeof(points[0])))];
    } while (strncmp(point, "lease_", 6) != 0 && strncmp(point, "takeover_", 9) != 0 &&
             strncmp(point, "wait_", 5) != 0);
    snprintf(text, size, "stop=%s nth=%d", point, 1 + below(seed, 3));
}

struct result {
    _Atomic int rounds[ROUND_KINDS], wrong[ROUND_KINDS];
    _Atomic int troubled; /* ranks that were to be killed or stopped */
    char first_wrong[ROUND_KINDS][256];
};

/* What makes the round deadly for one rank. Returns whether it is any trouble.
 */
static bool fate(unsigned *seed, char *text, size_t size)
{
    switch (below(seed, 6)) {
    case 0:
        snprintf(text, size, "act=die");
        return true;
    case 1:
        snprintf(text, size, "act=fail");
        return true;
    case 2:
        snprintf(text, size, "act=move");
        return true;
    case 3:
    case 4: {
        size_t point = (size_t)below(seed, (int)(sizeof(points) / sizeof(points[0])));
        snprintf(text, size, "kill=%s nth=%d", points[point], 1 + below(seed, 2));
        return true;
    }
    default:
        text[0] = '\0';
        return false;
    }
}

static const char *judge_calm(const struct bench *bench, unsigned key, int ranks)
{
    for (unsigned i = key; i < key + KEYS; i++) {
        CHECK(count_log(bench, LOG_PRODUCED, i) == 1);
        CHECK(count_log(bench, LOG_NATIVE, i) == 0);
        CHECK(count_log(bench, LOG_HIT, i) + count_log(bench, LOG_WAITED, i) == ranks - 1);
    }
    return NULL;
}

/* One more producer at most for each rank that died or failed: where all ranks
 * of the job were gone for a moment, the next one is another run and is
 * elected. */
static const char *judge_deadly(const struct bench *bench, unsigned key, int troubles)
{
    for (unsigned i = key; i < key + KEYS; i++) {
        CHECK(count_log(bench, LOG_ELECTED, i) <= 1 + troubles);
        CHECK(count_log(bench, LOG_TAKEOVER, i) <= troubles);
    }
    return NULL;
}

/* Nobody died: who is stopped keeps its lease, and the others leave at their
 * deadline. */
static const char *judge_stopped(const struct bench *bench, unsigned key)
{
    for (unsigned i = key; i < key + KEYS; i++) {
        CHECK(count_log(bench, LOG_ELECTED, i) <= 1);
        CHECK(count_log(bench, LOG_TAKEOVER, i) == 0);
        CHECK(count_log(bench, LOG_PRODUCED, i) + count_log(bench, LOG_NATIVE, i) >= 1);
    }
    return NULL;
}

/* Continues RANKS, again and again, since one may come to its point late; waits
 * for their ends. */
static bool join_continued(const pid_t *pids, int count)
{
    long end = now_ms() + LIMIT_MS;
    bool fine = true;
    for (int i = 0; i < count; i++) {
        pid_t ended;
        int status = 0;
        while ((ended = waitpid(pids[i], &status, WNOHANG)) == 0 && now_ms() < end) {
            struct timespec pause = {0, 2000000};
            kill(pids[i], SIGCONT);
            nanosleep(&pause, NULL);
        }
        if (ended == 0) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
        fine &= ended == pids[i] && status == 0;
    }
    return fine;
}

struct ranks {
    pid_t free[MOST], stopped[MOST];
    int free_count, stopped_count, troubles;
};

static void start_round(const struct bench *bench, const char *job, unsigned key, enum round kind,
                        unsigned *seed, struct ranks *ranks)
{
    int count = 2 + below(seed, MOST - 1);
    *ranks = (struct ranks){0};
    for (int i = 0; i < count; i++) {
        char more[64] = "";
        bool stops = kind == STOPPED && below(seed, 2);
        if (kind == DEADLY && below(seed, 2)) {
            ranks->troubles += fate(seed, more, sizeof(more));
        } else if (stops) {
            stop_fate(seed, more, sizeof(more));
            ranks->troubles++;
        }
        pid_t pid =
            rank_start(bench, "job=%s rank=%d key=%u keys=%d ms=%d wait=%d %s", job, i, key, KEYS,
                       below(seed, 12), kind == STOPPED ? STOPPED_WAIT_MS : LIMIT_MS, more);
        if (stops) {
            ranks->stopped[ranks->stopped_count++] = pid;
        } else {
            ranks->free[ranks->free_count++] = pid;
        }
    }
}

static void one_round(const struct bench *bench, struct result *result, int row, int round,
                      unsigned *seed)
{
    struct ranks ranks;
    char job[32];
    unsigned key = (unsigned)(row * 1000000 + round * 10 + 1);
    int dice = below(seed, 6);
    enum round kind = dice < 3 ? CALM : dice < 5 ? DEADLY : STOPPED;
    clear_log(bench);
    snprintf(job, sizeof(job), "r%d.%d", row, round);
    start_round(bench, job, key, kind, seed, &ranks);
    bool ended = join_all(ranks.free, ranks.free_count, LIMIT_MS);
    ended &= join_continued(ranks.stopped, ranks.stopped_count);
    const char *wrong = "a rank hung or failed";
    if (ended && kind == CALM) {
        wrong = judge_calm(bench, key, ranks.free_count);
    } else if (ended) {
        wrong =
            kind == DEADLY ? judge_deadly(bench, key, ranks.troubles) : judge_stopped(bench, key);
    }
    atomic_fetch_add(&result->troubled, ranks.troubles);
    if (wrong && atomic_fetch_add(&result->wrong[kind], 1) == 0) {
        snprintf(result->first_wrong[kind], sizeof(result->first_wrong[kind]),
                 "row %d, round %d: %s", row, round, wrong);
    }
    atomic_fetch_add(&result->rounds[kind], 1);
    for (unsigned i = key; i < key + KEYS; i++) {
        bench_forget(bench, i);
    }
}

static struct result *result;
static unsigned first_seed;

static int rounds_done(void)
{
    return result->rounds[CALM] + result->rounds[DEADLY] + result->rounds[STOPPED];
}

static void row_of_rounds(const struct bench *bench, int row, int rounds)
{
    struct bench mine;
    unsigned seed = first_seed + (unsigned)row;
    int shown = 0;
    if (!bench_open(&mine)) {
        _exit(1);
    }
    memcpy(mine.segment, bench->segment, sizeof(mine.segment));
    for (int round = row; round < rounds; round += ROWS) {
        one_round(&mine, result, row, round, &seed);
        if (row == 0 && rounds_done() >= shown + 500) {
            shown = rounds_done();
            printf("     %d of %d rounds\n", shown, rounds);
            fflush(stdout);
        }
    }
    bench_close(&mine);
    _exit(0);
}

static const char *all_rounds(struct bench *bench, int rounds)
{
    pid_t rows[ROWS];
    fflush(stdout);
    for (int row = 0; row < ROWS; row++) {
        rows[row] = fork();
        if (rows[row] == 0) {
            row_of_rounds(bench, row, rounds);
        }
    }
    CHECK(join_all(rows, ROWS, (long)rounds * LIMIT_MS));
    CHECK(rounds_done() == rounds);
    return NULL;
}

static const char *judged(struct bench *bench, int kind)
{
    (void)bench;
    return result->wrong[kind] ? result->first_wrong[kind] : NULL;
}

void run_rounds(int rounds, unsigned seed)
{
    static const char *const what[ROUND_KINDS] = {
        [CALM] = "undisturbed rounds, one producer each",
        [DEADLY] = "rounds with deaths, the rest finishes",
        [STOPPED] = "rounds with stops, the rest finishes, nobody is elected twice",
    };
    char name[128];
    first_seed = seed;
    result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rounds <= 0 || result == MAP_FAILED) {
        return;
    }
    snprintf(name, sizeof(name), "%d random rounds, seed %u, end", rounds, seed);
    run_case(name, all_rounds, rounds);
    printf("     %d ranks were to be killed, to fail or to be stopped\n", result->troubled);
    for (int kind = 0; kind < ROUND_KINDS; kind++) {
        snprintf(name, sizeof(name), "%d %s", result->rounds[kind], what[kind]);
        run_case(name, judged, kind);
    }
}
