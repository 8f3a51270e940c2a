/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/digits.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { LANES = 16, BLOCK = 64, TAIL = 3 /* characters of a form that are looked at */ };

/* The forms of text_forms.def and text.c by how they end, a bit for each family. */
enum {
    COLON = 1,      /* cuda: xpu: hip: */
    EQUALS = 2,     /* device= value= index= */
    CALL = 4,       /* any name and a parenthesis */
    BRACKET = 8,    /* default_generators[ */
    SPACE = 16,     /* 'device':_ index:_ 'cuda',_ "cuda",_ cuda,_ */
    SLASH = 32,     /* /triton/ */
    CUDA = 64,      /* <name>_cuda <name>_xpu */
    STREAM_OR = 128 /* stream raw_stream semaphores_cuda_ */
};

static const uint8_t last[256] = {
    [':'] = COLON, ['='] = EQUALS, ['('] = CALL, ['['] = BRACKET,   [' '] = SPACE,
    ['/'] = SLASH, ['a'] = CUDA,   ['u'] = CUDA, ['m'] = STREAM_OR, ['_'] = STREAM_OR,
};

static const uint8_t last_but_one[256] = {
    [':'] = SPACE,
    [','] = SPACE,
    ['0' ... '9'] = CALL,
    ['A' ... 'Z'] = CALL,
    ['_'] = CALL,
    ['a'] = CALL | COLON | STREAM_OR,
    ['b' ... 'c'] = CALL,
    ['d'] = CALL | CUDA,
    ['e'] = CALL | EQUALS,
    ['f' ... 'm'] = CALL,
    ['n'] = CALL | SLASH,
    ['o'] = CALL,
    ['p'] = CALL | COLON | CUDA,
    ['q' ... 'r'] = CALL,
    ['s'] = CALL | BRACKET,
    ['t'] = CALL,
    ['u'] = CALL | COLON,
    ['v' ... 'w'] = CALL,
    ['x'] = CALL | EQUALS,
    ['y' ... 'z'] = CALL,
};

/* In front of a comma or a colon and a space; without this look at it every tuple would pass. */
static const uint8_t third_last[256] = {
    ['\''] = SPACE,
    ['"'] = SPACE,
    ['a'] = SPACE,
    ['x'] = SPACE,
};

static inline bool behind_form(const uint8_t *digit)
{
    uint8_t families = last[digit[-1]] & last_but_one[digit[-2]];
    return (families & ~SPACE) | (families & third_last[digit[-3]]);
}

/* Bit N: byte N of LANES bytes is a digit. */
#ifdef __SSE2__
static inline uint64_t digits_of(const uint8_t *bytes)
{
    __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
    __m128i value = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)bytes), zero);
    return (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(value, nine), value));
}
#else
static inline uint64_t digits_of_eight(const uint8_t *bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t eight;
    memcpy(&eight, bytes, sizeof(eight));
    eight ^= ones * '0'; /* digits become 0 to 9 */
    uint64_t above = ((eight & ones * 0x7f) + ones * (0x80 - 10)) | eight;
    uint64_t digits = ~above >> 7 & ones; /* a 1 in each byte that is a digit */
    return digits * UINT64_C(0x0102040810204080) >> 56;
}

static inline uint64_t digits_of(const uint8_t *bytes)
{
    return digits_of_eight(bytes) | digits_of_eight(bytes + 8) << 8;
}
#endif

static uint64_t digits_of_block(const uint8_t *bytes)
{
    return digits_of(bytes) | digits_of(bytes + LANES) << LANES |
           digits_of(bytes + 2 * LANES) << 2 * LANES | digits_of(bytes + 3 * LANES) << 3 * LANES;
}

/* The digits of DATA[AT, END), less than a block. The last lanes are taken together with what
 * stands in front of them, since nothing behind END may be touched. */
static uint64_t digits_of_rest(const uint8_t *data, uint32_t at, uint32_t end)
{
    uint64_t digits = 0;
    uint32_t done = at;
    for (; end - done >= LANES; done += LANES) {
        digits |= digits_of(data + done) << (done - at);
    }
    if (done < end && end >= LANES) {
        uint64_t rest = digits_of(data + end - LANES) >> (LANES - (end - done));
        return digits | rest << (done - at);
    }
    for (; done < end; done++) {
        digits |= (uint64_t)(data[done] >= '0' && data[done] <= '9') << (done - at);
    }
    return digits;
}

static bool next_block(struct rs_digits *walk)
{
    if (walk->next >= walk->end) {
        return false;
    }
    uint32_t left = walk->end - walk->next;
    walk->block = walk->next;
    walk->next += left < BLOCK ? left : BLOCK;
    uint64_t digits = left < BLOCK ? digits_of_rest(walk->data, walk->block, walk->end)
                                   : digits_of_block(walk->data + walk->block);
    /* A run that goes on from the block before is no start either, but no form ends in a digit. */
    walk->starts = digits & ~(digits << 1);
    return true;
}

struct rs_digits rs_digits_walk(const uint8_t *data, uint32_t from, uint32_t end)
{
    return (struct rs_digits){.data = data, .end = end, .next = from < TAIL ? TAIL : from};
}

bool rs_digits_next(struct rs_digits *walk, uint32_t *at)
{
    do {
        while (walk->starts) {
            uint32_t digit = walk->block + (uint32_t)__builtin_ctzll(walk->starts);
            walk->starts &= walk->starts - 1;
            if (behind_form(walk->data + digit)) {
                *at = digit;
                return true;
            }
        }
    } while (next_block(walk));
    return false;
}
