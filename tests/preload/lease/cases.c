/* SPDX-License-Identifier: Apache-2.0
 *
 * The cases that have a name of their own, and main().
 */
#include "lease.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 16, KEY = 1 };

static void start_ranks(const struct bench *bench, pid_t *pids, int from, int to, const char *more)
{
    for (int i = from; i < to; i++) {
        pids[i] = rank_start(bench, "rank=%d key=%d %s", i, KEY, more);
    }
}

static const char *one_compiles(struct bench *bench, int ranks)
{
    pid_t pids[MOST] = {0};
    start_ranks(bench, pids, 0, ranks, "ms=200 keys=3");
    CHECK(join_all(pids, ranks, 10000));
    for (unsigned key = KEY; key < KEY + 3; key++) {
        CHECK(count_log(bench, LOG_PRODUCED, key) == 1);
        CHECK(count_log(bench, LOG_WAITED, key) + count_log(bench, LOG_HIT, key) == ranks - 1);
    }
    CHECK(count_log(bench, LOG_NATIVE, 0) == 0);
    return NULL;
}

/* Nine threads in each rank want the same twenty artifacts. */
static const char *threads_of_ranks(struct bench *bench, int ranks)
{
    enum { ARTIFACTS = 20, THREADS = 9 };
    pid_t pids[MOST] = {0};
    start_ranks(bench, pids, 0, ranks, "ms=3 keys=20 threads=8");
    CHECK(join_all(pids, ranks, 20000));
    for (unsigned key = KEY; key < KEY + ARTIFACTS; key++) {
        CHECK(count_log(bench, LOG_PRODUCED, key) == 1);
    }
    CHECK(count_log(bench, LOG_NATIVE, 0) == 0);
    CHECK(count_log(bench, LOG_HIT, 0) + count_log(bench, LOG_WAITED, 0) ==
          ARTIFACTS * (THREADS * ranks - 1));
    return NULL;
}

/* Well below a rank's own deadline (20 s): what ends by then was not ended by it. */
enum { SOON_MS = 12000 };

static const char *killed_while_compiling(struct bench *bench, int ranks)
{
    pid_t pids[MOST] = {0};
    start_ranks(bench, pids, 0, 1, "act=die ms=300");
    CHECK(await(bench, LOG_ELECTED, 1, 5000));
    start_ranks(bench, pids, 1, ranks, "ms=100");
    waitpid(pids[0], NULL, 0);
    CHECK(await(bench, LOG_TAKEOVER, 1, SOON_MS));
    CHECK(join_all(pids + 1, ranks - 1, SOON_MS));
    CHECK(count_log(bench, LOG_TAKEOVER, 0) == 1);
    CHECK(count_log(bench, LOG_PRODUCED, 0) == 1);
    CHECK(count_log(bench, LOG_WAITED, 0) == ranks - 2);
    return NULL;
}

static const char *never_finishes(struct bench *bench, int ranks)
{
    pid_t pids[MOST] = {0};
    start_ranks(bench, pids, 0, 1, "act=hang");
    CHECK(await(bench, LOG_ELECTED, 1, 5000));
    long begin = now_ms();
    start_ranks(bench, pids, 1, ranks, "wait=1200");
    CHECK(join_all(pids + 1, ranks - 1, SOON_MS));
    long took = now_ms() - begin;
    kill(pids[0], SIGKILL);
    waitpid(pids[0], NULL, 0);
    CHECK(count_log(bench, LOG_NATIVE, 0) >= 1);
    CHECK(count_log(bench, LOG_NATIVE, 0) + count_log(bench, LOG_WAITED, 0) == ranks - 1);
    CHECK(took >= 1200);
    return NULL;
}

