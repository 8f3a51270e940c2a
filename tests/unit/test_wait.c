/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits of a tied process for a producer that does not end.
 */
#include "rank/wait.h"

#include "test_store_fixture.h"

#include "base/state.h"

#include <pthread.h>
#include <signal.h>

static struct fixture f;
static struct rs_node *node;
static pid_t producer;
static struct rs_place place;
static struct rs_wait_for what = {.known = {RS_TREAT_CANONICAL, RS_KIND_triton_key, -1, 0}};

static void hold(int channel)
{
    bool takeover;
    struct rs_slot *slot = fixture_slot(&f, "job", 1);
    int verdict = (int)rs_lease_ask(&f.store, slot, &place, &takeover);
    cr_assert_eq(write(channel, &verdict, sizeof(verdict)), (ssize_t)sizeof(verdict));
    for (;;) {
        pause();
    }
}

static void setup(void)
{
    int channel[2], verdict = -1;
    place = what.place = place_of(1);
    fixture_open(&f, "wait");
    cr_assert_eq(pipe(channel), 0);
    producer = fork();
    if (producer == 0) {
        rs_store_forked();
        hold(channel[1]);
    }
    cr_assert_eq(read(channel[0], &verdict, sizeof(verdict)), (ssize_t)sizeof(verdict));
    cr_assert_eq(verdict, RS_LEASE_PRODUCER);
    snprintf(rs_config.job, sizeof(rs_config.job), "job");
    snprintf(rs_config.segment, sizeof(rs_config.segment), "unit-wait-%d", (int)getpid());
    node = rs_node_tie();
    cr_assert_not_null(node);
    cr_assert_not_null(node->slot);
}

static void teardown(void)
{
    kill(producer, SIGKILL);
    waitpid(producer, NULL, 0);
    fixture_close(&f);
}

TestSuite(wait, .init = setup, .fini = teardown, .timeout = 60);

static const uint64_t second = 1000000000;

static uint64_t counter(enum rs_counter counter)
{
    return atomic_load(&node->slot->counters[counter]);
}

static enum rs_waited wait_once(void)
{
    return rs_wait(node, &what);
}

static void *wait_thread(void *arg)
{
    *(enum rs_waited *)arg = wait_once();
    return NULL;
}

Test(wait, the_sum_of_two_threads_is_bounded)
{
    enum rs_waited first, second_one;
    pthread_t thread;
    rs_config.wait_s = 2;
    pthread_create(&thread, NULL, wait_thread, &first);
    second_one = wait_once();
    pthread_join(thread, NULL);
    cr_assert_eq(second_one, RS_WAITED_OVER);
    cr_assert_eq(first, RS_WAITED_OVER);
    uint64_t sum = counter(RS_C_wait_ns);
    cr_assert(sum >= 2 * second - second / 100 && sum < 3 * second + second / 2,
              "%llu ns: each thread waited for itself", (unsigned long long)sum);
    cr_assert(counter(RS_C_wait_timeouts) >= 1);
}

Test(wait, never_again_after_a_timeout)
{
    rs_config.wait_s = 1;
    cr_assert_eq(wait_once(), RS_WAITED_OVER);
    cr_assert_eq(counter(RS_C_wait_timeouts), 1);
    uint64_t sum = counter(RS_C_wait_ns);
    rs_wait_produced();
    rs_config.wait_s = 100;
    cr_assert_eq(wait_once(), RS_WAITED_NOT);
    cr_assert_eq(counter(RS_C_wait_ns), sum);
    cr_assert_eq(counter(RS_C_wait_timeouts), 1, "no wait, no timeout");
}

static bool never(void *context)
{
    (void)context;
    return false;
}

/* A wait for an autotuning result leaves half of what there is to graphs, and is no timeout. */
Test(wait, results_leave_half)
{
    rs_config.wait_s = 4;
    what.there = never;
    cr_assert_eq(wait_once(), RS_WAITED_OVER);
    uint64_t results = counter(RS_C_wait_ns);
    cr_assert(results >= 2 * second - second / 100 && results < 3 * second, "%llu ns",
              (unsigned long long)results);
    cr_assert_eq(wait_once(), RS_WAITED_NOT, "nothing is left for results");
    cr_assert_eq(counter(RS_C_wait_timeouts), 0);
    what.there = NULL;
    cr_assert_eq(wait_once(), RS_WAITED_OVER);
    uint64_t graphs = counter(RS_C_wait_ns) - results;
    cr_assert(graphs >= second && graphs < 3 * second, "%llu ns", (unsigned long long)graphs);
    cr_assert_eq(counter(RS_C_wait_timeouts), 1);
}

Test(wait, none_with_nothing_to_spend)
{
    rs_config.wait_s = 0;
    cr_assert_eq(wait_once(), RS_WAITED_NOT);
    cr_assert_eq(counter(RS_C_wait_ns), 0);
}

static void nothing(int number)
{
    (void)number;
}

/* Sends SIGUSR1 until it is told to stop: the first one may come before the wait. */
static atomic_bool enough;
static void *disturb(void *arg)
{
    while (!enough) {
        pthread_kill(*(pthread_t *)arg, SIGUSR1);
        usleep(10000);
    }
    return NULL;
}

Test(wait, a_signal_ends_one_wait)
{
    struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    pthread_t thread, self = pthread_self();
    rs_config.wait_s = 1000;
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, disturb, &self);
    cr_assert_eq(wait_once(), RS_WAITED_OVER);
    cr_assert_eq(wait_once(), RS_WAITED_OVER, "it was no timeout: waits go on");
    enough = true;
    pthread_join(thread, NULL);
    cr_assert_eq(counter(RS_C_wait_interrupted), 2);
    cr_assert_eq(counter(RS_C_wait_timeouts), 0);
}

Test(wait, a_fork_child_starts_anew)
{
    rs_config.wait_s = 1;
    cr_assert_eq(wait_once(), RS_WAITED_OVER);
    cr_assert_eq(wait_once(), RS_WAITED_NOT);
    pid_t pid = fork();
    if (pid == 0) {
        rs_node_forked();
        rs_wait_forked();
        node = rs_node_tie();
        _exit(wait_once() == RS_WAITED_OVER && counter(RS_C_wait_timeouts) == 1 ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0);
}

Test(wait, a_dead_producer_means_look_again)
{
    rs_config.wait_s = 1000;
    kill(producer, SIGKILL);
    cr_assert_eq(wait_once(), RS_WAITED_AGAIN);
    cr_assert_eq(counter(RS_C_wait_timeouts), 0);
}
