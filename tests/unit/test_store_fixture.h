/* SPDX-License-Identifier: Apache-2.0
 *
 * A segment of its own for each test, removed at the end.
 */
#ifndef RS_TEST_STORE_FIXTURE_H
#define RS_TEST_STORE_FIXTURE_H

#include "store/layout.h"
#include "store/registry.h"
#include "store/store.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
    char name[RS_SEGMENT_NAME_MAX];
    char path[RS_SEGMENT_NAME_MAX + 16];
    struct rs_store store;
};

static inline void fixture_name(struct fixture *f, const char *test)
{
    char override[64];
    snprintf(override, sizeof(override), "unit-%s-%d", test, (int)getpid());
    cr_assert(rs_store_name(f->name, geteuid(), override));
    snprintf(f->path, sizeof(f->path), "/dev/shm%s", f->name);
}

static inline void fixture_open(struct fixture *f, const char *test)
{
    fixture_name(f, test);
    cr_assert_eq(rs_store_open(f->name, true, true, &f->store), RS_STORE_OK);
}

static inline void fixture_close(struct fixture *f)
{
    rs_store_close(&f->store);
    unlink(f->path);
}

static inline struct rs_slot *fixture_slot(struct fixture *f, const char *job, int rank)
{
    struct rs_identity identity = {.job = job, .rank = rank, .world = 4};
    struct rs_slot *slot = rs_slot_claim(&f->store, &identity);
    cr_assert_not_null(slot);
    return slot;
}

/* Runs BODY in a fork child that then exits with 0, and waits for its end. */
#define IN_CHILD(body)                                                                             \
    do {                                                                                           \
        pid_t child_pid = fork();                                                                  \
        if (child_pid == 0) {                                                                      \
            rs_store_forked();                                                                     \
            body;                                                                                  \
            _exit(0);                                                                              \
        }                                                                                          \
        int child_status;                                                                          \
        cr_assert_eq(waitpid(child_pid, &child_status, 0), child_pid);                             \
        cr_assert_eq(child_status, 0);                                                             \
    } while (0)

static inline struct rs_place place_of(unsigned number)
{
    struct rs_place place = {.kind = RS_LEASE_TRITON, .dev = 7, .ino = 1000};
    memcpy(place.key.bytes + 4, &number, sizeof(number));
    return place;
}

#endif
