/* SPDX-License-Identifier: Apache-2.0
 *
 * The arena's allocator: one bit per granule, next fit. The bits are a summary: which blocks are in
 * use follows from the objects, and the bits are made anew from those after a writer's death. Under
 * the store's lock; makes no system call.
 */
#ifndef RS_STORE_BLOCKS_H
#define RS_STORE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define RS_NO_BLOCK UINT32_MAX

struct rs_blocks {
    _Atomic uint64_t *bits;
    uint32_t count;         /* granules that may be given out */
    _Atomic uint32_t *hand; /* where the next search begins */
};

/* SIZE granules (not 0) in one piece: the first one's number, or RS_NO_BLOCK. */
uint32_t rs_blocks_take(const struct rs_blocks *blocks, uint32_t size);
/* Gives them back. What lies outside is passed over. */
void rs_blocks_give(const struct rs_blocks *blocks, uint32_t at, uint32_t size);
/* The first run of free granules at or behind FROM, its length in *SIZE; RS_NO_BLOCK: none. */
uint32_t rs_blocks_free(const struct rs_blocks *blocks, uint32_t from, uint32_t *size);
/* Marks them as in use; false when they lie outside or one is in use already (nothing is marked
 * then). */
bool rs_blocks_mark(const struct rs_blocks *blocks, uint32_t at, uint32_t size);

#endif
