/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads of memory whose extent nobody tells. Every byte of an image is asked for here before it is
 * touched, so a wrong length inside an image is an answer and no crash.
 *
 * A reader belongs to one thread. It promises what was readable when it was asked: the caller keeps
 * the memory mapped, as the driver demands, too.
 */
#ifndef RS_IMAGE_READER_H
#define RS_IMAGE_READER_H

#include "base/bytes.h"

#include <stdbool.h>

struct rs_reader {
    const uint8_t *begin, *end; /* known to be readable */
    bool process;               /* the rest may be asked for */
};

/* Any address of this process. */
void rs_reader_process(struct rs_reader *reader);

/* BYTES alone. */
void rs_reader_bytes(struct rs_reader *reader, struct rs_bytes bytes);

/* Whether the SIZE bytes at AT can be read. One system call for each page that is asked for first,
 * or one for many. errno is preserved. */
bool rs_reader_has(struct rs_reader *reader, const void *at, size_t size);

/* How many bytes at AT are known to be readable. */
size_t rs_reader_left(const struct rs_reader *reader, const void *at);

#endif
