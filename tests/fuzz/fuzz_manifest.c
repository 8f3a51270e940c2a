/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a group's manifest: what is accepted names files that stay below their directory,
 * and written again and read it says the same.
 */
#include "fuzz/fuzz.h"

#include "store/manifest.h"

#include <stdlib.h>
#include <string.h>

static bool same_part(const struct rs_part *a, const struct rs_part *b)
{
    return strcmp(a->name, b->name) == 0 && a->size == b->size && a->mode == b->mode &&
           a->exact == b->exact && a->recipe == b->recipe && a->check == b->check &&
           memcmp(&a->hash, &b->hash, sizeof(a->hash)) == 0 &&
           memcmp(&a->file, &b->file, sizeof(a->file)) == 0;
}

static void check(struct rs_arena *memory, const struct rs_manifest *first)
{
    struct rs_manifest again;
    size_t size;
    FUZZ_CHECK(first->count > 0 && first->count <= RS_PARTS_MAX);
    for (unsigned i = 0; i < first->count; i++) {
        const char *name = first->parts[i].name;
        FUZZ_CHECK(name[0] && name[0] != '/' && strlen(name) < RS_PART_NAME_MAX);
        FUZZ_CHECK(strncmp(name, "../", 3) != 0 && !strstr(name, "/../"));
        FUZZ_CHECK(first->parts[i].size <= RS_PART_SIZE_MAX);
        FUZZ_CHECK(first->parts[i].recipe <= RS_PART_SIZE_MAX);
    }
    void *data = rs_manifest_write(memory, first, &size);
    FUZZ_CHECK(data && size <= RS_MANIFEST_MAX);
    FUZZ_CHECK(rs_manifest_read(memory, data, size, &again) && again.count == first->count);
    FUZZ_CHECK(memcmp(&again.key.key, &first->key.key, sizeof(again.key.key)) == 0 &&
               again.key.kind == first->key.kind && again.key.class_id == first->key.class_id);
    FUZZ_CHECK(memcmp(&again.origin, &first->origin, sizeof(again.origin)) == 0);
    for (unsigned i = 0; i < first->count; i++) {
        FUZZ_CHECK(same_part(&again.parts[i], &first->parts[i]));
    }
    FUZZ_CHECK(!rs_manifest_read(memory, data, size - 1, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rs_arena memory;
    struct rs_manifest manifest;
    uint8_t *copy = malloc(size ? size : 1); /* of just its size: what is read behind shows */
    FUZZ_CHECK(copy);
    if (size) {
        memcpy(copy, data, size);
    }
    rs_arena_init(&memory, 1 << 20);
    if (rs_manifest_read(&memory, copy, size, &manifest)) {
        check(&memory, &manifest);
    }
    rs_arena_free(&memory);
    free(copy);
    return 0;
}
