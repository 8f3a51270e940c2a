/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding and reading, without the lock. Whatever is in the index, what comes out is the bytes that
 * were put under this key from an origin that the caller may have, or nothing.
 */
#include "store/index.h"
#include "store/inspect.h"
#include "store/kill_point.h"
#include "store/manifest.h"
#include "store/pack.h"
#include "store/payload.h"
#include "store/pin.h"
#include "store/process.h"
#include "store/recipe.h"
#include "store/store_sys.h"
#include "store/wanted.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { STAMP_MS = 500 };

#define GET(field) atomic_load_explicit(&(field), memory_order_acquire)

/* Which rule lets ASKER have a group of ORIGIN; 0: none. */
static int match_of(const struct rs_origin *origin, const struct rs_origin *asker, bool warm,
                    unsigned flags)
{
    if (origin->dev == asker->dev && origin->ino == asker->ino) {
        return RS_MATCH_ROOT;
    }
    if ((flags & RS_FIND_ANYWHERE) && origin->job == asker->job && origin->run == asker->run &&
        asker->job != RS_NO_JOB) {
        return RS_MATCH_JOB;
    }
    return ((flags & RS_FIND_ANYWHERE) && warm) || (flags & RS_FIND_WARM) ? RS_MATCH_WARM : 0;
}

/* The group that fits best, and the word that it was read with. */
struct best {
    int match;
    uint32_t group;
    struct rs_group *entry;
    uint64_t word;
};

static struct best look(const struct rs_index *index, const struct rs_artifact_key *key,
                        const struct rs_origin *asker, unsigned flags)
{
    struct best best = {.group = RS_NO_ENTRY};
    uint32_t at = GET(*rs_group_head(index, key));
    for (int step = 0; at != 0 && best.match != RS_MATCH_ROOT && step < RS_STEPS; step++) {
        struct rs_group *group = rs_group_at(index, at - 1);
        if (!group) {
            break;
        }
        uint64_t word = GET(group->word);
        bool fits = rs_word_state(word) == RS_ENTRY_READY && rs_group_has_key(group, key);
        struct rs_origin origin = rs_group_origin(group);
        int match = fits ? match_of(&origin, asker, GET(group->flags) & RS_GROUP_WARM, flags) : 0;
        if (match && (!best.match || match < best.match) &&
            atomic_load_explicit(&group->word, memory_order_relaxed) == word) {
            best = (struct best){match, at - 1, group, word};
        }
        at = GET(group->next);
    }
    return best;
}

/* An object as it was read between two equal readings of its word. */
struct place {
    uint64_t offset, check;
    uint32_t stored, raw;
};

static bool place_of(const struct rs_index *index, uint32_t i, struct place *place)
{
    const struct rs_object *object = rs_object_at(index, i);
    if (!object) {
        return false;
    }
    uint64_t word = GET(object->word);
    *place = (struct place){GET(object->offset), GET(object->check), GET(object->stored),
                            GET(object->raw)};
    return rs_word_state(word) == RS_ENTRY_READY && place->stored <= place->raw &&
           place->raw <= RS_PART_SIZE_MAX && place->offset <= RS_ARENA_MAX &&
           atomic_load_explicit(&object->word, memory_order_relaxed) == word;
}

static void *memory_for(struct rs_artifact *artifact, size_t size)
{
    void *memory = rs_arena_alloc(&artifact->memory, size);
    artifact->unable |= !memory;
    return memory;
}

/* SIZE bytes for packed ones, the same memory for each part if it is large enough. */
static void *packed_memory(struct rs_artifact *artifact, size_t size)
{
    if (size > artifact->packed_size) {
        artifact->packed = memory_for(artifact, size);
        artifact->packed_size = artifact->packed ? size : 0;
    }
    return artifact->packed;
}

/* Nothing where the file ends is damage; an error is the reader's affair. */
static bool read_bytes(struct rs_artifact *artifact, uint64_t at, uint64_t base, void *out,
                       size_t size)
{
    bool done = rs_payload_read(artifact->fd, base, at, out, size);
    artifact->unable |= !done && errno != 0;
    return done;
}

/* The RAW bytes of PLACE into OUT. */
static bool load(struct rs_artifact *artifact, const struct place *place, uint64_t base, void *out)
{
    if (place->stored == place->raw) {
        return read_bytes(artifact, place->offset, base, out, place->raw);
    }
    if (!artifact->work) {
        artifact->work = memory_for(artifact, rs_unpack_work());
    }
    void *packed = packed_memory(artifact, place->stored);
    return packed && artifact->work &&
           read_bytes(artifact, place->offset, base, packed, place->stored) &&
           rs_unpack(artifact->work, packed, place->stored, out, place->raw);
}

