/* SPDX-License-Identifier: Apache-2.0
 *
 * What is seen of a process of many threads that is killed: its threads go one by one, and none of
 * them has ended by itself.
 */
#include "store/process.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 40, KILLS = 20 };

struct victim {
    pid_t pid, tid;
    uint64_t thread_start;
    struct rs_process self;
};

static int channel[2];

static void *idle(void *arg)
{
    (void)arg;
    for (;;) {
        pause();
    }
    return NULL;
}

static void *leaves(void *arg)
{
    (void)arg;
    return NULL;
}

static void *owner(void *arg)
{
    (void)arg;
    struct victim victim = {.pid = getpid(), .tid = (pid_t)syscall(SYS_gettid)};
    victim.thread_start = rs_thread_start(victim.tid);
    victim.self = rs_process_self();
    return write(channel[1], &victim, sizeof(victim)) == sizeof(victim) ? idle(NULL) : NULL;
}

static struct victim start(void)
{
    struct victim victim = {0};
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        for (int i = 0; i < THREADS; i++) {
            pthread_create(&thread, NULL, i == THREADS / 2 ? owner : idle, NULL);
        }
        idle(NULL);
    }
    cr_assert_eq(read(channel[0], &victim, sizeof(victim)), (ssize_t)sizeof(victim));
    return victim;
}

Test(process, threads_of_a_killed_process_have_not_left_it, .timeout = 60)
{
    int seen = 0;
    cr_assert_eq(pipe(channel), 0);
    for (int i = 0; i < KILLS; i++) {
        struct victim victim = start();
        cr_assert(rs_thread_alive(victim.pid, victim.tid, victim.thread_start));
        cr_assert_not(rs_process_ending(victim.pid));
        kill(victim.pid, SIGKILL);
        while (rs_process_alive(&victim.self) == 1) {
            if (!rs_thread_alive(victim.pid, victim.tid, victim.thread_start)) {
                bool ending = rs_process_ending(victim.pid);
                cr_expect(ending || rs_process_alive(&victim.self) == 0);
                seen++;
            }
        }
        waitpid(victim.pid, NULL, 0);
    }
    cr_log_info("%d times the thread was gone and the process not yet", seen);
}

Test(process, a_thread_that_leaves_is_no_end)
{
    pthread_t thread;
    pthread_create(&thread, NULL, leaves, NULL);
    pthread_join(thread, NULL);
    cr_assert_not(rs_process_ending(getpid()));
    cr_assert_not(rs_process_ending(0));
}
