/* SPDX-License-Identifier: Apache-2.0 */
#include "store/owner_lock.h"
#include "store/process.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t *word;
static uint64_t mine;
static pid_t holder;

static uint64_t tag_of_self(void)
{
    struct rs_process self = rs_process_self();
    return rs_process_tag(&self);
}

/* Another process has the lock and keeps it. */
static void hold(void)
{
    *word = 0;
    holder = fork();
    cr_assert_geq(holder, 0);
    if (holder == 0) {
        rs_process_forked();
        (void)rs_owner_lock(word, tag_of_self());
        for (;;)
            pause();
    }
    while (*word == 0)
        usleep(1000);
}

static void let_go(void)
{
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
}

static void setup(void)
{
    word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq((void *)word, MAP_FAILED);
    mine = tag_of_self();
    hold();
}

TestSuite(owner_lock, .init = setup, .fini = let_go, .timeout = 60);

static double seconds_of(enum rs_lock expected)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    enum rs_lock got = rs_owner_lock(word, mine);
    clock_gettime(CLOCK_MONOTONIC, &to);
    cr_assert_eq(got, expected, "%d, not %d", (int)got, (int)expected);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

Test(owner_lock, one_second_is_lost_for_an_owner_that_keeps_it)
{
    cr_assert_geq(seconds_of(RS_LOCK_BUSY), 1);
    for (int i = 0; i < 5; i++)
        cr_assert_lt(seconds_of(RS_LOCK_BUSY), 0.5);
    let_go();
    seconds_of(RS_LOCK_INHERITED);
    rs_owner_unlock(word, mine);
}

Test(owner_lock, after_a_free_lock_owners_have_their_second_again)
{
    cr_assert_geq(seconds_of(RS_LOCK_BUSY), 1);
    uint64_t owner = *word;
    *word = 0;
    cr_assert_lt(seconds_of(RS_LOCK_TAKEN), 0.5);
    *word = owner;
    cr_assert_geq(seconds_of(RS_LOCK_BUSY), 1);
}
