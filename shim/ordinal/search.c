/* SPDX-License-Identifier: Apache-2.0
 *
 * Sixteen places are judged at once by the word's first and last byte; only where both agree is
 * the rest compared.
 */
#include "ordinal/search.h"

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <string.h>

enum { BLOCK = 16 };

typedef uint8_t rs_block __attribute__((vector_size(BLOCK)));

/* All of it is C, and gcc and clang know what the processor has for it. */
static rs_block agreeing(const uint8_t *at, const char *word, size_t size)
{
    rs_block first, last;
    memcpy(&first, at, BLOCK);
    memcpy(&last, at + size - 1, BLOCK);
    return (rs_block)((first == (uint8_t)word[0]) & (last == (uint8_t)word[size - 1]));
}

static int any(rs_block block)
{
    uint64_t halves[2];
    memcpy(halves, &block, sizeof(halves));
    return (halves[0] | halves[1]) != 0;
}

const uint8_t *rs_search(struct rs_bytes text, const char *word, size_t size)
{
    const uint8_t *at = text.data, *end = at + text.size;
    for (; (size_t)(end - at) >= size + BLOCK - 1; at += BLOCK) {
        rs_block places = agreeing(at, word, size);
        if (!any(places)) {
            continue;
        }
        for (unsigned i = 0; i < BLOCK; i++) {
            if (places[i] && memcmp(at + i, word, size) == 0) {
                return at + i;
            }
        }
    }
    return memmem(at, (size_t)(end - at), word, size);
}
