/* SPDX-License-Identifier: Apache-2.0
 *
 * Leases within one process and its fork children: who is elected, who waits, what ends a lease.
 * Deaths at every step are tests/preload/lease.
 */
#include "test_store_fixture.h"

#include "store/lease_table.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

static struct fixture f;
static struct rs_slot *slot;

static void setup(void)
{
    fixture_open(&f, "lease");
    slot = fixture_slot(&f, "job", 0);
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(lease, .init = setup, .fini = teardown, .timeout = 60);

static const uint64_t second = 1000000000;

static enum rs_lease_verdict ask(const struct rs_place *place)
{
    bool takeover;
    return rs_lease_ask(&f.store, slot, place, &takeover);
}

static enum rs_wait_end wait_ns(const struct rs_place *place, uint64_t budget)
{
    uint64_t waited;
    return rs_lease_wait(&f.store, slot, place, budget, &waited);
}

/* Asks in a thread of its own, which then ends. */
struct question {
    struct rs_place place;
    enum rs_lease_verdict verdict;
};

static void *ask_thread(void *arg)
{
    struct question *question = arg;
    question->verdict = ask(&question->place);
    return NULL;
}

static enum rs_lease_verdict ask_elsewhere(const struct rs_place *place)
{
    struct question question = {.place = *place};
    pthread_t thread;
    pthread_create(&thread, NULL, ask_thread, &question);
    pthread_join(thread, NULL);
    return question.verdict;
}

/* Another process of JOB asks. */
static enum rs_lease_verdict ask_in_child(const struct rs_place *place, const char *job, bool die)
{
    int channel[2];
    int verdict = -1;
    cr_assert_eq(pipe(channel), 0);
    pid_t pid = fork();
    if (pid == 0) {
        rs_store_forked();
        slot = fixture_slot(&f, job, 1);
        verdict = (int)ask(place);
        cr_assert_eq(write(channel[1], &verdict, sizeof(verdict)), (ssize_t)sizeof(verdict));
        if (die) {
            raise(SIGKILL);
        }
        rs_lease_next_lookup(&f.store, slot, RS_LEASE_AOT);
        _exit(0);
    }
    cr_assert_eq(read(channel[0], &verdict, sizeof(verdict)), (ssize_t)sizeof(verdict));
    waitpid(pid, NULL, 0);
    close(channel[0]);
    close(channel[1]);
    return (enum rs_lease_verdict)verdict;
}

Test(lease, stored)
{
    struct rs_place place = place_of(1), other = place_of(2);
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER);
    cr_assert(rs_lease_held(&f.store, slot));
    cr_assert_neq(rs_lease_taken_ns(&f.store, slot, &place), 0);
    cr_assert_eq(rs_lease_taken_ns(&f.store, slot, &other), 0);
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER, "asking again changes nothing");
    cr_assert_eq(ask_elsewhere(&place), RS_LEASE_WAIT, "another thread is another owner");
    cr_assert_eq(wait_ns(&place, 0), RS_WAIT_TIMEOUT);
    cr_assert(rs_lease_stored(&f.store, slot, &place));
    cr_assert_not(rs_lease_stored(&f.store, slot, &place));
    cr_assert_not(rs_lease_held(&f.store, slot));
    cr_assert_eq(wait_ns(&place, second), RS_WAIT_ENDED);
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER, "removed later: a new lease");
}

Test(lease, places_differ_in_each_part)
{
    struct rs_place place = place_of(1), other = place;
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER);
    other.dev++;
    cr_assert_eq(ask_elsewhere(&other), RS_LEASE_PRODUCER);
    other = place;
    other.ino++;
    cr_assert_eq(ask_elsewhere(&other), RS_LEASE_PRODUCER);
    other = place;
    other.key.bytes[31] ^= 2;
    cr_assert_eq(ask_elsewhere(&other), RS_LEASE_PRODUCER);
    other = place;
    other.kind = RS_LEASE_FX;
    cr_assert_eq(ask_elsewhere(&other), RS_LEASE_PRODUCER);
    cr_assert_eq(ask_elsewhere(&place), RS_LEASE_WAIT);
}

