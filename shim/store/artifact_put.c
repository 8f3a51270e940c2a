/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pack.h"
#include "store/payload.h"
#include "store/pin.h"
#include "store/put.h"
#include "store/recipe.h"
#include "store/room.h"
#include "store/wanted.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { MEMORY = 32 << 20 };

struct rs_origin rs_origin_of(const struct rs_store *store, const struct rs_slot *slot,
                              uint64_t dev, uint64_t ino)
{
    struct rs_origin origin = {.dev = dev, .ino = ino, .job = RS_NO_JOB};
    uint32_t job = atomic_load_explicit(&slot->job, memory_order_acquire);
    if (job < RS_JOBS) {
        origin.job = job;
        origin.run = atomic_load_explicit(&rs_jobs(store->segment)[job].run, memory_order_acquire);
    }
    return origin;
}

static bool parts_fine(const struct rs_part_in *parts, unsigned count)
{
    if (count == 0 || count > RS_PARTS_MAX) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!rs_part_name_fine(parts[i].name) || parts[i].size > RS_PART_SIZE_MAX ||
            (parts[i].mode & ~07777U)) {
            return false;
        }
        for (unsigned j = 0; j < i; j++) {
            if (strcmp(parts[i].name, parts[j].name) == 0) {
                return false;
            }
        }
    }
    return true;
}

/* Whether an object that means what IN does will do for it. */
static bool any_will_do(const struct rs_put *put, const struct rs_part_in *in)
{
    return in->meaning && !(put->flags & RS_PUT_EXACT);
}

/* What object each part will have, as far as it is known before it is put. */
static struct rs_part describe(const struct rs_put *put, const struct rs_part_in *in)
{
    struct rs_hash128 own = rs_hash128_of(in->data, in->size);
    struct rs_part part = {
        .name = in->name,
        .size = (uint32_t)in->size,
        .mode = in->mode,
        .exact = true,
        .file = in->file,
        .hash = in->meaning ? *in->meaning : own,
        .check = own.low,
    };
    uint32_t there =
        any_will_do(put, in) ? rs_object_find(&put->index, part.hash, false, 0, 0) : RS_NO_ENTRY;
    if (there != RS_NO_ENTRY) {
        const struct rs_object *object = rs_object_at(&put->index, there);
        part.check = atomic_load_explicit(&object->check, memory_order_relaxed);
        part.size = atomic_load_explicit(&object->raw, memory_order_relaxed);
        part.exact = part.check == own.low && part.size == in->size;
    }
    return part;
}

static enum rs_put_result put_part(struct rs_put *put, const struct rs_part_in *in, unsigned i)
{
    struct rs_part *part = &put->manifest.parts[i];
    struct rs_put_bytes bytes = {
        .data = in->data,
        .size = in->size,
        .hash = part->hash,
        .check = in->meaning ? rs_hash128_of(in->data, in->size).low : part->check,
        .any = any_will_do(put, in),
    };
    uint32_t size = 0;
    enum rs_put_result result = rs_put_object(put, i + 1, &bytes, &part->check, &size);
    if (!part->recipe) {
        part->exact = part->check == bytes.check && size == in->size;
        part->size = size;
    }
    return result;
}

static const void *manifest_bytes(struct rs_put *put, struct rs_put_bytes *bytes)
{
    void *data = rs_manifest_write(&put->memory, &put->manifest, &bytes->size);
    bytes->data = data;
    if (data) {
        bytes->hash = rs_hash128_of(data, bytes->size);
        bytes->check = bytes->hash.low;
    }
    return data;
}

/* RAW: bytes of all files. */
static enum rs_put_result put_group(struct rs_put *put, const struct rs_part_in *parts,
                                    uint64_t raw)
{
    struct rs_put_bytes manifest = {0};
    uint64_t check;
    uint32_t size;
    if (!manifest_bytes(put, &manifest)) {
        return RS_PUT_NO_ROOM;
    }
    if (rs_put_there(put, manifest.hash)) {
        return RS_PUT_THERE;
    }
    enum rs_put_result result = rs_put_begin(put);
    if (result != RS_PUT_STORED) {
        return result;
    }
    for (unsigned i = 0; result == RS_PUT_STORED && i < put->manifest.count; i++) {
        result = put_part(put, &parts[i], i);
    }
    if (result == RS_PUT_STORED) {
        /* Once more: the parts may have got other objects than were there before. */
        result = manifest_bytes(put, &manifest) ? rs_put_object(put, 0, &manifest, &check, &size)
                                                : RS_PUT_NO_ROOM;
    }
    if (result != RS_PUT_STORED) {
        rs_put_cancel(put);
        return result;
    }
    return rs_put_publish(put, manifest.hash, raw);
}

static void count(struct rs_slot *slot, enum rs_put_result result)
{
    switch (result) {
    case RS_PUT_STORED:
        rs_slot_count(slot, RS_C_artifact_puts, 1);
        break;
    case RS_PUT_BUSY:
        rs_slot_count(slot, RS_C_artifact_busy, 1);
        break;
    case RS_PUT_NO_ROOM:
        rs_slot_count(slot, RS_C_artifact_no_room, 1);
        break;
    case RS_PUT_UNWANTED:
        rs_slot_count(slot, RS_C_artifact_unwanted, 1);
        break;
    case RS_PUT_THERE:
    case RS_PUT_REFUSED:
        break;
    }
}

