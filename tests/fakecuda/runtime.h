/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pretend runtime is compiled once per CUDA major version: RUNTIME_MAJOR is 12 or 13.
 * Structures that differ between them are written by offset, so no CUDA header is needed.
 */
#ifndef FAKECUDA_RUNTIME_H
#define FAKECUDA_RUNTIME_H

#include "fake.h"

#ifndef RUNTIME_MAJOR
#define RUNTIME_MAJOR 13
#endif

int rt_done(int code);                   /* remembers an error for cudaGetLastError */
int rt_fail(const char *call, int code); /* the same, with a line in the log */

struct rt_dim3 {
    unsigned x, y, z;
};

#endif