Test(lease, failed)
{
    struct rs_place place = place_of(1);
    cr_assert_not(rs_lease_failed(&f.store, slot, &place));
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER);
    cr_assert(rs_lease_failed(&f.store, slot, &place));
    cr_assert_eq(ask(&place), RS_LEASE_UNPRODUCTIVE);
    cr_assert_eq(wait_ns(&place, second), RS_WAIT_UNPRODUCTIVE);
    cr_assert_eq(ask_in_child(&place, "job", false), RS_LEASE_UNPRODUCTIVE);
    cr_assert_eq(ask_in_child(&place, "other job", false), RS_LEASE_PRODUCER, "a mark is a job's");
}

Test(lease, next_lookup_ends_same_and_inner_kinds)
{
    struct rs_place triton = place_of(1), fx = place_of(2), aot = place_of(3);
    fx.kind = RS_LEASE_FX;
    aot.kind = RS_LEASE_AOT;
    cr_assert_eq(ask(&aot), RS_LEASE_PRODUCER);
    cr_assert_eq(ask(&fx), RS_LEASE_PRODUCER);
    cr_assert_eq(ask(&triton), RS_LEASE_PRODUCER);
    cr_assert_eq(rs_lease_next_lookup(&f.store, slot, RS_LEASE_TRITON), 1);
    cr_assert_eq(ask(&triton), RS_LEASE_UNPRODUCTIVE);
    struct rs_place inner = place_of(4);
    cr_assert_eq(ask(&inner), RS_LEASE_PRODUCER);
    cr_assert_eq(rs_lease_next_lookup(&f.store, slot, RS_LEASE_FX), 2);
    cr_assert_eq(ask(&inner), RS_LEASE_UNPRODUCTIVE);
    cr_assert_eq(ask(&fx), RS_LEASE_UNPRODUCTIVE);
    cr_assert(rs_lease_held(&f.store, slot), "the outer one goes on");
    cr_assert(rs_lease_stored(&f.store, slot, &aot));
    cr_assert_eq(rs_lease_next_lookup(&f.store, slot, RS_LEASE_AOT), 0);
}

Test(lease, asking_for_another_of_the_same_kind_ends_the_first)
{
    struct rs_place first = place_of(1), next = place_of(2);
    cr_assert_eq(ask(&first), RS_LEASE_PRODUCER);
    cr_assert_eq(ask(&next), RS_LEASE_PRODUCER);
    cr_assert_eq(ask(&first), RS_LEASE_UNPRODUCTIVE);
    cr_assert_eq(ask_elsewhere(&next), RS_LEASE_WAIT);
}

struct holder {
    struct rs_place place;
    pthread_barrier_t taken, over;
};

static void *hold_thread(void *arg)
{
    struct holder *holder = arg;
    cr_assert_eq(ask(&holder->place), RS_LEASE_PRODUCER);
    pthread_barrier_wait(&holder->taken);
    pthread_barrier_wait(&holder->over);
    return NULL;
}

static pthread_t hold_elsewhere(struct holder *holder, const struct rs_place *place)
{
    pthread_t thread;
    holder->place = *place;
    pthread_barrier_init(&holder->taken, NULL, 2);
    pthread_barrier_init(&holder->over, NULL, 2);
    pthread_create(&thread, NULL, hold_thread, holder);
    pthread_barrier_wait(&holder->taken);
    return thread;
}

