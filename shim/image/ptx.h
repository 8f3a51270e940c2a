/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX text: its head, and the names of its kernels. Pure; thread and fork safe.
 */
#ifndef RS_IMAGE_PTX_H
#define RS_IMAGE_PTX_H

#include "base/bytes.h"
#include "image/arch.h"

#include <stdbool.h>

struct rs_ptx {
    struct rs_arch arch;   /* of .target */
    unsigned major, minor; /* of .version */
};

/* Whether text with these first bytes (SIZE is 1 at least) can be PTX at all: a cheap first look.
 */
bool rs_ptx_may_begin(const uint8_t *text, size_t size);

/* Reads .version and .target, which begin every PTX, behind blanks and comments. */
bool rs_ptx_head(struct rs_bytes text, struct rs_ptx *ptx);

/* The next kernel's name at or behind *AT (0 at first), which moves on; false: no more.
 * Declarations of kernels without a body count as well. */
bool rs_ptx_kernel(struct rs_bytes text, size_t *at, struct rs_bytes *name);

#endif
