/* SPDX-License-Identifier: Apache-2.0 */
#include "store/manifest.h"

#include <string.h>

/* In memory: head, COUNT parts, names with their zero bytes. All fields are the machine's own: a
 * manifest never leaves it. */
struct head {
    uint64_t magic;
    uint64_t kind, class_id;
    struct rs_key key;
    uint64_t dev, ino;
    uint32_t job, run;
    uint32_t count;
    uint32_t size; /* of all */
};

struct part {
    struct rs_hash128 hash;
    uint64_t check;
    uint64_t ino, size, mtime_ns;
    uint32_t raw;
    uint16_t mode, exact;
    uint32_t recipe; /* as in rs_part */
    uint32_t name;   /* offset */
};

static const uint64_t magic = UINT64_C(0x3174737667737372);

_Static_assert(sizeof(struct head) + RS_PARTS_MAX * (sizeof(struct part) + RS_PART_NAME_MAX) <=
                   RS_MANIFEST_MAX,
               "every manifest fits");

void *rs_manifest_write(struct rs_arena *memory, const struct rs_manifest *manifest, size_t *size)
{
    size_t name = sizeof(struct head) + manifest->count * sizeof(struct part);
    unsigned char *out = rs_arena_alloc(memory, RS_MANIFEST_MAX);
    if (!out) {
        return NULL;
    }
    for (unsigned i = 0; i < manifest->count; i++) {
        const struct rs_part *from = &manifest->parts[i];
        struct part part = {
            .hash = from->hash,
            .check = from->check,
            .ino = from->file.ino,
            .size = from->file.size,
            .mtime_ns = from->file.mtime_ns,
            .raw = from->size,
            .mode = (uint16_t)from->mode,
            .exact = from->exact,
            .recipe = from->recipe,
            .name = (uint32_t)name,
        };
        size_t length = strlen(from->name) + 1;
        memcpy(out + sizeof(struct head) + i * sizeof(part), &part, sizeof(part));
        memcpy(out + name, from->name, length);
        name += length;
    }
    struct head head = {
        .magic = magic,
        .kind = (uint64_t)manifest->key.kind,
        .class_id = manifest->key.class_id,
        .key = manifest->key.key,
        .dev = manifest->origin.dev,
        .ino = manifest->origin.ino,
        .job = manifest->origin.job,
        .run = manifest->origin.run,
        .count = manifest->count,
        .size = (uint32_t)name,
    };
    memcpy(out, &head, sizeof(head));
    *size = name;
    return out;
}

bool rs_part_name_fine(const char *name)
{
    size_t length = strnlen(name, RS_PART_NAME_MAX);
    if (length == 0 || length == RS_PART_NAME_MAX) {
        return false;
    }
    for (const char *at = name;;) {
        size_t part = strcspn(at, "/");
        bool dots = at[0] == '.' && (part == 1 || (part == 2 && at[1] == '.'));
        if (part == 0 || dots) {
            return false;
        }
        if (!at[part]) {
            return true;
        }
        at += part + 1;
    }
}

static bool read_part(const unsigned char *data, size_t size, size_t names, size_t at,
                      struct rs_part *out)
{
    struct part part;
    memcpy(&part, data + at, sizeof(part));
    if (part.name < names || part.name >= size || part.exact > 1 || (part.mode & ~07777) ||
        part.raw > RS_PART_SIZE_MAX || part.recipe > RS_PART_SIZE_MAX) {
        return false;
    }
    const char *name = (const char *)data + part.name;
    size_t room = size - part.name < RS_PART_NAME_MAX ? size - part.name : RS_PART_NAME_MAX;
    *out = (struct rs_part){
        .name = name,
        .size = part.raw,
        .mode = part.mode,
        .exact = part.exact,
        .file = {part.ino, part.size, part.mtime_ns},
        .hash = part.hash,
        .check = part.check,
        .recipe = part.recipe,
    };
    return memchr(name, '\0', room) && rs_part_name_fine(name);
}

bool rs_manifest_read(struct rs_arena *memory, const void *data, size_t size,
                      struct rs_manifest *manifest)
{
    struct head head;
    if (size < sizeof(head) || size > RS_MANIFEST_MAX) {
        return false;
    }
    memcpy(&head, data, sizeof(head));
    if (head.magic != magic || head.size != size || head.count == 0 || head.count > RS_PARTS_MAX ||
        head.kind >= RS_KIND_COUNT || size - sizeof(head) < head.count * sizeof(struct part)) {
        return false;
    }
    manifest->key = (struct rs_artifact_key){(enum rs_kind)head.kind, head.key, head.class_id};
    manifest->origin = (struct rs_origin){head.dev, head.ino, head.job, head.run};
    manifest->count = head.count;
    manifest->parts = rs_arena_alloc(memory, head.count * sizeof(struct rs_part));
    size_t names = sizeof(head) + head.count * sizeof(struct part);
    for (unsigned i = 0; manifest->parts && i < head.count; i++) {
        if (!read_part(data, size, names, sizeof(head) + i * sizeof(struct part),
                       &manifest->parts[i])) {
            return false;
        }
    }
    return manifest->parts != NULL;
}
