/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an autotuning result: what is one points into itself, and neither a beginning of it
 * nor two of it behind each other are one.
 */
#include "fuzz/fuzz.h"

#include "rank/tuned_text.h"

#include <stdlib.h>
#include <string.h>

/* In memory of just its size: what is read behind the end shows. */
static bool accepts(const uint8_t *data, size_t size)
{
    struct rs_tuned_text text;
    uint8_t *copy = malloc(size ? size : 1);
    FUZZ_CHECK(copy);
    if (size) {
        memcpy(copy, data, size);
    }
    bool good = rs_tuned_read((struct rs_bytes){copy, size}, &text);
    if (good) {
        FUZZ_CHECK(text.configs.size > 0 && text.configs.data > copy &&
                   text.configs.data + text.configs.size < copy + size);
        FUZZ_CHECK(rs_tuned_alike(&text, &text));
    }
    free(copy);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!accepts(data, size)) {
        return 0;
    }
    while (size > 0 && strchr(" \t\r\n", data[size - 1])) {
        size--;
    }
    for (size_t step = size / 64 + 1, part = 0; part < size; part += step) {
        FUZZ_CHECK(!accepts(data, part));
    }
    FUZZ_CHECK(!accepts(data, size - 1));
    uint8_t *twice = malloc(2 * size);
    FUZZ_CHECK(twice);
    memcpy(twice, data, size);
    memcpy(twice + size, data, size);
    FUZZ_CHECK(!accepts(twice, 2 * size));
    free(twice);
    return 0;
}
