/* SPDX-License-Identifier: Apache-2.0
 *
 * Random rounds: several rows of them run side by side in one segment, each round a job with keys
 * of its own. In some nobody dies: then there is exactly one producer for each key. In the others
 * ranks die at random points, fail or move on: then all the rest must finish.
 */
#include "lease.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 8, MOST = 6, KEYS = 2, LIMIT_MS = 10000 };

static const char *const points[] = {
#define RS_KILL(name, text) #name,
#include "store/kill_points.def"
#undef RS_KILL
};

struct result {
    _Atomic int calm, deadly; /* rounds */
    _Atomic int calm_wrong, deadly_wrong;
    char first_wrong[256];
};

static int below(unsigned *seed, int limit)
{
    return rand_r(seed) % limit;
}

/* What makes the round deadly for one rank. Returns whether it is any trouble. */
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

/* One more producer at most for each rank that died or failed: where all ranks of the job were gone
 * for a moment, the next one is another run and is elected. */
static const char *judge_deadly(const struct bench *bench, unsigned key, int troubles)
{
    for (unsigned i = key; i < key + KEYS; i++) {
        CHECK(count_log(bench, LOG_ELECTED, i) <= 1 + troubles);
        CHECK(count_log(bench, LOG_TAKEOVER, i) <= troubles);
    }
    return NULL;
}

static void one_round(const struct bench *bench, struct result *result, int row, int round,
                      unsigned *seed)
{
    pid_t pids[MOST];
    int ranks = 2 + below(seed, MOST - 1), troubles = 0;
    unsigned key = (unsigned)(row * 100000 + round * 10 + 1);
    bool deadly = below(seed, 3) == 0;
    clear_log(bench);
    for (int i = 0; i < ranks; i++) {
        char more[64] = "";
        if (deadly && below(seed, 2)) {
            troubles += fate(seed, more, sizeof(more));
        }
        pids[i] = rank_start(bench, "job=r%d.%d rank=%d key=%u keys=%d ms=%d %s", row, round, i,
                             key, KEYS, below(seed, 12), more);
    }
    const char *wrong = join_all(pids, ranks, LIMIT_MS) ? NULL : "a rank hung or failed";
    if (!wrong) {
        wrong = deadly ? judge_deadly(bench, key, troubles) : judge_calm(bench, key, ranks);
    }
    atomic_fetch_add(deadly ? &result->deadly : &result->calm, 1);
    if (wrong) {
        atomic_fetch_add(deadly ? &result->deadly_wrong : &result->calm_wrong, 1);
        snprintf(result->first_wrong, sizeof(result->first_wrong), "row %d, round %d: %s", row,
                 round, wrong);
    }
    for (unsigned i = key; i < key + KEYS; i++) {
        bench_forget(bench, i);
    }
}

static struct result *result;
static unsigned first_seed;

static const char *all_rounds(struct bench *bench, int rounds)
{
    pid_t rows[ROWS];
    for (int row = 0; row < ROWS; row++) {
        rows[row] = fork();
        if (rows[row] == 0) {
            struct bench mine;
            unsigned seed = first_seed + (unsigned)row;
            if (!bench_open(&mine)) {
                _exit(1);
            }
            memcpy(mine.segment, bench->segment, sizeof(mine.segment));
            for (int round = row; round < rounds; round += ROWS) {
                one_round(&mine, result, row, round, &seed);
            }
            bench_close(&mine);
            _exit(0);
        }
    }
    CHECK(join_all(rows, ROWS, (long)rounds * LIMIT_MS));
    CHECK(result->calm + result->deadly == rounds);
    return NULL;
}

static const char *calm_rounds(struct bench *bench, int argument)
{
    (void)bench;
    (void)argument;
    return result->calm_wrong ? result->first_wrong : NULL;
}

static const char *deadly_rounds(struct bench *bench, int argument)
{
    (void)bench;
    (void)argument;
    return result->deadly_wrong ? result->first_wrong : NULL;
}

void run_rounds(int rounds, unsigned seed)
{
    char name[128];
    first_seed = seed;
    result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rounds <= 0 || result == MAP_FAILED) {
        return;
    }
    snprintf(name, sizeof(name), "%d random rounds, seed %u, end", rounds, seed);
    run_case(name, all_rounds, rounds);
    snprintf(name, sizeof(name), "%d rounds without a death, one producer each", result->calm);
    run_case(name, calm_rounds, 0);
    snprintf(name, sizeof(name), "%d rounds with deaths, the rest finishes", result->deadly);
    run_case(name, deadly_rounds, 0);
}
