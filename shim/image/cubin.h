/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cubin holds. The bytes must be the whole cubin, readable, and no longer than it
 * (image.h finds the length of one that comes without). Everything here is thread and fork safe,
 * takes its memory from an arena of its own, preserves errno, and may be given any bytes.
 */
#ifndef RS_IMAGE_CUBIN_H
#define RS_IMAGE_CUBIN_H

#include "base/bytes.h"
#include "base/hash128.h"
#include "image/arch.h"

#include <stdbool.h>

enum { RS_VERSION = 64 };

/* The hash of what a GPU and its driver's loader make of a cubin: everything but the contents of
 * debug sections (source paths, line tables, PTX text), the compiler's command line, and where in
 * the file things lie. Two cubins with equal hashes run alike; debuggers and profilers may tell
 * them apart. False: not a cubin, or a damaged one. */
bool rs_cubin_hash(struct rs_bytes cubin, struct rs_hash128 *hash);

/* What one cubin says of itself. Code for sm_100f is code for sm_100 here: it runs on the same
 * devices, and nothing in it says so. */
struct rs_cubin {
    struct rs_arch arch;
    unsigned abi;             /* 8 from CUDA 13 on and for 10.0 and later, else 7 */
    unsigned toolkit;         /* 124: CUDA 12.4; 0: not told */
    unsigned kernels;         /* what can be launched */
    unsigned functions;       /* other code that others may call */
    bool relocatable;         /* for a linker, not for the driver's loader */
    bool debug;               /* has line tables or more */
    char tool[16];            /* "ptxas", or "" where it doesn't say */
    char version[RS_VERSION]; /* the line with its version, or "" */
};

/* What a launch of one kernel takes. Sizes are in bytes. */
struct rs_kernel {
    const char *name; /* as the driver knows it; valid during the call */
    unsigned registers;
    uint64_t shared;    /* static shared memory; from 9.0 on with the system's own, mostly 1 kB */
    uint64_t stack;     /* local memory of a thread: its frame, without those of callees */
    uint64_t constants; /* the constant bank that holds its parameters */
    uint64_t code;
    unsigned max_threads; /* of a block, by __launch_bounds__ and its kin; 0: not bounded */
};

/* Fills CUBIN and calls EACH (may be NULL) for each kernel, in the order of the file, until it
 * returns false. False: not a cubin, or a damaged one; EACH may have been called. */
bool rs_cubin_read(struct rs_bytes cubin, struct rs_cubin *read,
                   bool (*each)(void *context, const struct rs_kernel *kernel), void *context);

#endif
