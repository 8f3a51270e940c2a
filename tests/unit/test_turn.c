/* SPDX-License-Identifier: Apache-2.0 */
#include "test_artifact_fixture.h"

#include "store/process.h"
#include "store/turn.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

static struct fixture f;
static struct rs_slot *slot;
static const struct rs_origin origin = {.dev = 1, .ino = 2, .job = RS_NO_JOB};
static const uint64_t second = 1000000000, soon = 50000000;

static void setup(void)
{
    fixture_open(&f, "turn");
    slot = fixture_slot(&f, "job", 0);
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(turn, .init = setup, .fini = teardown, .timeout = 60);

static bool take(struct rs_slot *own, unsigned number, uint64_t patience, struct rs_turn *turn)
{
    struct rs_artifact_key key = artifact_key(number);
    return rs_turn_take(&f.store, own, &key, &origin, patience, turn);
}

Test(turn, one_has_it_until_he_ends_it)
{
    struct rs_turn mine, other;
    cr_assert(take(slot, 1, 0, &mine));
    cr_assert(!take(slot, 1, 0, &other), "another thread");
    rs_turn_end(&mine);
    cr_assert(take(slot, 1, 0, &other));
    rs_turn_end(&other);
    cr_assert_eq(atomic_load(other.word), 0);
}

Test(turn, keys_have_turns_of_their_own)
{
    struct rs_turn turns[2];
    unsigned other = 2;
    cr_assert(take(slot, 1, 0, &turns[0]));
    while (!take(slot, other, 0, &turns[1])) { /* one in 256 falls on the same */
        other++;
    }
    cr_assert_neq(turns[0].word, turns[1].word);
}

static uint64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * second + (uint64_t)at.tv_nsec;
}

Test(turn, patience_ends)
{
    struct rs_turn mine, other;
    cr_assert(take(slot, 1, 0, &mine));
    uint64_t begin = now();
    cr_assert(!take(slot, 1, soon, &other));
    cr_assert_geq(now() - begin, soon);
}

/* A child takes the turn and dies with it. */
Test(turn, the_dead_lose_it)
{
    struct rs_turn turn;
    IN_CHILD({
        struct rs_turn own;
        struct rs_slot *child = fixture_slot(&f, "job", 1);
        cr_assert(take(child, 1, 0, &own));
    });
    cr_assert(take(slot, 1, 30 * second, &turn));
}

/* Words of owners in other pid namespaces: nothing can be said, so they have until the end. */
Test(turn, the_foreign_have_it_until_the_end)
{
    struct rs_turn turn;
    cr_assert(take(slot, 1, 0, &turn));
    struct rs_process self = rs_process_self();
    self.space ^= 1;
    uint64_t foreign = rs_process_tag(&self);
    cr_assert_eq(rs_tag_alive(foreign), -1);
    atomic_store(turn.word, foreign);
    uint64_t begin = now();
    cr_assert(take(slot, 1, soon, &turn));
    cr_assert_geq(now() - begin, soon);
}

static void handler(int number)
{
    (void)number;
}

static void *interrupt(void *thread)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 1000; i++) { /* one of them falls into a pause */
        nanosleep(&pause, NULL);
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
    }
    return NULL;
}

Test(turn, a_signal_ends_the_wait)
{
    struct sigaction action = {.sa_handler = handler};
    pthread_t self = pthread_self(), other;
    struct rs_turn mine, turn;
    sigaction(SIGUSR1, &action, NULL);
    cr_assert(take(slot, 1, 0, &mine));
    uint64_t begin = now();
    cr_assert_eq(pthread_create(&other, NULL, interrupt, &self), 0);
    cr_assert(!take(slot, 1, 50 * second, &turn));
    cr_assert_lt(now() - begin, 40 * second);
    pthread_join(other, NULL);
}

/* Eight processes take turns at a sum that only one at a time may change. */
Test(turn, keeps_processes_apart)
{
    enum { PROCESSES = 8, EACH = 50 };
    volatile unsigned *sum =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() == 0) {
            rs_store_forked();
            struct rs_slot *own = fixture_slot(&f, "job", i);
            for (int turn = 0; turn < EACH; turn++) {
                struct rs_turn mine;
                if (!take(own, 1, 50 * second, &mine)) {
                    _exit(1);
                }
                unsigned was = *sum;
                sched_yield();
                *sum = was + 1;
                rs_turn_end(&mine);
            }
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        wait(&status);
        cr_assert_eq(status, 0);
    }
    cr_assert_eq(*sum, PROCESSES * EACH);
}