static uint64_t base_of(const struct rs_store *store)
{
    return GET(store->segment->store_place) == RS_PLACE_SHM ? RS_AT_ARENA : 0;
}

static bool load_manifest(const struct rs_index *index, struct rs_artifact *artifact,
                          struct rs_manifest *manifest)
{
    const struct rs_group *group = artifact->entry;
    struct rs_hash128 seal = {GET(group->seal[0]), GET(group->seal[1])}, found;
    struct place place;
    uint32_t at = GET(group->objects[0]);
    if (at == 0 || !place_of(index, at - 1, &place) || place.raw > RS_MANIFEST_MAX) {
        return false;
    }
    void *data = memory_for(artifact, place.raw);
    if (!data || !load(artifact, &place, base_of(artifact->store), data)) {
        return false;
    }
    found = rs_hash128_of(data, place.raw);
    return found.low == seal.low && found.high == seal.high &&
           rs_manifest_read(&artifact->memory, data, place.raw, manifest);
}

static bool same_origin(const struct rs_origin *a, const struct rs_origin *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->job == b->job && a->run == b->run;
}

/* Opens the group that was found. False: it was not what its entry says, or is gone. */
static bool open_group(const struct rs_index *index, struct rs_artifact *artifact,
                       const struct rs_artifact_key *key)
{
    struct rs_manifest manifest = {0};
    uint64_t base;
    artifact->fd = rs_payload_open(artifact->store, false, &base);
    artifact->unable |= artifact->fd < 0; /* or the store has been removed */
    if (artifact->fd < 0 || !load_manifest(index, artifact, &manifest)) {
        return false;
    }
    artifact->origin = rs_group_origin(artifact->entry);
    artifact->count = manifest.count;
    artifact->parts = manifest.parts;
    return manifest.key.kind == key->kind && manifest.key.class_id == key->class_id &&
           memcmp(&manifest.key.key, &key->key, sizeof(key->key)) == 0 &&
           same_origin(&manifest.origin, &artifact->origin);
}

/* Whether the group's entry is the one that was found. A pin holds off eviction alone: who forgets
 * the group, or puts another in its place, does not look at pins, and the entry may be that of
 * another root with the same key a moment later. */
static bool is_still(const struct rs_artifact *artifact)
{
    return atomic_load(&artifact->entry->word) == artifact->word;
}

/* Forgets the group that ARTIFACT was read from, unless the reader itself was unable to read it.
 * DAMAGED: its bytes are not what was put, and OBJECT (or RS_NO_ENTRY) is what does not hold;
 * nobody shall find that again. If the group has only gone away meanwhile, it is no damage. */
static void drop(const struct rs_artifact *artifact, struct rs_index *index, bool damaged,
                 uint32_t object)
{
    uint64_t tag = rs_slot_tag(artifact->slot);
    if (!tag || !artifact->store->writable || artifact->unable || !rs_index_lock(index, tag)) {
        return;
    }
    if (is_still(artifact)) {
        rs_object_condemn(index, object);
        rs_group_free(index, artifact->group);
        rs_slot_count(artifact->slot, RS_C_artifact_damaged, damaged);
    }
    rs_index_unlock(index, tag);
}

static void note_use(const struct rs_index *index, uint32_t group)
{
    _Atomic uint64_t *stamp = &rs_stamps(index)[group];
    uint64_t now = rs_now_ms();
    if (now > GET(*stamp) + STAMP_MS) {
        atomic_store_explicit(stamp, now, memory_order_relaxed);
    }
}

/* Releases what could not be opened, but for what tells why. */
static void give_up(struct rs_artifact *artifact)
{
    uint64_t word = artifact->word;
    bool unable = artifact->unable;
    rs_artifact_release(artifact);
    artifact->word = word;
    artifact->unable = unable;
}

bool rs_artifact_open(struct rs_store *store, unsigned i, struct rs_artifact *artifact)
{
    struct rs_index index;
    int saved = errno;
    bool there = false;
    *artifact = (struct rs_artifact){.store = store, .fd = -1, .pin = RS_NO_PIN, .group = i};
    artifact->pid = rs_sys_getpid();
    rs_arena_init_small(&artifact->memory, 2 * RS_PART_SIZE_MAX);
    struct rs_group *group = rs_index_open(store, &index) ? rs_group_at(&index, i) : NULL;
    if (group) {
        struct rs_artifact_key key = rs_group_key(group);
        artifact->entry = group;
        artifact->word = atomic_load(&group->word);
        there =
            rs_word_state(artifact->word) == RS_ENTRY_READY && open_group(&index, artifact, &key);
        if (there && !is_still(artifact)) {
            there = false;
            artifact->word = 0; /* it is good, but on its way out */
        }
    }
    if (!there) {
        give_up(artifact);
    }
    errno = saved;
    return there;
}

