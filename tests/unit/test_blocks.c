/* SPDX-License-Identifier: Apache-2.0
 *
 * The arena's allocator against an array of bytes.
 */
#include "store/blocks.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, HELD = 512 };

static _Atomic uint64_t bits[MOST / 64];
static _Atomic uint32_t hand;
static struct rs_blocks blocks = {.bits = bits, .hand = &hand};

static void start(uint32_t count)
{
    memset((void *)bits, 0, sizeof(bits));
    atomic_store(&hand, 0);
    blocks.count = count;
}

Test(blocks, one_by_one)
{
    start(130);
    for (uint32_t i = 0; i < 130; i++) {
        cr_assert_eq(rs_blocks_take(&blocks, 1), i);
    }
    cr_assert_eq(rs_blocks_take(&blocks, 1), RS_NO_BLOCK);
    rs_blocks_give(&blocks, 64, 3);
    cr_assert_eq(rs_blocks_take(&blocks, 4), RS_NO_BLOCK);
    cr_assert_eq(rs_blocks_take(&blocks, 3), 64);
}

Test(blocks, all_at_once)
{
    start(200);
    cr_assert_eq(rs_blocks_take(&blocks, 0), RS_NO_BLOCK);
    cr_assert_eq(rs_blocks_take(&blocks, 201), RS_NO_BLOCK);
    cr_assert_eq(rs_blocks_take(&blocks, 200), 0);
    cr_assert_eq(rs_blocks_take(&blocks, 1), RS_NO_BLOCK);
}

Test(blocks, outside)
{
    start(100);
    rs_blocks_give(&blocks, 99, 2);
    rs_blocks_give(&blocks, UINT32_MAX, UINT32_MAX);
    cr_assert_not(rs_blocks_mark(&blocks, 99, 2));
    cr_assert_not(rs_blocks_mark(&blocks, 100, 1));
    cr_assert_not(rs_blocks_mark(&blocks, 0, 0));
    cr_assert(rs_blocks_mark(&blocks, 99, 1));
    cr_assert_not(rs_blocks_mark(&blocks, 98, 2));
    cr_assert_eq(rs_blocks_take(&blocks, 99), 0);
}

/* The hand may be anything. */
Test(blocks, hand)
{
    start(100);
    atomic_store(&hand, UINT32_MAX);
    cr_assert_eq(rs_blocks_take(&blocks, 60), 0);
    atomic_store(&hand, 50);
    cr_assert_eq(rs_blocks_take(&blocks, 40), 60);
    rs_blocks_give(&blocks, 10, 30);
    cr_assert_eq(rs_blocks_take(&blocks, 30), 10, "it goes round");
}

struct held {
    uint32_t at, size;
};

static bool fits(const unsigned char *model, uint32_t count, uint32_t size)
{
    uint32_t run = 0;
    for (uint32_t i = 0; i < count && run < size; i++) {
        run = model[i] ? 0 : run + 1;
    }
    return run >= size;
}

static void check_bits(const unsigned char *model)
{
    for (uint32_t i = 0; i < MOST; i++) {
        cr_assert_eq(atomic_load(&bits[i / 64]) >> i % 64 & 1, model[i], "granule %u", i);
    }
}

/* The free runs are just the granules that nobody has. */
static void check_runs(const unsigned char *model)
{
    uint32_t size, at = 0, last = 0;
    while ((at = rs_blocks_free(&blocks, last, &size)) != RS_NO_BLOCK) {
        cr_assert_gt(size, 0);
        for (uint32_t i = last; i < at + size; i++) {
            cr_assert_eq(model[i], i < at, "granule %u", i);
        }
        last = at + size;
    }
    for (uint32_t i = last; i < blocks.count; i++) {
        cr_assert(model[i]);
    }
}

static void random_round(unsigned seed)
{
    unsigned char model[MOST] = {0};
    struct held held[HELD];
    unsigned count = 0;
    srandom(seed);
    start(1 + (uint32_t)random() % MOST);
    uint32_t largest = random() % 2 ? 8 : blocks.count;
    for (int step = 0; step < 2000; step++) {
        if (count < HELD && random() % 3) {
            uint32_t size = 1 + (uint32_t)random() % largest;
            uint32_t at = rs_blocks_take(&blocks, size);
            cr_assert_eq(at != RS_NO_BLOCK, fits(model, blocks.count, size), "seed %u", seed);
            for (uint32_t i = 0; at != RS_NO_BLOCK && i < size; i++) {
                cr_assert_lt(at + i, blocks.count, "seed %u", seed);
                cr_assert_not(model[at + i], "seed %u: given out twice", seed);
                model[at + i] = 1;
            }
            if (at != RS_NO_BLOCK) {
                held[count++] = (struct held){at, size};
            }
        } else if (count > 0) {
            unsigned pick = (unsigned)random() % count;
            rs_blocks_give(&blocks, held[pick].at, held[pick].size);
            memset(model + held[pick].at, 0, held[pick].size);
            held[pick] = held[--count];
        }
    }
    check_bits(model);
    check_runs(model);
    /* The same bits made anew, as after a death. */
    memset((void *)bits, 0, sizeof(bits));
    for (unsigned i = 0; i < count; i++) {
        cr_assert(rs_blocks_mark(&blocks, held[i].at, held[i].size));
        cr_assert_not(rs_blocks_mark(&blocks, held[i].at, 1));
    }
    check_bits(model);
}

Test(blocks, random_against_a_model)
{
    for (unsigned seed = 1; seed <= 200; seed++) {
        random_round(seed);
    }
}