/* All waiters compile, and all at the same time. */
static const char *all_at_once(struct bench *bench, int ranks, const char *first)
{
    struct line lines[MOST * 4];
    pid_t pids[MOST] = {0};
    start_ranks(bench, pids, 0, 1, first);
    CHECK(await(bench, LOG_ELECTED, 1, 5000));
    start_ranks(bench, pids, 1, ranks, "ms=1000");
    CHECK(join_all(pids + 1, ranks - 1, 10000));
    kill(pids[0], SIGKILL);
    waitpid(pids[0], NULL, 0);
    size_t count = read_log(bench, lines, MOST * 4);
    long last_begin = 0, first_end = INT64_MAX;
    int native = 0;
    for (size_t i = 0; i < count; i++) {
        if (lines[i].what == LOG_NATIVE) {
            native++;
            last_begin = lines[i].begin_ms > last_begin ? lines[i].begin_ms : last_begin;
            first_end = lines[i].end_ms < first_end ? lines[i].end_ms : first_end;
        }
    }
    CHECK(native == ranks - 1);
    CHECK(last_begin < first_end);
    CHECK(count_log(bench, LOG_ELECTED, 0) == 1);
    bench_forget(bench, KEY);
    start_ranks(bench, pids, 0, 2, "job=next");
    CHECK(join_all(pids, 2, 5000));
    CHECK(count_log(bench, LOG_PRODUCED, 0) == 1);
    return NULL;
}

static const char *fails(struct bench *bench, int ranks)
{
    return all_at_once(bench, ranks, "act=fail ms=300");
}

static const char *moves_on(struct bench *bench, int ranks)
{
    return all_at_once(bench, ranks, "act=move ms=300");
}

static const char *thread_leaves(struct bench *bench, int ranks)
{
    return all_at_once(bench, ranks, "act=leave");
}

static const char *takeover_once(struct bench *bench, int ranks)
{
    pid_t pids[MOST] = {0};
    /* One rank lives throughout: with the last one a run ends, and its marks with it. */
    rank_start(bench, "rank=99 key=99 act=hang");
    CHECK(await(bench, LOG_ELECTED, 1, 5000));
    start_ranks(bench, pids, 0, 1, "act=die ms=100");
    CHECK(await(bench, LOG_ELECTED, 2, 5000));
    start_ranks(bench, pids, 1, ranks, "act=die ms=100");
    CHECK(join_all(pids, ranks, 10000));
    CHECK(count_log(bench, LOG_ELECTED, KEY) == 2);
    CHECK(count_log(bench, LOG_TAKEOVER, KEY) == 1);
    CHECK(count_log(bench, LOG_NATIVE, KEY) >= 1);
    CHECK(count_log(bench, LOG_NATIVE, KEY) + count_log(bench, LOG_HIT, KEY) == ranks - 2);
    return NULL;
}

static const char *waiter_killed(struct bench *bench, int ranks)
{
    pid_t pids[MOST] = {0};
    start_ranks(bench, pids, 0, 1, "ms=800");
    CHECK(await(bench, LOG_ELECTED, 1, 5000));
    start_ranks(bench, pids, 1, ranks, "");
    usleep(200000);
    kill(pids[1], SIGKILL);
    CHECK(join_all(pids, ranks, 5000));
    CHECK(count_log(bench, LOG_PRODUCED, 0) == 1);
    CHECK(count_log(bench, LOG_WAITED, 0) == ranks - 2);
    return NULL;
}

static const char *waiter_gets_signal(struct bench *bench, int ranks)
{
    pid_t pids[MOST] = {0};
    start_ranks(bench, pids, 0, 1, "act=hang");
    CHECK(await(bench, LOG_ELECTED, 1, 5000));
    start_ranks(bench, pids, 1, ranks, "ms=500");
    /* Again and again: on a busy machine the first may come before the wait has begun. */
    for (int waited = 0; waited < SOON_MS && count_log(bench, LOG_SIGNAL, 0) < ranks - 1;
         waited += 700) {
        usleep(700000);
        for (int i = 1; i < ranks; i++) {
            kill(pids[i], SIGTERM);
        }
    }
    CHECK(await(bench, LOG_SIGNAL, ranks - 1, SOON_MS));
    CHECK(join_all(pids + 1, ranks - 1, SOON_MS));
    kill(pids[0], SIGKILL);
    waitpid(pids[0], NULL, 0);
    return NULL;
}

