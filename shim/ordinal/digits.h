/* SPDX-License-Identifier: Apache-2.0
 *
 * Digits that may be an ordinal. Text is long, digits are frequent in it and ordinals rare: this is
 * the filter in front of everything that looks at text. Pure; thread and fork safe.
 */
#ifndef RS_ORDINAL_DIGITS_H
#define RS_ORDINAL_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

/* A walk over DATA[.., END). */
struct rs_digits {
    const uint8_t *data;
    uint32_t end;
    uint32_t block;  /* the bytes at work begin here */
    uint32_t next;   /* the bytes after them */
    uint64_t starts; /* bit N: a run of digits begins at BLOCK + N */
};

/* A walk from FROM to END. It may look at any byte of DATA in front of END. */
struct rs_digits rs_digits_walk(const uint8_t *data, uint32_t from, uint32_t end);

/* The next digit in front of which stands what some form of text.h ends with; false at the end.
 * What stands in front of FROM counts. The same digits are found wherever the walk began. */
bool rs_digits_next(struct rs_digits *walk, uint32_t *at);

#endif