/* Puts STORED as the parts of FILES: the same, but for those that are recipes. */
static enum rs_put_result put_stored(struct rs_put *put, const struct rs_part_in *stored,
                                     const struct rs_part_in *files)
{
    unsigned count = put->manifest.count;
    uint64_t raw = 0;
    put->manifest.parts = rs_arena_alloc(&put->memory, count * sizeof(struct rs_part));
    if (!put->manifest.parts) {
        return RS_PUT_NO_ROOM;
    }
    for (unsigned i = 0; i < count; i++) {
        struct rs_part *part = &put->manifest.parts[i];
        *part = describe(put, &stored[i]);
        if (stored[i].data != files[i].data) {
            part->recipe = part->size;
            part->size = (uint32_t)files[i].size;
        }
        raw += files[i].size;
    }
    return put_group(put, stored, raw);
}

/* COUNT runs of PART, from number FIRST on, as parts of a group; NULL: no memory. */
static struct rs_part_in *runs_as_parts(struct rs_arena *memory, const struct rs_part_in *part,
                                        unsigned first, unsigned count)
{
    enum { NAME = sizeof("00") };
    struct rs_part_in *out = rs_arena_alloc(memory, count * sizeof(*out));
    char *names = rs_arena_alloc(memory, (size_t)count * NAME);
    if (!out || !names) {
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        const struct rs_run *run = &part->runs[first + i];
        char *name = names + (size_t)i * NAME;
        name[0] = (char)('0' + i / 10);
        name[1] = (char)('0' + i % 10);
        name[2] = '\0';
        out[i] = (struct rs_part_in){.name = name,
                                     .data = (const unsigned char *)part->data + run->at,
                                     .size = run->size,
                                     .meaning = run->meaning};
    }
    return out;
}

/* Puts runs of PART, from number FIRST on, as the group KEY. What is promised of the whole file is
 * promised of them. */
static bool put_runs(const struct rs_put *whole, const struct rs_part_in *part, unsigned first,
                     const struct rs_artifact_key *key)
{
    unsigned left = part->run_count - first;
    unsigned count = left < RS_RUNS_PER_GROUP ? left : RS_RUNS_PER_GROUP;
    struct rs_put put = {
        .store = whole->store,
        .slot = whole->slot,
        .tag = whole->tag,
        .index = whole->index,
        .manifest = {.key = *key, .origin = whole->manifest.origin, .count = count},
        .flags = (whole->flags & (RS_PUT_WARM | RS_PUT_PROMISED)) | RS_PUT_EXACT,
    };
    rs_arena_init_small(&put.memory, MEMORY);
    const struct rs_part_in *runs = runs_as_parts(&put.memory, part, first, count);
    enum rs_put_result result = runs ? put_stored(&put, runs, runs) : RS_PUT_NO_ROOM;
    rs_arena_free(&put.memory);
    return result == RS_PUT_STORED || result == RS_PUT_THERE;
}

/* PART as it is stored: its recipe, once all runs are there, or as it is. */
static struct rs_part_in cut(const struct rs_put *put, struct rs_arena *memory,
                             const struct rs_part_in *part)
{
    struct rs_part_in out = *part;
    struct rs_recipe recipe;
    size_t size;
    const void *data = part->run_count ? rs_recipe_write(memory, part, &size) : NULL;
    bool good = data && rs_recipe_read(data, size, &recipe);
    for (unsigned first = 0; good && first < part->run_count; first += RS_RUNS_PER_GROUP) {
        struct rs_artifact_key key = rs_recipe_key(&recipe, first / RS_RUNS_PER_GROUP);
        good = put_runs(put, part, first, &key);
    }
    if (good) {
        out.data = data;
        out.size = size;
        out.meaning = NULL;
    }
    return out;
}

static enum rs_put_result put_files(struct rs_put *put, const struct rs_part_in *files)
{
    struct rs_part_in *stored = rs_arena_alloc(&put->memory, put->manifest.count * sizeof(*stored));
    if (!stored) {
        return RS_PUT_NO_ROOM;
    }
    for (unsigned i = 0; i < put->manifest.count; i++) {
        stored[i] = cut(put, &put->memory, &files[i]);
    }
    return put_stored(put, stored, files);
}

static enum rs_put_result put_all(struct rs_put *put, const struct rs_part_in *parts)
{
    if (!rs_room_begin(put->store, put->tag, &put->index)) {
        return RS_PUT_NO_ROOM;
    }
    if ((put->flags & RS_PUT_IF_WANTED) &&
        !rs_is_wanted(&put->index, put->slot, &put->manifest.key)) {
        rs_want(&put->index, put->slot, &put->manifest.key);
        return RS_PUT_UNWANTED;
    }
    return put_files(put, parts);
}

enum rs_put_result rs_artifact_put(struct rs_store *store, struct rs_slot *slot,
                                   const struct rs_artifact_key *key,
                                   const struct rs_origin *origin, unsigned flags,
                                   const struct rs_part_in *parts, unsigned part_count)
{
    int saved = errno;
    struct rs_put put = {
        .store = store,
        .slot = slot,
        .tag = rs_slot_tag(slot),
        .manifest = {.key = *key, .origin = *origin, .count = part_count},
        .flags = flags,
    };
    enum rs_put_result result = RS_PUT_REFUSED;
    if (!slot || !store->segment) {
        return RS_PUT_BUSY;
    }
    if (parts_fine(parts, part_count) && (unsigned)key->kind < RS_KIND_COUNT) {
        rs_arena_init_small(&put.memory, MEMORY);
        result = put_all(&put, parts);
        rs_arena_free(&put.memory);
    }
    count(slot, result);
    errno = saved;
    return result;
}
