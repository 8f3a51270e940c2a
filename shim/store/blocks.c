/* SPDX-License-Identifier: Apache-2.0 */
#include "store/blocks.h"

#include <stdatomic.h>

enum { WORD = 64 };

static uint64_t word_at(const struct rs_blocks *blocks, uint32_t at)
{
    return atomic_load_explicit(&blocks->bits[at / WORD], memory_order_relaxed);
}

/* Length of the run of equal bits that begins at AT, at most to the end of its word or to END. */
static uint32_t run(const struct rs_blocks *blocks, uint32_t at, uint32_t end, bool *used)
{
    uint64_t word = word_at(blocks, at) >> at % WORD;
    uint32_t room = WORD - at % WORD;
    *used = word & 1;
    uint64_t other = *used ? ~word : word;
    uint32_t length = other ? (uint32_t)__builtin_ctzll(other) : room;
    length = length < room ? length : room;
    return length < end - at ? length : end - at;
}

static uint32_t find(const struct rs_blocks *blocks, uint32_t from, uint32_t end, uint32_t size)
{
    uint32_t start = from;
    for (uint32_t at = from; at < end;) {
        bool used;
        at += run(blocks, at, end, &used);
        if (used) {
            start = at;
        } else if (at - start >= size) {
            return start;
        }
    }
    return RS_NO_BLOCK;
}

static bool inside(const struct rs_blocks *blocks, uint32_t at, uint32_t size)
{
    return at < blocks->count && size <= blocks->count - at;
}

/* Sets or clears bits, a word at a time. */
static void change(const struct rs_blocks *blocks, uint32_t at, uint32_t size, bool set)
{
    while (size > 0) {
        uint32_t shift = at % WORD, length = WORD - shift < size ? WORD - shift : size;
        uint64_t mask = (length == WORD ? UINT64_MAX : (UINT64_C(1) << length) - 1) << shift;
        uint64_t word = word_at(blocks, at);
        atomic_store_explicit(&blocks->bits[at / WORD], set ? word | mask : word & ~mask,
                              memory_order_relaxed);
        at += length;
        size -= length;
    }
}

uint32_t rs_blocks_take(const struct rs_blocks *blocks, uint32_t size)
{
    if (size == 0 || size > blocks->count) {
        return RS_NO_BLOCK;
    }
    uint32_t hand = atomic_load_explicit(blocks->hand, memory_order_relaxed);
    hand = hand < blocks->count ? hand : 0;
    uint32_t at = find(blocks, hand, blocks->count, size);
    if (at == RS_NO_BLOCK) {
        uint32_t end = size < blocks->count - hand ? hand + size : blocks->count;
        at = find(blocks, 0, end, size);
    }
    if (at != RS_NO_BLOCK) {
        change(blocks, at, size, true);
        atomic_store_explicit(blocks->hand, at + size, memory_order_relaxed);
    }
    return at;
}

void rs_blocks_give(const struct rs_blocks *blocks, uint32_t at, uint32_t size)
{
    if (inside(blocks, at, size)) {
        change(blocks, at, size, false);
    }
}

uint32_t rs_blocks_free(const struct rs_blocks *blocks, uint32_t from, uint32_t *size)
{
    uint32_t start = RS_NO_BLOCK;
    for (uint32_t at = from; at < blocks->count;) {
        bool used;
        uint32_t length = run(blocks, at, blocks->count, &used);
        if (used && start != RS_NO_BLOCK) {
            *size = at - start;
            return start;
        }
        start = used || start != RS_NO_BLOCK ? start : at;
        at += length;
    }
    *size = blocks->count - (start != RS_NO_BLOCK ? start : blocks->count);
    return start;
}

bool rs_blocks_mark(const struct rs_blocks *blocks, uint32_t at, uint32_t size)
{
    if (size == 0 || !inside(blocks, at, size) ||
        find(blocks, at, at + size, size) == RS_NO_BLOCK) {
        return false;
    }
    change(blocks, at, size, true);
    return true;
}
