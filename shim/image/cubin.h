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

#include <stdbool.h>

/* The hash of what a GPU and its driver's loader make of a cubin: everything but the contents of
 * debug sections (source paths, line tables, PTX text), the compiler's command line, and where in
 * the file things lie. Two cubins with equal hashes run alike; debuggers and profilers may tell
 * them apart. False: not a cubin, or a damaged one. */
bool rs_cubin_hash(struct rs_bytes cubin, struct rs_hash128 *hash);

#endif