/* A writer that died may have left the chains empty, and perhaps nobody will write any more. True:
 * they have been made anew. */
static bool inherit(struct rs_index *index, const struct rs_store *store,
                    const struct rs_slot *slot)
{
    uint64_t owner = GET(store->segment->store_lock), tag = rs_slot_tag(slot);
    if (owner == 0 || !tag || !store->writable || rs_tag_alive(owner) != 0 ||
        !rs_index_lock(index, tag)) {
        return false;
    }
    rs_index_unlock(index, tag);
    return true;
}

static bool find(struct rs_store *store, struct rs_slot *slot, const struct rs_artifact_key *key,
                 const struct rs_origin *asker, unsigned flags, struct rs_artifact *artifact)
{
    struct rs_index index;
    if (!rs_index_open(store, &index)) {
        return false;
    }
    struct best best = look(&index, key, asker, flags);
    if (!best.match && inherit(&index, store, slot)) {
        best = look(&index, key, asker, flags);
    }
    if (!best.match) {
        if (store->writable && !(flags & RS_FIND_QUIET)) {
            rs_want(&index, slot, key);
        }
        return false;
    }
    artifact->match = (enum rs_match)best.match;
    artifact->group = best.group;
    artifact->entry = best.entry;
    artifact->word = best.word;
    if (store->writable) {
        artifact->pin = rs_pin_set(&index, rs_slot_tag(slot), best.group, best.word);
        note_use(&index, best.group);
    }
    bool there = is_still(artifact);
    RS_KILL_POINT(find_looked);
    if (there && !open_group(&index, artifact, key)) {
        drop(artifact, &index, true, RS_NO_ENTRY);
        there = false;
    }
    return there && is_still(artifact);
}

/* rs_artifact_find(), not counted. */
static bool seek(struct rs_store *store, struct rs_slot *slot, const struct rs_artifact_key *key,
                 const struct rs_origin *origin, unsigned flags, struct rs_artifact *artifact)
{
    *artifact = (struct rs_artifact){.store = store, .slot = slot, .fd = -1, .pin = RS_NO_PIN};
    artifact->pid = rs_sys_getpid();
    rs_arena_init_small(&artifact->memory, 2 * RS_PART_SIZE_MAX);
    bool found = find(store, slot, key, origin, flags, artifact);
    if (!found) {
        give_up(artifact);
    }
    return found;
}

bool rs_artifact_find(struct rs_store *store, struct rs_slot *slot,
                      const struct rs_artifact_key *key, const struct rs_origin *origin,
                      unsigned flags, struct rs_artifact *artifact)
{
    int saved = errno;
    bool found = seek(store, slot, key, origin, flags, artifact);
    if (found) {
        rs_slot_count(slot, RS_C_artifact_hits, 1);
    }
    errno = saved;
    return found;
}

/* ---- reading ---------------------------------------------------------------------------------
 */

/* The object of part I into BUFFER. The group names its objects, so that reading does not depend on
 * chains, which may be in the making after a death. */
static bool read_object(const struct rs_index *index, struct rs_artifact *artifact, unsigned i,
                        void *buffer)
{
    struct place place;
    const struct rs_part *part = &artifact->parts[i];
    uint32_t object = GET(artifact->entry->objects[i + 1]) - 1;
    uint32_t size = part->recipe ? part->recipe : part->size;
    return rs_object_is(index, object, part->hash, part->check, size) &&
           place_of(index, object, &place) && place.raw == size &&
           load(artifact, &place, base_of(artifact->store), buffer) &&
           rs_hash128_of(buffer, size).low == part->check;
}

/* Forgets ARTIFACT: the object of part I does not hold. */
static void drop_part(const struct rs_artifact *artifact, struct rs_index *index, unsigned i)
{
    drop(artifact, index, true, GET(artifact->entry->objects[i + 1]) - 1);
}

/* The runs of RECIPE in group number N to their places in OUT. */
static bool read_runs(struct rs_artifact *whole, struct rs_index *index,
                      const struct rs_recipe *recipe, unsigned n, unsigned char *out)
{
    struct rs_artifact_key key = rs_recipe_key(recipe, n);
    struct rs_artifact runs;
    unsigned first = n * RS_RUNS_PER_GROUP, left = recipe->count - first;
    if (!seek(whole->store, whole->slot, &key, &whole->origin, RS_FIND_QUIET, &runs)) {
        whole->unable |= runs.unable;
        return false;
    }
    bool good = runs.count == (left < RS_RUNS_PER_GROUP ? left : RS_RUNS_PER_GROUP);
    for (unsigned i = 0; good && i < runs.count; i++) {
        struct rs_span span = rs_recipe_run(recipe, first + i);
        const struct rs_part *part = &runs.parts[i];
        good = part->size == span.size && part->check == span.check && !part->recipe;
        if (good && !read_object(index, &runs, i, out + span.at)) {
            drop_part(&runs, index, i);
            good = false;
        }
    }
    whole->unable |= runs.unable;
    rs_artifact_release(&runs);
    return good;
}