Test(lease, lock_order)
{
    struct rs_place fx = place_of(1), triton = place_of(2), mine = place_of(3);
    struct holder outer, inner;
    fx.kind = RS_LEASE_FX;
    pthread_t a = hold_elsewhere(&outer, &fx), b = hold_elsewhere(&inner, &triton);
    cr_assert_eq(ask(&mine), RS_LEASE_PRODUCER);
    cr_assert_eq(ask(&fx), RS_LEASE_NONE, "holds an inner kind, must not wait for an outer");
    cr_assert_eq(ask(&triton), RS_LEASE_NONE, "nor for the same");
    cr_assert(rs_lease_stored(&f.store, slot, &mine), "and has lost nothing");
    mine.kind = RS_LEASE_FX;
    cr_assert_eq(ask(&mine), RS_LEASE_PRODUCER);
    cr_assert_eq(ask(&triton), RS_LEASE_WAIT, "an inner kind may be waited for");
    pthread_barrier_wait(&outer.over);
    pthread_barrier_wait(&inner.over);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

Test(lease, any_thread_may_store)
{
    struct rs_place place = place_of(1);
    struct holder holder;
    pthread_t thread = hold_elsewhere(&holder, &place);
    cr_assert(rs_lease_stored(&f.store, slot, &place));
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER);
    pthread_barrier_wait(&holder.over);
    pthread_join(thread, NULL);
}

Test(lease, another_process_may_store)
{
    struct rs_place place = place_of(1);
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER);
    IN_CHILD({
        struct rs_slot *other = fixture_slot(&f, "job", 1);
        cr_assert_not(rs_lease_failed(&f.store, other, &place));
        cr_assert_not(rs_lease_stored(&f.store, other, &place), "did not hold it");
    });
    cr_assert_not(rs_lease_held(&f.store, slot), "but the artifact is there");
    cr_assert_eq(wait_ns(&place, second), RS_WAIT_ENDED);
}

Test(lease, exit_of_the_thread)
{
    struct rs_place place = place_of(1);
    cr_assert_eq(ask_elsewhere(&place), RS_LEASE_PRODUCER);
    cr_assert_eq(ask(&place), RS_LEASE_UNPRODUCTIVE);
}

Test(lease, exit_of_the_thread_while_one_waits)
{
    struct rs_place place = place_of(1);
    struct holder holder;
    pthread_t thread = hold_elsewhere(&holder, &place);
    cr_assert_eq(ask(&place), RS_LEASE_WAIT);
    pthread_barrier_wait(&holder.over);
    pthread_join(thread, NULL);
    cr_assert_eq(wait_ns(&place, 10 * second), RS_WAIT_UNPRODUCTIVE);
}

Test(lease, death_once_and_twice)
{
    struct rs_place place = place_of(1);
    cr_assert_eq(ask_in_child(&place, "job", true), RS_LEASE_PRODUCER);
    bool takeover;
    cr_assert_eq(rs_lease_ask(&f.store, slot, &place, &takeover), RS_LEASE_PRODUCER);
    cr_assert(takeover);
    cr_assert(rs_lease_stored(&f.store, slot, &place));

    place = place_of(2);
    cr_assert_eq(ask_in_child(&place, "job", true), RS_LEASE_PRODUCER);
    cr_assert_eq(ask_in_child(&place, "job", true), RS_LEASE_PRODUCER, "takes over and dies");
    cr_assert_eq(ask(&place), RS_LEASE_UNPRODUCTIVE);
}

Test(lease, death_in_a_former_job)
{
    struct rs_place place = place_of(1);
    bool takeover;
    cr_assert_eq(ask_in_child(&place, "former", true), RS_LEASE_PRODUCER);
    cr_assert_eq(ask_in_child(&place, "former", true), RS_LEASE_PRODUCER, "another run");
    cr_assert_eq(rs_lease_ask(&f.store, slot, &place, &takeover), RS_LEASE_PRODUCER);
    cr_assert_not(takeover);
}

Test(lease, waiting_ends_with_death)
{
    struct rs_place place = place_of(1);
    cr_assert_eq(ask_in_child(&place, "job", true), RS_LEASE_PRODUCER);
    cr_assert_eq(wait_ns(&place, 10 * second), RS_WAIT_OWNER_DIED);
    cr_assert_eq(ask_in_child(&place, "job", true), RS_LEASE_PRODUCER);
    cr_assert_eq(wait_ns(&place, 10 * second), RS_WAIT_UNPRODUCTIVE);
}

