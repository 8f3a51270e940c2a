/* SPDX-License-Identifier: Apache-2.0 */
#include "store/index.h"

#include "store/pack.h"
#include "store/payload.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <string.h>

uint64_t rs_now_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The index may be touched only while the file reaches so far: behind its end is SIGBUS. */
static unsigned char *map(const struct rs_store *store)
{
    struct stat found;
    int fd = rs_segment_open(store, store->writable, &found);
    if (fd < 0) {
        return NULL;
    }
    void *at = MAP_FAILED;
    if (found.st_size >= RS_AT_ARENA) {
        int protection = store->writable ? PROT_READ | PROT_WRITE : PROT_READ;
        at = rs_sys_mmap_at(RS_INDEX_SIZE, protection, fd, RS_AT_INDEX);
    }
    rs_sys_close(fd);
    return at == MAP_FAILED ? NULL : at;
}

bool rs_index_open(struct rs_store *store, struct rs_index *index)
{
    unsigned char *none = NULL;
    if (!store->segment ||
        atomic_load_explicit(&store->segment->store_place, memory_order_acquire) == RS_PLACE_NONE) {
        return false;
    }
    index->segment = store->segment;
    index->at = atomic_load_explicit(&store->index, memory_order_acquire);
    if (!index->at) {
        index->at = map(store);
        if (index->at && !atomic_compare_exchange_strong(&store->index, &none, index->at)) {
            rs_sys_munmap(index->at, RS_INDEX_SIZE);
            index->at = none;
        }
    }
    return index->at != NULL;
}

static uint32_t below(_Atomic uint32_t *value, uint32_t limit)
{
    uint32_t found = atomic_load_explicit(value, memory_order_acquire);
    return found < limit ? found : limit;
}

static uint32_t groups_room(const struct rs_index *index)
{
    return below(&index->segment->groups_room, RS_GROUPS);
}

static uint32_t objects_room(const struct rs_index *index)
{
    return below(&index->segment->objects_room, RS_OBJECTS);
}

struct rs_group *rs_group_at(const struct rs_index *index, uint32_t i)
{
    struct rs_group *groups = (void *)(index->at + RS_IN_GROUPS);
    return i < groups_room(index) ? &groups[i] : NULL;
}

struct rs_object *rs_object_at(const struct rs_index *index, uint32_t i)
{
    struct rs_object *objects = (void *)(index->at + RS_IN_OBJECTS);
    return i < objects_room(index) ? &objects[i] : NULL;
}

_Atomic uint64_t *rs_stamps(const struct rs_index *index)
{
    return (void *)(index->at + RS_IN_STAMPS);
}

struct rs_pin *rs_pins(const struct rs_index *index)
{
    return (void *)(index->at + RS_IN_PINS);
}

_Atomic uint64_t *rs_wanted(const struct rs_index *index)
{
    return (void *)(index->at + RS_IN_WANTED);
}

struct rs_blocks rs_index_blocks(const struct rs_index *index)
{
    uint64_t room = atomic_load_explicit(&index->segment->arena_room, memory_order_acquire);
    uint64_t size = atomic_load_explicit(&index->segment->arena_size, memory_order_acquire);
    room = room < size ? room : size;
    room = room < RS_ARENA_MAX ? room : RS_ARENA_MAX;
    return (struct rs_blocks){
        .bits = (void *)(index->at + RS_IN_BITMAP),
        .count = (uint32_t)(room / RS_GRANULE),
        .hand = &index->segment->arena_hand,
    };
}

uint32_t rs_groups_top(const struct rs_index *index)
{
    return below(&index->segment->groups_top, groups_room(index));
}

uint32_t rs_objects_top(const struct rs_index *index)
{
    return below(&index->segment->objects_top, objects_room(index));
}

_Atomic uint32_t *rs_group_head(const struct rs_index *index, const struct rs_artifact_key *key)
{
    struct {
        struct rs_key key;
        uint64_t kind, class_id;
    } plain = {key->key, (uint64_t)key->kind, key->class_id};
    _Atomic uint32_t *heads = (void *)(index->at + RS_IN_GROUP_HEADS);
    return &heads[rs_hash128_of(&plain, sizeof(plain)).low % RS_HEADS];
}

_Atomic uint32_t *rs_object_head(const struct rs_index *index, uint64_t low)
{
    _Atomic uint32_t *heads = (void *)(index->at + RS_IN_OBJECT_HEADS);
    return &heads[low % RS_HEADS];
}

struct rs_artifact_key rs_group_key(const struct rs_group *group)
{
    struct rs_artifact_key key = {
        .kind = atomic_load_explicit(&group->kind, memory_order_acquire),
        .class_id = atomic_load_explicit(&group->class_id, memory_order_acquire),
    };
    for (int i = 0; i < 4; i++) {
        uint64_t word = atomic_load_explicit(&group->key[i], memory_order_acquire);
        memcpy(key.key.bytes + i * 8, &word, 8);
    }
    return key;
}

bool rs_group_has_key(const struct rs_group *group, const struct rs_artifact_key *key)
{
    struct rs_artifact_key found = rs_group_key(group);
    return found.kind == key->kind && found.class_id == key->class_id &&
           memcmp(&found.key, &key->key, sizeof(key->key)) == 0;
}

struct rs_origin rs_group_origin(const struct rs_group *group)
{
    return (struct rs_origin){
        .dev = atomic_load_explicit(&group->dev, memory_order_acquire),
        .ino = atomic_load_explicit(&group->ino, memory_order_acquire),
        .job = atomic_load_explicit(&group->job, memory_order_acquire),
        .run = atomic_load_explicit(&group->run, memory_order_acquire),
    };
}

static bool is_object(const struct rs_object *object, struct rs_hash128 hash, bool checked,
                      uint64_t check, uint32_t raw)
{
    uint64_t word = atomic_load_explicit(&object->word, memory_order_acquire);
    bool same = rs_word_state(word) == RS_ENTRY_READY &&
                atomic_load_explicit(&object->low, memory_order_acquire) == hash.low &&
                atomic_load_explicit(&object->high, memory_order_acquire) == hash.high;
    if (same && checked) {
        same = atomic_load_explicit(&object->check, memory_order_acquire) == check &&
               atomic_load_explicit(&object->raw, memory_order_acquire) == raw;
    }
    return same && atomic_load_explicit(&object->word, memory_order_relaxed) == word;
}

uint32_t rs_object_find(const struct rs_index *index, struct rs_hash128 hash, bool checked,
                        uint64_t check, uint32_t raw)
{
    uint32_t at = atomic_load_explicit(rs_object_head(index, hash.low), memory_order_acquire);
    for (int step = 0; at != 0 && step < RS_STEPS; step++) {
        struct rs_object *object = rs_object_at(index, at - 1);
        if (!object) {
            break;
        }
        if (is_object(object, hash, checked, check, raw)) {
            return at - 1;
        }
        at = atomic_load_explicit(&object->next, memory_order_acquire);
    }
    return RS_NO_ENTRY;
}

bool rs_object_is(const struct rs_index *index, uint32_t i, struct rs_hash128 hash, uint64_t check,
                  uint32_t raw)
{
    const struct rs_object *object = rs_object_at(index, i);
    return object && is_object(object, hash, true, check, raw);
}
