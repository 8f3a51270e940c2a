/* SPDX-License-Identifier: Apache-2.0
 *
 * The options with which a program has PTX compiled, read for a key. Thread and fork safe, no
 * memory, errno preserved.
 */
#ifndef RS_IMAGE_JIT_H
#define RS_IMAGE_JIT_H

#include "image/reader.h"

#include <stdint.h>

enum { RS_JIT_MAX = 8 };

/* As the program gave them, in its order; a key of plain bytes. What is unused is 0. */
struct rs_jit {
    uint32_t count;
    uint32_t option[RS_JIT_MAX];
    uint32_t value[RS_JIT_MAX];
};

/* Reads COUNT options and values, which may be anything. False: one of them is not in jit.def, they
 * are too many, or can't be read. */
bool rs_jit_read(struct rs_reader *reader, unsigned count, const unsigned *options,
                 void *const *values, struct rs_jit *jit);

#endif