Test(lease, fork_child_owns_nothing)
{
    struct rs_place place = place_of(1);
    cr_assert_eq(ask(&place), RS_LEASE_PRODUCER);
    IN_CHILD({
        cr_assert_not(rs_lease_held(&f.store, NULL));
        cr_assert_eq(rs_lease_next_lookup(&f.store, NULL, RS_LEASE_AOT), 0);
        slot = fixture_slot(&f, "job", 1);
        cr_assert_not(rs_lease_held(&f.store, slot));
        cr_assert_eq(rs_lease_next_lookup(&f.store, slot, RS_LEASE_AOT), 0);
        cr_assert_eq(ask(&place), RS_LEASE_WAIT);
    });
    pid_t pid = fork(); /* and a child that was not told */
    if (pid == 0) {
        _exit(rs_lease_next_lookup(&f.store, slot, RS_LEASE_AOT) == 0 ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    cr_assert_eq(status, 0);
    cr_assert(rs_lease_held(&f.store, slot));
}

Test(lease, without_slot_or_segment)
{
    struct rs_place place = place_of(1);
    struct rs_store none = {0};
    bool takeover;
    uint64_t waited;
    cr_assert_eq(rs_lease_ask(&f.store, NULL, &place, &takeover), RS_LEASE_NONE);
    cr_assert_eq(rs_lease_ask(&none, slot, &place, &takeover), RS_LEASE_NONE);
    cr_assert_eq(rs_lease_wait(&none, slot, &place, second, &waited), RS_WAIT_UNPRODUCTIVE);
    cr_assert_not(rs_lease_stored(&f.store, NULL, &place));
}

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    (void)number;
    caught = 1;
}

Test(lease, signal_ends_the_wait)
{
    struct rs_place place = place_of(1);
    struct holder holder;
    pthread_t thread = hold_elsewhere(&holder, &place);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct itimerspec soon = {.it_value = {.tv_nsec = 100000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    sigset_t set;
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&set);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
    uint64_t waited;
    cr_assert_eq(rs_lease_wait(&f.store, slot, &place, 20 * second, &waited), RS_WAIT_SIGNAL);
    cr_assert_eq(caught, 1);
    cr_assert_lt(waited, second);
    pthread_barrier_wait(&holder.over);
    pthread_join(thread, NULL);
}

static void *store_soon(void *arg)
{
    struct timespec soon = {.tv_nsec = 100000000};
    nanosleep(&soon, NULL);
    cr_assert(rs_lease_stored(&f.store, slot, arg));
    return NULL;
}

Test(lease, waiters_are_woken_at_once)
{
    uint64_t shortest = UINT64_MAX; /* the machine may be busy in one of five */
    for (unsigned i = 0; i < 5; i++) {
        struct rs_place place = place_of(i);
        struct holder holder;
        pthread_t owner = hold_elsewhere(&holder, &place), other;
        uint64_t waited;
        pthread_create(&other, NULL, store_soon, &place);
        cr_assert_eq(rs_lease_wait(&f.store, slot, &place, 10 * second, &waited), RS_WAIT_ENDED);
        shortest = waited < shortest ? waited : shortest;
        pthread_barrier_wait(&holder.over);
        pthread_join(owner, NULL);
        pthread_join(other, NULL);
    }
    cr_assert_lt(shortest, 300 * 1000000, "a slice would be 500 ms");
}

Test(lease, waiting_uses_no_cpu)
{
    struct rs_place place = place_of(1);
    struct holder holder;
    pthread_t thread = hold_elsewhere(&holder, &place);
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    cr_assert_eq(wait_ns(&place, 2 * second), RS_WAIT_TIMEOUT);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    int64_t used = (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec;
    cr_expect_lt(used, 20 * 1000000, "%lld ns of CPU time in 2 s", (long long)used);
    pthread_barrier_wait(&holder.over);
    pthread_join(thread, NULL);
}
