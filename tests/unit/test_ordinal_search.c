/* SPDX-License-Identifier: Apache-2.0
 *
 * rs_search() finds what memmem() finds: every length, place and alignment about a block's, on
 * texts of two letters, where nearly everything agrees with something.
 */
#include "ordinal/search.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 80, WORD = 24 };

static void check(const char *text, size_t size, const char *word, size_t length)
{
    /* The text ends where its memory does: a look behind it is an error under ASan. */
    uint8_t *copy = malloc(size ? size : 1);
    cr_assert(copy);
    memcpy(copy, text, size);
    const uint8_t *found = rs_search((struct rs_bytes){copy, size}, word, length);
    const uint8_t *expected = memmem(copy, size, word, length);
    cr_expect_eq(found, expected, "a word of %zu in a text of %zu", length, size);
    free(copy);
}

Test(search, agrees_with_memmem)
{
    unsigned seed = 1;
    char text[TEXT], word[WORD];
    for (int round = 0; round < 200000; round++) {
        size_t size = (size_t)rand_r(&seed) % TEXT, length = 2 + (size_t)rand_r(&seed) % (WORD - 2);
        unsigned letters = 1 + (unsigned)rand_r(&seed) % 3;
        for (size_t i = 0; i < size; i++)
            text[i] = (char)('a' + (unsigned)rand_r(&seed) % letters);
        for (size_t i = 0; i < length; i++)
            word[i] = (char)('a' + (unsigned)rand_r(&seed) % letters);
        if (size > length && round % 2)
            memcpy(text + (size_t)rand_r(&seed) % (size - length), word, length);
        check(text, size, word, length);
    }
}

Test(search, sees_high_and_zero_bytes)
{
    char text[64] = {0};
    text[40] = (char)0xff;
    text[41] = (char)0x80;
    check(text, sizeof text, "\xff\x80", 2);
    check(text, sizeof text, "\0\xff", 2);
    check(text, sizeof text, "\x80\xff", 2);
    check(text, 0, "ab", 2);
}
