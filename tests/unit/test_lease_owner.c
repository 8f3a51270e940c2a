/* SPDX-License-Identifier: Apache-2.0
 *
 * Owners whose end is hard to see: processes that run another program, and those of other pid
 * namespaces.
 */
#include "test_store_fixture.h"

#include "store/lease_table.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

static struct fixture f;
static struct rs_slot *slot;
static struct rs_place place;

static void setup(void)
{
    fixture_open(&f, "owner");
    slot = fixture_slot(&f, "job", 0);
    place = place_of(1);
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(lease_owner, .init = setup, .fini = teardown, .timeout = 60);

static const uint64_t second = 1000000000;

static enum rs_lease_verdict ask(bool *takeover)
{
    return rs_lease_ask(&f.store, slot, &place, takeover);
}

static enum rs_wait_end wait_ns(uint64_t budget)
{
    uint64_t waited;
    return rs_lease_wait(&f.store, slot, &place, budget, &waited);
}

static void *run_sleep(void *arg)
{
    bool takeover;
    if (ask(&takeover) == RS_LEASE_PRODUCER && write(*(int *)arg, "", 1) == 1) {
        execlp("sleep", "sleep", "1000", NULL);
    }
    _exit(1);
}

/* A child of job JOB takes the lease and runs another program, from its first thread or another. */
static pid_t start_sleep(bool first_thread)
{
    int channel[2];
    char byte;
    cr_assert_eq(pipe(channel), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        rs_store_forked();
        slot = fixture_slot(&f, "job", 1);
        if (first_thread) {
            run_sleep(&channel[1]);
        }
        pthread_create(&thread, NULL, run_sleep, &channel[1]);
        pause();
    }
    cr_assert_eq(read(channel[0], &byte, 1), 1);
    close(channel[0]);
    close(channel[1]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

Test(lease_owner, another_program_is_a_death)
{
    for (int first = 0; first <= 1; first++, place.ino++) {
        bool takeover;
        pid_t pid = start_sleep(first);
        cr_assert_eq(wait_ns(30 * second), RS_WAIT_OWNER_DIED);
        cr_assert_eq(kill(pid, 0), 0);
        cr_assert_eq(ask(&takeover), RS_LEASE_PRODUCER);
        cr_assert(takeover);
        struct rs_slot_view view;
        cr_assert(rs_slot_read(&f.store, (unsigned)first + 1, &view));
        cr_assert_eq(view.pid, pid);
        cr_assert_eq(view.alive, 0);
        end(pid);
    }
}

Test(lease_owner, an_unknown_image_is_no_death)
{
    bool takeover;
    pid_t pid = start_sleep(true);
    rs_slots(f.store.segment)[1].image = 0;
    cr_assert_eq(ask(&takeover), RS_LEASE_WAIT);
    cr_assert_eq(wait_ns(second), RS_WAIT_TIMEOUT);
    end(pid);
}

/* ---- other pid namespaces ---------------------------------------------------------------------
 */

/* A child of job JOB in another namespace takes the lease and lives, or dies. */
static pid_t start_foreign(const char *job, bool dies)
{
    int channel[2];
    char byte;
    cr_assert_eq(pipe(channel), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool takeover;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        rs_store_forked();
        slot = fixture_slot(&f, job, 1);
        slot->space = 1;
        cr_assert_eq(ask(&takeover), RS_LEASE_PRODUCER);
        cr_assert_eq(write(channel[1], "", 1), 1);
        if (!dies) {
            pause();
        }
        raise(SIGKILL);
    }
    cr_assert_eq(read(channel[0], &byte, 1), 1);
    close(channel[0]);
    close(channel[1]);
    if (dies) {
        waitpid(pid, NULL, 0);
    }
    return pid;
}

static struct rs_lease *lease(void)
{
    return rs_lease_at(f.store.segment, rs_lease_index(&place, 0));
}

Test(lease_owner, of_another_namespace_ends_with_the_deadline_alone)
{
    bool takeover;
    start_foreign("job", true);
    rs_slots(f.store.segment)[1].pid = getpid(); /* which lives, and has no such thread */
    cr_assert_eq(ask(&takeover), RS_LEASE_WAIT);
    cr_assert_eq(wait_ns(second + second / 2), RS_WAIT_TIMEOUT);
    rs_slots(f.store.segment)[1].pid = 0x3fffff; /* nobody's */
    cr_assert_eq(wait_ns(second + second / 2), RS_WAIT_TIMEOUT);
    lease()->taken_ns -= 590 * second;
    cr_assert_eq(ask(&takeover), RS_LEASE_WAIT);
}

Test(lease_owner, overdue_is_no_death)
{
    bool takeover;
    pid_t pid = start_foreign("job", false);
    lease()->taken_ns -= 601 * second;
    cr_assert_eq(ask(&takeover), RS_LEASE_UNPRODUCTIVE, "it may still be at work");
    cr_assert_not(takeover);
    cr_assert_eq(wait_ns(second), RS_WAIT_UNPRODUCTIVE);
    end(pid);
}

Test(lease_owner, becomes_overdue_while_one_waits)
{
    pid_t pid = start_foreign("job", false);
    lease()->taken_ns -= 599 * second;
    cr_assert_eq(wait_ns(30 * second), RS_WAIT_UNPRODUCTIVE);
    end(pid);
}

Test(lease_owner, overdue_in_another_job)
{
    bool takeover;
    start_foreign("former", true);
    lease()->taken_ns -= 601 * second;
    cr_assert_eq(wait_ns(30 * second), RS_WAIT_OWNER_DIED, "look again");
    cr_assert_eq(ask(&takeover), RS_LEASE_PRODUCER);
    cr_assert_not(takeover);
}

Test(lease_owner, who_may_wait_longer_believes_longer)
{
    bool takeover;
    start_foreign("job", true);
    lease()->taken_ns -= 700 * second;
    f.store.patience_ns = 800 * second;
    cr_assert_eq(ask(&takeover), RS_LEASE_WAIT);
    f.store.patience_ns = second;
    cr_assert_eq(ask(&takeover), RS_LEASE_UNPRODUCTIVE);
}