static const char *fork_during_wait(struct bench *bench, int ranks)
{
    pid_t pids[MOST] = {0};
    start_ranks(bench, pids, 0, 1, "ms=700");
    CHECK(await(bench, LOG_ELECTED, 1, 5000));
    start_ranks(bench, pids, 1, ranks, "act=fork ms=200 keys=0");
    CHECK(join_all(pids, ranks, 5000));
    CHECK(count_log(bench, LOG_PRODUCED, 0) == 1);
    CHECK(count_log(bench, LOG_WAITED, 0) == 2 * (ranks - 1));
    return NULL;
}

static const char *removed_cache(struct bench *bench, int ranks)
{
    pid_t pids[MOST] = {0};
    for (int round = 0; round < 3; round++) {
        clear_log(bench);
        bench_forget(bench, KEY);
        start_ranks(bench, pids, 0, ranks, "ms=100");
        CHECK(join_all(pids, ranks, 5000));
        CHECK(count_log(bench, LOG_PRODUCED, 0) == 1);
        CHECK(count_log(bench, LOG_NATIVE, 0) == 0);
    }
    return NULL;
}

static const char *crash_then_next_job(struct bench *bench, int ranks)
{
    pid_t pids[MOST] = {0};
    start_ranks(bench, pids, 0, ranks, "act=die ms=50 job=crashed");
    CHECK(join_all(pids, ranks, 10000));
    bench_forget(bench, KEY);
    clear_log(bench);
    start_ranks(bench, pids, 0, ranks, "ms=50 job=next");
    CHECK(join_all(pids, ranks, SOON_MS));
    CHECK(count_log(bench, LOG_PRODUCED, 0) == 1);
    CHECK(count_log(bench, LOG_TAKEOVER, 0) == 0);
    return NULL;
}

static const struct {
    const char *name;
    case_run *run;
    int ranks[3];
} cases[] = {
    {"one compiles, the others load", one_compiles, {2, 4, 16}},
    {"threads of several ranks", threads_of_ranks, {1, 4}},
    {"producer killed while it compiles", killed_while_compiling, {2, 4, 16}},
    {"producer never finishes", never_finishes, {2, 4, 16}},
    {"producer fails, all compile at once", fails, {2, 4, 16}},
    {"producer moves on, all compile at once", moves_on, {4}},
    {"producer's thread ends, all compile at once", thread_leaves, {4}},
    {"one takeover, then unproductive", takeover_once, {4, 16}},
    {"waiter killed", waiter_killed, {3, 16}},
    {"waiters get SIGTERM", waiter_gets_signal, {2, 16}},
    {"fork while waiting", fork_during_wait, {2, 4}},
    {"cache removed between rounds", removed_cache, {4}},
    {"next job after a crash does not wait", crash_then_next_job, {4}},
};

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "rank") == 0) {
        return rank_main(argc - 2, argv + 2);
    }
    /* [ROUNDS [SEED [CASES]]]: only cases whose names begin so, and no kills */
    const char *only = argc > 3 ? argv[3] : "";
    int rounds = argc > 1 ? atoi(argv[1]) : 200;
    unsigned seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : (unsigned)now_ms();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool wanted = strncmp(cases[i].name, only, strlen(only)) == 0;
        for (int j = 0; wanted && j < 3 && cases[i].ranks[j]; j++) {
            char name[128];
            snprintf(name, sizeof(name), "%s, %d ranks", cases[i].name, cases[i].ranks[j]);
            run_case(name, cases[i].run, cases[i].ranks[j]);
        }
    }
    if (!*only) {
        run_kill_cases();
    }
    run_rounds(rounds, seed);
    return print_summary();
}
