/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver that only remembers: every function of cuda_api.def, made from the table. A test tells
 * it what to answer and reads what it was asked.
 */
#ifndef TESTS_PRELOAD_CUDA_FAKE_H
#define TESTS_PRELOAD_CUDA_FAKE_H

#include <stdint.h>

/* What shim/hook/cuda_api.def calls roles. */
enum role {
    ROLE_image,
    ROLE_file,
    ROLE_unload,
    ROLE_lookup,
    ROLE_linking,
    ROLE_linked,
    ROLE_query,
    ROLE_capture,
    ROLE_captured
};

enum { FAKE_ARGUMENTS = 8, FAKE_TRACE = 512 };

struct fake {
    /* What the next calls answer, in this thread. */
    unsigned result;  /* 0: success */
    unsigned slow_ms; /* how long they take */
    unsigned within; /* what a load calls meanwhile: 1 by dlsym on itself, 2 by its exported name */
    unsigned writes; /* 1: even a failing call has written where its result would go */
    const char *failing;     /* NULL, or the one function that fails; "ELF": loads of a cubin */
    unsigned failing_result; /* with this */
    const void *linked;      /* what the linker makes; NULL: nothing that can be read */
    uint64_t linked_size;
    char *overwritten; /* NULL, or what another thread changes while the linker reads */
    unsigned minor;    /* compute capability 9.MINOR of device 0, which is the current one */
    unsigned second;   /* 0: there is no device 1; else it is 9.(SECOND - 1) */
    /* What they were asked, in this thread. */
    const char *name; /* of the latest function */
    unsigned calls;
    unsigned count; /* of its arguments */
    uint64_t arguments[FAKE_ARGUMENTS];
    unsigned asked;         /* questions about devices, which no test asks itself */
    char trace[FAKE_TRACE]; /* the functions called, behind one another; a test may empty it */
};

/* The calling thread's. Not a name of the driver. */
typedef struct fake *fake_state_function(void);

/* The driver's own function by its exported name, whoever stands in front of it. */
typedef void *fake_function_function(const char *name);

#endif
