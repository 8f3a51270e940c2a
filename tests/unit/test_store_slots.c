/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs, process slots, folding of dead processes' counters.
 */
#include "test_store_fixture.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

static struct fixture f;

static void setup(void)
{
    fixture_open(&f, "slots");
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(store_slots, .init = setup, .fini = teardown, .timeout = 60);

Test(store_slots, claim)
{
    struct rs_slot_view view;
    struct rs_job_view job;
    struct rs_slot *slot = fixture_slot(&f, "job", 3);
    rs_slot_count(slot, RS_C_leases, 2);
    rs_slot_count(slot, RS_C_leases, 3);
    rs_slot_count(NULL, RS_C_leases, 3);
    rs_slot_count(slot, RS_COUNTER_COUNT, 3);
    cr_assert(rs_slot_read(&f.store, 0, &view));
    cr_assert_not(rs_slot_read(&f.store, 1, &view) || rs_slot_read(&f.store, RS_SLOTS, &view));
    cr_assert_eq(view.pid, getpid());
    cr_assert_eq(view.rank, 3);
    cr_assert_eq(view.world, 4);
    cr_assert_eq(view.ordinal, -1);
    cr_assert_eq(view.alive, 1);
    cr_assert_eq(view.counters[RS_C_leases], 5);
    rs_slot_ordinal(slot, 11);
    cr_assert(rs_slot_read(&f.store, 0, &view));
    cr_assert_eq(view.ordinal, 11);
    cr_assert(rs_job_read(&f.store, view.job, &job));
    cr_assert_str_eq(job.name, "job");
    cr_assert_eq(job.world, 4);
    cr_assert_neq(job.last_ns, 0);
}

Test(store_slots, versions_are_listed)
{
    struct rs_job_view job;
    struct rs_slot *slot = fixture_slot(&f, "job", 0);
    struct rs_slot *other = fixture_slot(&f, "job", 1);
    cr_assert(rs_job_read(&f.store, 0, &job));
    cr_assert_str_empty(job.torch);
    rs_slot_versions(&f.store, NULL, "9", "9", "9");
    rs_slot_versions(&f.store, slot, "", NULL, "H200");
    rs_slot_versions(&f.store, slot, "2.15.0", "3.9", "H200");
    rs_slot_versions(&f.store, other, "2.1", "3.9", "H200");
    rs_slot_versions(&f.store, other, "15.0", "3.9", "H20");
    rs_slot_versions(&f.store, slot, "2.15.0", "3.9", "H200");
    cr_assert(rs_job_read(&f.store, 0, &job));
    cr_assert_str_eq(job.torch, "2.15.0 / 2.1 / 15.0");
    cr_assert_str_eq(job.triton, "3.9");
    cr_assert_str_eq(job.device, "H200 / H20");
}

/* What finds no room is left out, whole. */
Test(store_slots, versions_stay_in_their_room)
{
    char version[16];
    struct rs_job_view job;
    struct rs_slot *slot = fixture_slot(&f, "job", 0);
    for (int i = 0; i < 100; i++) {
        snprintf(version, sizeof(version), "version %d", i % 50);
        rs_slot_versions(&f.store, slot, version, version, version);
    }
    cr_assert(rs_job_read(&f.store, 0, &job));
    cr_assert_str_eq(job.torch, "version 0 / version 1 / version 2 / version 3 / version 4");
    cr_assert_str_eq(job.triton, job.torch);
}

Test(store_slots, long_names_are_cut)
{
    char longest[300];
    struct rs_job_view job;
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    struct rs_slot *slot = fixture_slot(&f, longest, 0);
    rs_slot_versions(&f.store, slot, longest, longest, longest);
    fixture_slot(&f, longest, 0);
    cr_assert(rs_job_read(&f.store, 0, &job));
    cr_assert_eq(strlen(job.name), RS_JOB_NAME_MAX - 1);
    cr_assert_eq(strlen(job.torch), RS_VERSION_MAX - 1);
    cr_assert_eq(strlen(job.device), RS_DEVICE_MAX - 1);
    cr_assert_not(rs_job_read(&f.store, 1, &job));
}

Test(store_slots, alive)
{
    struct rs_slot *slots = rs_slots(f.store.segment);
    int gate[2];
    char byte;
    cr_assert_eq(pipe(gate), 0);
    pid_t pid = fork();
    if (pid == 0) {
        fixture_slot(&f, "job", 0);
        cr_assert_eq(write(gate[1], "x", 1), 1);
        pause();
    }
    cr_assert_eq(read(gate[0], &byte, 1), 1);
    cr_assert_eq(rs_slot_alive(&slots[0]), 1);
    slots[0].start++;
    cr_assert_eq(rs_slot_alive(&slots[0]), 0, "another process with this pid");
    slots[0].start--;
    slots[0].space++;
    cr_assert_eq(rs_slot_alive(&slots[0]), -1, "foreign namespace");
    slots[0].space--;
    cr_assert_neq(slots[0].image, 0);
    uint32_t image = slots[0].image;
    slots[0].image += 2;
    cr_assert_eq(rs_slot_alive(&slots[0]), 0, "the process is another program now");
    slots[0].image = 0;
    cr_assert_eq(rs_slot_alive(&slots[0]), 1, "in doubt it lives");
    slots[0].image = image;
    kill(pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    cr_assert_eq(rs_slot_alive(&slots[0]), 0, "a zombie is dead");
    waitpid(pid, NULL, 0);
    cr_assert_eq(rs_slot_alive(&slots[0]), 0);
    cr_assert_eq(rs_slot_alive(&slots[1]), 0, "never claimed");
}

Test(store_slots, strange_program_name)
{
    prctl(PR_SET_NAME, ") Z 1 (x) S", 0, 0, 0);
    struct rs_slot *slot = fixture_slot(&f, "job", 0);
    cr_assert_eq(rs_slot_alive(slot), 1);
}

/* All slots but KEEP used by dead processes. */
static void fill_with_dead(unsigned keep)
{
    struct rs_slot *slots = rs_slots(f.store.segment);
    IN_CHILD(fixture_slot(&f, "dead", 0));
    for (unsigned i = 1; i < RS_SLOTS - keep; i++) {
        slots[i].pid = slots[0].pid;
        slots[i].start = slots[0].start;
        slots[i].space = slots[0].space;
        slots[i].job = slots[0].job;
        slots[i].counters[RS_C_leases] = 1;
        slots[i].word = rs_word(RS_SLOT_LIVE, 1);
    }
    slots[0].counters[RS_C_leases] = 1;
    f.store.segment->slots_used = RS_SLOTS - keep;
}

Test(store_slots, reuse_folds_once)
{
    struct rs_job_view job;
    fill_with_dead(0);
    struct rs_slot *first = fixture_slot(&f, "new", 0);
    cr_assert_eq(first, &rs_slots(f.store.segment)[0], "oldest first");
    cr_assert_eq(first->counters[RS_C_leases], 0);
    cr_assert(rs_job_read(&f.store, 0, &job));
    cr_assert_eq(job.counters[RS_C_leases], 1);
    IN_CHILD(fixture_slot(&f, "new", 1));
    cr_assert(rs_job_read(&f.store, 0, &job));
    cr_assert_eq(job.counters[RS_C_leases], 2);
    cr_assert_eq(rs_slots(f.store.segment)[1].rank, 1);
}

Test(store_slots, folding_goes_on_after_a_crash)
{
    struct rs_job_view job;
    fill_with_dead(0);
    struct rs_slot *slot = &rs_slots(f.store.segment)[0];
    /* The folder died after it had moved one counter. */
    slot->counters[RS_C_leases] = 0;
    rs_jobs(f.store.segment)[0].counters[RS_C_leases] = 1;
    slot->counters[RS_C_views] = 5;
    slot->word = rs_word(RS_SLOT_FOLDING, 1);
    fixture_slot(&f, "new", 0);
    cr_assert(rs_job_read(&f.store, 0, &job));
    cr_assert_eq(job.counters[RS_C_leases], 1);
    cr_assert_eq(job.counters[RS_C_views], 5);
}

Test(store_slots, full_of_living)
{
    struct rs_slot *slots = rs_slots(f.store.segment);
    struct rs_identity identity = {.job = "job"};
    fill_with_dead(0);
    for (unsigned i = 0; i < RS_SLOTS; i++) {
        slots[i].space = 1; /* can't be judged */
        rs_slot_beat(&slots[i]);
    }
    cr_assert_null(rs_slot_claim(&f.store, &identity));
    slots[77].space = f.store.segment->creator_space;
    cr_assert_eq(rs_slot_claim(&f.store, &identity), &slots[77]);
}

Test(store_slots, full_of_processes_of_other_namespaces_that_rest)
{
    struct rs_slot *slots = rs_slots(f.store.segment);
    struct rs_identity identity = {.job = "job"};
    struct timespec now;
    fill_with_dead(0);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec < RS_FORSAKEN_S + 10) {
        cr_skip_test("this machine runs for less than an hour");
    }
    for (unsigned i = 0; i < RS_SLOTS; i++) {
        slots[i].space = 1;
        slots[i].beat_s = (uint32_t)now.tv_sec - RS_FORSAKEN_S + 60;
    }
    uint32_t job = slots[0].job;
    cr_assert_null(rs_slot_claim(&f.store, &identity), "not for an hour yet");
    cr_assert(rs_job_alive(f.store.segment, job));
    slots[78].beat_s = (uint32_t)now.tv_sec - RS_FORSAKEN_S;
    slots[77].beat_s = (uint32_t)now.tv_sec - RS_FORSAKEN_S - 5;
    uint64_t word = slots[77].word;
    cr_assert_eq(rs_slot_claim(&f.store, &identity), &slots[77], "the one that rests longest");
    cr_assert_neq(slots[77].word, word, "its owner sees that");
    for (unsigned i = 0; i < RS_SLOTS; i++) {
        slots[i].space = 1;
        slots[i].beat_s = (uint32_t)now.tv_sec - RS_FORSAKEN_S - 5;
    }
    cr_assert_not(rs_job_alive(f.store.segment, job), "so a later job of its name is another run");
}

Test(store_slots, program_replaced_by_exec)
{
    struct rs_slot_view view;
    struct rs_slot *before = fixture_slot(&f, "job", 0);
    rs_slot_count(before, RS_C_leases, 4);
    struct rs_slot *after = fixture_slot(&f, "job", 0);
    cr_assert_neq(before, after);
    cr_assert_not(rs_slot_read(&f.store, 0, &view), "a process has one slot");
    struct rs_job_view job;
    cr_assert(rs_job_read(&f.store, 0, &job));
    cr_assert_eq(job.counters[RS_C_leases], 4);
}

Test(store_slots, same_name_later_is_another_run)
{
    IN_CHILD(fixture_slot(&f, "job", 0));
    uint32_t run = rs_jobs(f.store.segment)[0].run;
    fixture_slot(&f, "job", 0);
    cr_assert_neq(rs_jobs(f.store.segment)[0].run, run);
    run = rs_jobs(f.store.segment)[0].run;
    IN_CHILD(fixture_slot(&f, "job", 1));
    cr_assert_eq(rs_jobs(f.store.segment)[0].run, run, "the first rank still runs");
}

Test(store_slots, oldest_idle_job_goes)
{
    char name[16];
    struct rs_job_view job;
    fixture_slot(&f, "alive", 0);
    for (int i = 1; i < RS_JOBS; i++) {
        snprintf(name, sizeof(name), "job%d", i);
        IN_CHILD(fixture_slot(&f, name, 0));
    }
    cr_assert_eq(rs_slots(f.store.segment)[1].job, 1);
    IN_CHILD(fixture_slot(&f, "another", 0));
    cr_assert(rs_job_read(&f.store, 0, &job));
    cr_assert_str_eq(job.name, "alive");
    cr_assert(rs_job_read(&f.store, 1, &job));
    cr_assert_str_eq(job.name, "another");
    cr_assert_eq(rs_word_state(rs_slots(f.store.segment)[1].word), RS_SLOT_FREE);
}

Test(store_slots, lock_of_a_dead_process)
{
    IN_CHILD({
        uint64_t lock;
        cr_assert(rs_registry_lock(f.store.segment, &lock));
    });
    fixture_slot(&f, "job", 0);
    cr_assert_eq(f.store.segment->registry, 0);
}

Test(store_slots, lock_of_a_living_process)
{
    struct rs_identity identity = {.job = "job"};
    uint64_t lock;
    cr_assert(rs_registry_lock(f.store.segment, &lock));
    cr_assert_null(rs_slot_claim(&f.store, &identity), "goes on without, after a second");
    rs_registry_unlock(f.store.segment, lock);
    cr_assert_not_null(rs_slot_claim(&f.store, &identity));
}

Test(store_slots, lock_of_a_foreign_process)
{
    f.store.segment->registry = UINT64_C(1) << 63 | 1; /* no namespace: can't be judged */
    fixture_slot(&f, "job", 0);
}

Test(store_slots, real_pid_namespace)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWPID) != 0) {
            _exit(77);
        }
        pid_t inner = fork();
        if (inner == 0) {
            rs_store_forked();
            fixture_slot(&f, "job", 0);
            _exit(0);
        }
        int status;
        waitpid(inner, &status, 0);
        _exit(status != 0);
    }
    int status;
    waitpid(pid, &status, 0);
    if (WEXITSTATUS(status) == 77) {
        cr_skip_test("can't make a pid namespace");
    }
    cr_assert_eq(status, 0);
    cr_assert_eq(rs_slots(f.store.segment)[0].pid, 1);
    cr_assert_eq(rs_slots(f.store.segment)[0].start, 0, "/proc shows another namespace");
    cr_assert_eq(rs_slot_alive(&rs_slots(f.store.segment)[0]), -1);
}
