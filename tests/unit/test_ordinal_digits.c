/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter in front of the search for ordinals in text: it may let too much through, never too
 * little.
 */
#include "ordinal/digits.h"
#include "ordinal/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { PAD_MAX = 150, TEXT_MAX = 400, TEXTS = 400 };

static bool finds(const char *text, uint32_t size, uint32_t wanted)
{
    uint32_t at;
    struct rs_digits walk = rs_digits_walk((const uint8_t *)text, 0, size);
    while (rs_digits_next(&walk, &at)) {
        if (at == wanted) {
            return true;
        }
    }
    return false;
}

/* Every form of the list, wherever it stands in a text and however much follows. */
Test(digits, no_form_is_missed)
{
    static const char *const forms[] = {
#define RS_FORM(literal, verdict) literal,
#include "ordinal/text_forms.def"
#undef RS_FORM
        "torch.cuda.synchronize(",
        "torch.xpu.f2(",
        "(type='cuda', index=",
        "device_index=",
        "/triton/",
        "stream",
        "raw_stream",
        "name_cuda",
        "name_xpu",
        "semaphores_cuda_",
    };
    for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        for (uint32_t before = 0; before < PAD_MAX; before++) {
            for (uint32_t behind = 0; behind < PAD_MAX; behind += 7) {
                char text[2 * PAD_MAX + 64];
                uint32_t form = (uint32_t)strlen(forms[i]);
                memset(text, '0', sizeof(text)); /* other digits must not hide it */
                text[before] = ' ';
                memcpy(text + before + 1, forms[i], form);
                cr_assert(finds(text, before + 1 + form + 1 + behind, before + 1 + form), "%s",
                          forms[i]);
            }
        }
    }
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* A text of what forms end in, digits and other characters; its own size in memory, so that a
 * sanitizer sees a read behind its end. */
static uint8_t *make_text(uint32_t *size)
{
    static const char chars[] = "aaadmu_:=([ /,'\"xpesn0199.\x7f\x80\xff/:;A";
    *size = (uint32_t)(rand() % TEXT_MAX);
    uint8_t *text = malloc(*size ? *size : 1);
    for (uint32_t i = 0; i < *size; i++) {
        text[i] = (uint8_t)chars[(size_t)rand() % (sizeof(chars) - 1)];
    }
    return text;
}

/* Block by block or character by character: the same digits, each the first of its run. */
Test(digits, the_same_from_everywhere)
{
    srand(1);
    uint64_t found = 0;
    for (int i = 0; i < TEXTS; i++) {
        uint32_t size, at;
        uint8_t *text = make_text(&size);
        bool all[TEXT_MAX] = {false};
        struct rs_digits walk = rs_digits_walk(text, 0, size);
        while (rs_digits_next(&walk, &at)) {
            cr_assert(at < size && is_digit(text[at]) && !is_digit(text[at - 1]));
            all[at] = true;
            found++;
        }
        for (uint32_t from = 3; from < size; from++) {
            uint32_t expected = from;
            walk = rs_digits_walk(text, from, size);
            while (rs_digits_next(&walk, &at)) {
                while (!all[expected]) {
                    expected++;
                }
                cr_assert_eq(at, expected++);
            }
            while (expected < size && !all[expected]) {
                expected++;
            }
            cr_assert_eq(expected, size);
        }
        free(text);
    }
    cr_assert_gt(found, TEXTS / 2);
}
