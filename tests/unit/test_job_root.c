/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory that a job's leases are about.
 */
#include "unit/test_store_fixture.h"

#include "store/job_root.h"

#include <stdatomic.h>

static struct fixture f;

static struct rs_job_root *root_of(const struct rs_slot *slot, enum rs_root root)
{
    return &rs_jobs(f.store.segment)[slot->job].roots[root];
}

static uint64_t asked(const struct rs_slot *slot, enum rs_root root, uint64_t ino)
{
    uint64_t dev = 1;
    cr_assert(rs_job_root(&f.store, slot, root, &dev, &ino));
    cr_assert_eq(dev, 1);
    return ino;
}

Test(job_root, the_first_one_counts)
{
    fixture_open(&f, "job-root");
    struct rs_slot *slot = fixture_slot(&f, "a", 0);
    cr_assert_eq(asked(slot, RS_ROOT_INDUCTOR, 10), 10);
    cr_assert_eq(asked(slot, RS_ROOT_INDUCTOR, 10), 10);
    cr_assert_not(rs_job_several(&f.store, slot, RS_ROOT_INDUCTOR));
    cr_assert_eq(asked(slot, RS_ROOT_INDUCTOR, 11), 10);
    cr_assert(rs_job_several(&f.store, slot, RS_ROOT_INDUCTOR));
    cr_assert_eq(asked(slot, RS_ROOT_INDUCTOR, 10), 10);
    cr_assert(rs_job_several(&f.store, slot, RS_ROOT_INDUCTOR));
    cr_assert_not(rs_job_several(&f.store, slot, RS_ROOT_TRITON));
    cr_assert_eq(asked(slot, RS_ROOT_TRITON, 12), 12);
    cr_assert_not(rs_job_several(&f.store, slot, RS_ROOT_TRITON));
    fixture_close(&f);
}

Test(job_root, ends_with_the_run)
{
    fixture_open(&f, "job-root");
    struct rs_slot *slot = fixture_slot(&f, "a", 0);
    asked(slot, RS_ROOT_INDUCTOR, 10);
    asked(slot, RS_ROOT_INDUCTOR, 11);
    atomic_fetch_add(&rs_jobs(f.store.segment)[slot->job].run, 7);
    cr_assert_not(rs_job_several(&f.store, slot, RS_ROOT_INDUCTOR));
    cr_assert_eq(asked(slot, RS_ROOT_INDUCTOR, 12), 12);
    cr_assert_not(rs_job_several(&f.store, slot, RS_ROOT_INDUCTOR));
    fixture_close(&f);
}

Test(job_root, a_writer_that_died)
{
    fixture_open(&f, "job-root");
    struct rs_slot *slot = fixture_slot(&f, "a", 0);
    asked(slot, RS_ROOT_INDUCTOR, 10);
    uint64_t word = atomic_load(&root_of(slot, RS_ROOT_INDUCTOR)->word), dev = 1, ino = 11;
    atomic_store(&root_of(slot, RS_ROOT_INDUCTOR)->word, word >> 32 << 32 | 1);
    cr_assert_not(rs_job_root(&f.store, slot, RS_ROOT_INDUCTOR, &dev, &ino));
    cr_assert_eq(ino, 11);
    cr_assert_not(rs_job_several(&f.store, slot, RS_ROOT_INDUCTOR));
    atomic_store(&slot->job, RS_NO_JOB);
    cr_assert_not(rs_job_root(&f.store, slot, RS_ROOT_TRITON, &dev, &ino));
    fixture_close(&f);
}

/* Many processes at once, each with a directory of its own: one answer. */
Test(job_root, at_once)
{
    enum { PROCESSES = 16, ROUNDS = 50 };
    fixture_open(&f, "job-root");
    struct rs_slot *slot = fixture_slot(&f, "a", 0);
    for (int round = 0; round < ROUNDS; round++) {
        int go[2], answers[2], answered = 0, status;
        uint64_t ino, first = 0;
        cr_assert(pipe(go) == 0 && pipe(answers) == 0);
        atomic_fetch_add(&rs_jobs(f.store.segment)[slot->job].run, 1);
        for (int i = 0; i < PROCESSES; i++) {
            if (fork() == 0) {
                char byte;
                close(go[1]);
                (void)!read(go[0], &byte, 1); /* all at the same time: when it is closed */
                ino = asked(slot, RS_ROOT_INDUCTOR, 100 + (uint64_t)i);
                _exit(write(answers[1], &ino, sizeof(ino)) != sizeof(ino));
            }
        }
        close(go[0]);
        close(go[1]);
        close(answers[1]);
        while (read(answers[0], &ino, sizeof(ino)) == sizeof(ino)) {
            first = first ? first : ino;
            cr_assert_eq(ino, first);
            answered++;
        }
        close(answers[0]);
        while (wait(&status) > 0) {
            cr_assert_eq(status, 0);
        }
        cr_assert_eq(answered, PROCESSES);
        cr_assert(first >= 100 && first < 100 + PROCESSES);
        cr_assert(rs_job_several(&f.store, slot, RS_ROOT_INDUCTOR));
    }
    fixture_close(&f);
}
