/* SPDX-License-Identifier: Apache-2.0 */
#include "store/recipe.h"

#include <string.h>

/* In memory: head, COUNT spans, the bytes between the runs. The machine's own byte order: a recipe
 * never leaves it. */
struct head {
    uint64_t magic;
    struct rs_hash128 hash;
    uint32_t size;
    uint32_t count;
};

static const uint64_t magic = UINT64_C(0x3165706963657273);

static bool runs_fine(const struct rs_part_in *part, size_t *within)
{
    size_t end = 0;
    *within = 0;
    for (unsigned i = 0; i < part->run_count; i++) {
        const struct rs_run *run = &part->runs[i];
        if (run->size == 0 || run->at < end || run->at > part->size ||
            run->size > part->size - run->at) {
            return false;
        }
        end = run->at + run->size;
        *within += run->size;
    }
    return part->run_count <= RS_RUNS_MAX && part->size <= RS_PART_SIZE_MAX;
}

void *rs_recipe_write(struct rs_arena *memory, const struct rs_part_in *part, size_t *size)
{
    const unsigned char *data = part->data;
    size_t within, table = part->run_count * sizeof(struct rs_span), end = 0;
    if (!runs_fine(part, &within)) {
        return NULL;
    }
    *size = sizeof(struct head) + table + part->size - within;
    unsigned char *out = rs_arena_alloc(memory, *size);
    if (!out) {
        return NULL;
    }
    struct head head = {magic, rs_hash128_of(data, part->size), (uint32_t)part->size,
                        part->run_count};
    memcpy(out, &head, sizeof(head));
    unsigned char *spans = out + sizeof(head), *literals = spans + table;
    for (unsigned i = 0; i < part->run_count; i++) {
        const struct rs_run *run = &part->runs[i];
        struct rs_span span = {(uint32_t)run->at, (uint32_t)run->size,
                               rs_hash128_of(data + run->at, run->size).low};
        memcpy(spans + i * sizeof(span), &span, sizeof(span));
        memcpy(literals, data + end, run->at - end);
        literals += run->at - end;
        end = run->at + run->size;
    }
    memcpy(literals, data + end, part->size - end);
    return out;
}

struct rs_span rs_recipe_run(const struct rs_recipe *recipe, unsigned i)
{
    struct rs_span span;
    memcpy(&span, recipe->table + i * sizeof(span), sizeof(span));
    return span;
}

bool rs_recipe_read(const void *data, size_t size, struct rs_recipe *recipe)
{
    struct head head;
    if (size < sizeof(head)) {
        return false;
    }
    memcpy(&head, data, sizeof(head));
    if (head.magic != magic || head.count == 0 || head.count > RS_RUNS_MAX ||
        head.size > RS_PART_SIZE_MAX || size - sizeof(head) < head.count * sizeof(struct rs_span)) {
        return false;
    }
    const unsigned char *table = (const unsigned char *)data + sizeof(head);
    const unsigned char *literals = table + head.count * sizeof(struct rs_span);
    *recipe = (struct rs_recipe){head.hash, head.size, head.count, table, literals};
    uint64_t end = 0, within = 0;
    for (unsigned i = 0; i < head.count; i++) {
        struct rs_span span = rs_recipe_run(recipe, i);
        if (span.size == 0 || span.at < end || span.at > head.size ||
            span.size > head.size - span.at) {
            return false;
        }
        end = (uint64_t)span.at + span.size;
        within += span.size;
    }
    return size - (size_t)(literals - (const unsigned char *)data) == head.size - within;
}

void rs_recipe_fill(const struct rs_recipe *recipe, void *out)
{
    const unsigned char *from = recipe->literals;
    size_t end = 0;
    for (unsigned i = 0; i <= recipe->count; i++) {
        struct rs_span span = {.at = recipe->size};
        if (i < recipe->count) {
            span = rs_recipe_run(recipe, i);
        }
        memcpy((unsigned char *)out + end, from, span.at - end);
        from += span.at - end;
        end = (size_t)span.at + span.size;
    }
}

struct rs_artifact_key rs_recipe_key(const struct rs_recipe *recipe, unsigned n)
{
    uint64_t words[4] = {recipe->hash.low, recipe->hash.high, recipe->size, n};
    struct rs_artifact_key key = {.kind = RS_KIND_bundle};
    _Static_assert(sizeof(words) == sizeof(key.key.bytes), "a key is four words");
    memcpy(key.key.bytes, words, sizeof(words));
    return key;
}
