/* SPDX-License-Identifier: Apache-2.0
 *
 * The tie of a process to the segment: what is counted around it, and who inherits it.
 */
#include "rank/node.h"

#include "base/state.h"
#include "rank/count.h"
#include "rank/env.h"
#include "test_store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

static struct fixture f;

static void setup(void)
{
    fixture_open(&f, "node");
    snprintf(rs_config.segment, sizeof(rs_config.segment), "unit-node-%d", (int)getpid());
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(node, .init = setup, .fini = teardown, .timeout = 60);

static uint64_t counted(enum rs_counter counter)
{
    struct rs_slot_view slot;
    struct rs_job_view job;
    uint64_t sum = 0;
    for (unsigned i = 0; i < RS_SLOTS; i++) {
        sum += rs_slot_read(&f.store, i, &slot) ? slot.counters[counter] : 0;
    }
    for (unsigned i = 0; i < RS_JOBS; i++) {
        sum += rs_job_read(&f.store, i, &job) ? job.counters[counter] : 0;
    }
    return sum;
}

enum { THREADS = 3, ROUNDS = 120 };
static pthread_barrier_t gate;
static _Atomic(bool) stop;
static _Atomic(uint64_t) added;

/* The first counter: it is moved at once when the slot is there. */
static void *count_on(void *unused)
{
    (void)unused;
    uint64_t mine = 0;
    pthread_barrier_wait(&gate);
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        rs_count(RS_C_digest_init, 1);
        mine++;
    }
    atomic_fetch_add(&added, mine);
    return NULL;
}

Test(node, no_count_is_lost_at_the_tie)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&gate, NULL, THREADS + 1);
    for (int round = 0; round < ROUNDS; round++) {
        atomic_store(&stop, false);
        for (int i = 0; i < THREADS; i++) {
            pthread_create(&threads[i], NULL, count_on, NULL);
        }
        pthread_barrier_wait(&gate);
        cr_assert_not_null(rs_node_tie());
        atomic_store(&stop, true);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        cr_assert_eq(counted(RS_C_digest_init), added, "in round %d", round);
        rs_node_forked(); /* the next round is another process's */
    }
}

static void fork_again(void)
{
    IN_CHILD({
        rs_node_forked();
        rs_count(RS_C_views, 4);
        cr_assert_not_null(rs_node(), "a grandchild");
    });
}

Test(node, a_child_of_a_tied_process_ties_itself)
{
    cr_assert_null(rs_node(), "nothing was hashed");
    IN_CHILD({
        rs_node_forked();
        cr_assert_null(rs_node(), "not in its child either");
    });
    cr_assert_not_null(rs_node_tie());
    rs_count(RS_C_views, 1);
    IN_CHILD({
        rs_node_forked();
        rs_count(RS_C_views, 2);
        fork_again();
        cr_assert_not_null(rs_node());
    });
    cr_assert_eq(counted(RS_C_views), 7);
}

Test(node, numbers_may_come_later)
{
    struct rs_job_view job;
    rs_env_changed("RANKSHARE_JOB", "first");
    struct rs_node *node = rs_node_tie();
    cr_assert_eq(node->slot->rank, -1);
    rs_env_changed("LOCAL_RANK", "3");
    rs_node_identify();
    cr_assert_eq(node->slot->rank, 3);
    rs_env_changed("RANK", "11");
    rs_env_changed("WORLD_SIZE", "16");
    rs_env_changed("RANKSHARE_JOB", "second");
    rs_node_identify();
    cr_assert_eq(node->slot->rank, 11);
    cr_assert(rs_job_read(&f.store, 0, &job));
    cr_assert_str_eq(job.name, "first", "counters stay with the job of the first key");
    cr_assert_eq(job.world, 16);
    rs_env_changed("RANK", NULL);
    rs_node_identify();
    cr_assert_eq(node->slot->rank, 3);
}
