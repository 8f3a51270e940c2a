/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a recipe: the runs of what is accepted are in order, apart and inside of the file,
 * and the file made of it has this very recipe.
 */
#include "fuzz/fuzz.h"

#include "store/recipe.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 20 };

static void check(struct rs_arena *memory, const struct rs_recipe *recipe, const uint8_t *data,
                  size_t size)
{
    struct rs_run runs[RS_RUNS_MAX];
    uint64_t end = 0;
    FUZZ_CHECK(recipe->count > 0 && recipe->count <= RS_RUNS_MAX);
    for (unsigned i = 0; i < recipe->count; i++) {
        struct rs_span span = rs_recipe_run(recipe, i);
        FUZZ_CHECK(span.size > 0 && span.at >= end);
        end = (uint64_t)span.at + span.size;
        runs[i] = (struct rs_run){.at = span.at, .size = span.size};
    }
    FUZZ_CHECK(end <= recipe->size);
    if (recipe->size > LARGEST) {
        return;
    }
    struct rs_part_in file = {.size = recipe->size, .runs = runs, .run_count = recipe->count};
    uint8_t *bytes = calloc(1, recipe->size);
    FUZZ_CHECK(bytes);
    rs_recipe_fill(recipe, bytes);
    file.data = bytes;
    size_t again;
    const uint8_t *written = rs_recipe_write(memory, &file, &again);
    FUZZ_CHECK(written && again == size);
    struct rs_recipe same;
    FUZZ_CHECK(rs_recipe_read(written, again, &same) && same.count == recipe->count);
    for (unsigned i = 0; i < recipe->count; i++) {
        struct rs_span a = rs_recipe_run(recipe, i), b = rs_recipe_run(&same, i);
        FUZZ_CHECK(a.at == b.at && a.size == b.size);
    }
    size_t literals = size - (size_t)(recipe->literals - data);
    FUZZ_CHECK(memcmp(same.literals, recipe->literals, literals) == 0);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rs_arena memory;
    struct rs_recipe recipe;
    uint8_t *copy = malloc(size ? size : 1); /* of just its size: what is read behind shows */
    FUZZ_CHECK(copy);
    if (size) {
        memcpy(copy, data, size);
    }
    rs_arena_init(&memory, 4 * LARGEST);
    if (rs_recipe_read(copy, size, &recipe)) {
        check(&memory, &recipe, copy, size);
    }
    rs_arena_free(&memory);
    free(copy);
    return 0;
}