/* What part I of ARTIFACT is made of, into OUT. Each piece has its own check sum. */
static enum rs_reading read_recipe(struct rs_index *index, struct rs_artifact *artifact, unsigned i,
                                   unsigned char *out)
{
    const struct rs_part *part = &artifact->parts[i];
    struct rs_recipe recipe;
    void *data = memory_for(artifact, part->recipe);
    if (!data) {
        return RS_READING_LACKS;
    }
    if (!read_object(index, artifact, i, data) || !rs_recipe_read(data, part->recipe, &recipe) ||
        recipe.size != part->size) {
        return RS_READING_DAMAGED;
    }
    rs_recipe_fill(&recipe, out);
    for (unsigned n = 0; n * RS_RUNS_PER_GROUP < recipe.count; n++) {
        if (!read_runs(artifact, index, &recipe, n, out)) {
            return RS_READING_LACKS;
        }
    }
    return RS_READING_WHOLE;
}

enum rs_reading rs_artifact_read_part(struct rs_artifact *artifact, unsigned i, void *buffer)
{
    struct rs_index index;
    if (i >= artifact->count || !rs_index_open(artifact->store, &index)) {
        return RS_READING_LACKS;
    }
    enum rs_reading reading = RS_READING_DAMAGED;
    artifact->unable = false; /* another time it may do */
    if (artifact->parts[i].recipe) {
        reading = read_recipe(&index, artifact, i, buffer);
    } else if (read_object(&index, artifact, i, buffer)) {
        reading = RS_READING_WHOLE;
    }
    if (artifact->unable) {
        return RS_READING_LACKS;
    }
    if (reading == RS_READING_DAMAGED) {
        drop_part(artifact, &index, i);
    } else if (reading == RS_READING_LACKS) {
        drop(artifact, &index, false, RS_NO_ENTRY); /* a group that lacks runs is none */
    }
    return reading;
}

bool rs_artifact_read(struct rs_artifact *artifact, unsigned i, void *buffer)
{
    int saved = errno;
    bool good = rs_artifact_read_part(artifact, i, buffer) == RS_READING_WHOLE;
    if (good) {
        rs_slot_count(artifact->slot, RS_C_artifact_bytes, artifact->parts[i].size);
    }
    errno = saved;
    return good;
}

void rs_artifact_release(struct rs_artifact *artifact)
{
    struct rs_index index;
    int saved = errno;
    if (artifact->fd >= 0) {
        rs_sys_close(artifact->fd);
    }
    if (artifact->pin != RS_NO_PIN && artifact->pid == rs_sys_getpid() &&
        rs_index_open(artifact->store, &index)) {
        rs_pin_drop(&index, artifact->pin, rs_slot_tag(artifact->slot));
    }
    rs_arena_free(&artifact->memory);
    *artifact = (struct rs_artifact){.fd = -1, .pin = RS_NO_PIN};
    errno = saved;
}

static unsigned forget(struct rs_index *index, const struct rs_artifact_key *key,
                       const struct rs_origin *origin)
{
    unsigned gone = 0;
    uint32_t at = GET(*rs_group_head(index, key));
    for (int step = 0; at != 0 && step < RS_STEPS; step++) {
        struct rs_group *group = rs_group_at(index, at - 1);
        if (!group) {
            break;
        }
        uint32_t here = at - 1;
        at = GET(group->next);
        if (rs_word_state(GET(group->word)) == RS_ENTRY_READY && rs_group_has_key(group, key) &&
            GET(group->dev) == origin->dev && GET(group->ino) == origin->ino) {
            rs_group_free(index, here);
            gone++;
        }
    }
    return gone;
}

unsigned rs_artifact_forget(struct rs_store *store, struct rs_slot *slot,
                            const struct rs_artifact_key *key, const struct rs_origin *origin)
{
    struct rs_index index;
    unsigned gone = 0;
    int saved = errno;
    uint64_t tag = rs_slot_tag(slot);
    if (tag && store->writable && rs_index_open(store, &index) && rs_index_lock(&index, tag)) {
        gone = forget(&index, key, origin);
        rs_index_unlock(&index, tag);
    }
    errno = saved;
    return gone;
}
