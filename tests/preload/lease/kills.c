/* SPDX-License-Identifier: Apache-2.0
 *
 * A process is killed at each kill point, in the role that passes it. The next ones must finish,
 * and the segment must be as good as before.
 */
#include "lease.h"

#include "store/registry.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum role { ALONE, TAKER, WAITER, FOLDER };

/* What the victim does, and what came before. */
static const struct {
    const char *point, *more;
    enum role role;
} victims[] = {
    {"create_reserved", "", ALONE},
    {"create_filled", "", ALONE},
    {"registry_locked", "", ALONE},
    {"job_named", "", ALONE},
    {"slot_marked", "", ALONE},
    {"slot_written", "", ALONE},
    {"slot_live", "", ALONE},
    {"fold_begun", "", FOLDER},
    {"fold_moving", "", FOLDER},
    {"fold_moved", "", FOLDER},
    {"event_writing", "", ALONE},
    {"lease_claimed", "", ALONE},
    {"lease_written", "", ALONE},
    {"lease_published", "", ALONE},
    {"lease_held", "", ALONE},
    {"takeover_claimed", "", TAKER},
    {"takeover_written", "", TAKER},
    {"lease_ended", "act=store", ALONE},
    {"lease_ended", "act=fail", ALONE},
    {"lease_ended", "act=move", ALONE},
    {"lease_turned", "act=store", ALONE},
    {"lease_turned", "act=fail", ALONE},
    {"lease_turned", "act=move", ALONE},
    {"wait_begun", "", WAITER},
    {"wait_woken", "", WAITER},
};

enum { KEY = 1, OTHER_KEY = 50, KEEPER_KEY = 99, COUNTED = RS_C_views };

/* Every slot belongs to a dead process that counted one. */
static bool fill_slots(const struct bench *bench)
{
    struct rs_store store;
    pid_t pid = rank_start(bench, "job=dead keys=0");
    if (!join_all(&pid, 1, 5000) ||
        rs_store_open(bench->segment, false, true, &store) != RS_STORE_OK) {
        return false;
    }
    struct rs_slot *slots = rs_slots(store.segment);
    for (int i = 0; i < RS_SLOTS; i++) {
        slots[i].pid = pid;
        slots[i].start = slots[0].start;
        slots[i].space = slots[0].space;
        slots[i].job = slots[0].job;
        slots[i].counters[COUNTED] = 1;
        slots[i].word = rs_word(RS_SLOT_LIVE, 1);
    }
    store.segment->slots_used = RS_SLOTS;
    rs_store_close(&store);
    return true;
}

static uint64_t counted(const struct bench *bench)
{
    struct rs_store store;
    uint64_t sum = 0;
    if (rs_store_open(bench->segment, false, false, &store) != RS_STORE_OK) {
        return 0;
    }
    for (int i = 0; i < RS_SLOTS; i++) {
        sum += rs_slots(store.segment)[i].counters[COUNTED];
    }
    for (int i = 0; i < RS_JOBS; i++) {
        sum += rs_jobs(store.segment)[i].counters[COUNTED];
    }
    rs_store_close(&store);
    return sum;
}

/* What must be there before the victim comes. Returns a process that must be waited for, 0: none,
 * or -1. */
static pid_t prepare(const struct bench *bench, enum role role)
{
    pid_t pid = 0;
    if (role == TAKER) {
        /* The job must go on: after its last process the next is another run, which takes nothing
         * over. */
        pid_t keeper = rank_start(bench, "rank=8 key=%d act=hang", KEEPER_KEY);
        if (!await(bench, LOG_ELECTED, 1, 5000)) {
            return -1;
        }
        pid = rank_start(bench, "key=%d act=die", KEY);
        bool ready = join_all(&pid, 1, 5000) && await(bench, LOG_ELECTED, 2, 5000);
        return ready ? keeper : -1;
    }
    if (role == WAITER) {
        pid = rank_start(bench, "key=%d ms=400", KEY);
        return await(bench, LOG_ELECTED, 1, 5000) ? pid : -1;
    }
    if (role == FOLDER) {
        return fill_slots(bench) ? 0 : -1;
    }
    return 0;
}

static const char *killed_at(struct bench *bench, int number)
{
    pid_t pids[4], before = prepare(bench, victims[number].role);
    int status;
    CHECK(before >= 0);
    bool counts = victims[number].role == FOLDER;
    pid_t victim = rank_start(bench, "rank=9 key=%d ms=150 kill=%s %s", KEY, victims[number].point,
                              victims[number].more);
    /* Half of the others are there when it dies, where it lives that long. */
    if (strncmp(victims[number].point, "lease_ended", 11) == 0 ||
        strncmp(victims[number].point, "lease_turned", 12) == 0) {
        CHECK(await(bench, LOG_ELECTED, 1, 5000));
    } else {
        waitpid(victim, &status, 0);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        victim = 0;
    }
    for (int i = 0; i < 4; i++) {
        pids[i] = rank_start(bench, "rank=%d key=%d ms=50", i, KEY);
    }
    if (victim) {
        waitpid(victim, &status, 0);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    CHECK(join_all(pids, 4, 3000));
    if (victims[number].role == TAKER) {
        kill(before, SIGKILL);
    }
    CHECK(before == 0 || join_all(&before, 1, 3000));
    clear_log(bench);
    for (int i = 0; i < 4; i++) {
        pids[i] = rank_start(bench, "rank=%d key=%d ms=20 keys=2", i, OTHER_KEY);
    }
    CHECK(join_all(pids, 4, 3000));
    CHECK(count_log(bench, LOG_PRODUCED, 0) == 2);
    CHECK(count_log(bench, LOG_NATIVE, 0) == 0);
    uint64_t sum = counts ? counted(bench) : 0;
    bool may_lose = strcmp(victims[number].point, "fold_moving") == 0;
    CHECK(!counts || sum == RS_SLOTS || (may_lose && sum == RS_SLOTS - 1));
    return NULL;
}

void run_kill_cases(void)
{
    for (size_t i = 0; i < sizeof(victims) / sizeof(victims[0]); i++) {
        char name[128];
        snprintf(name, sizeof(name), "killed at %s %s", victims[i].point, victims[i].more);
        run_case(name, killed_at, (int)i);
    }
}
