/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the index agrees with itself. Under the lock, but it changes nothing.
 */
#include "store/index.h"
#include "store/inspect.h"
#include "store/process.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define GET(field) atomic_load_explicit(&(field), memory_order_relaxed)

const char *rs_index_fault_text(enum rs_index_fault fault)
{
    static const char *const texts[RS_FAULTS] = {
        [RS_FAULT_CHAIN] = "an artifact or object can't be found under its key",
        [RS_FAULT_REFERENCE] = "an artifact lists an object that is not there",
        [RS_FAULT_COUNT] = "an object's references are not those of the artifacts",
        [RS_FAULT_BLOCK] = "an object's bytes lie outside of the arena",
        [RS_FAULT_BITMAP] = "the arena's bitmap is not that of the objects",
        [RS_FAULT_LIST] = "a free entry is on no list, or a used one is",
        [RS_FAULT_SUM] = "a sum in the header is not that of the entries",
    };
    return (unsigned)fault < RS_FAULTS ? texts[fault] : "?";
}

struct check {
    const struct rs_index *index;
    unsigned *faults;
    uint32_t groups, objects, free_groups, free_objects;
    uint64_t bytes;
};

static unsigned state_of(const _Atomic uint64_t *word)
{
    return rs_word_state(GET(*word));
}

static bool group_is_chained(const struct rs_index *index, uint32_t i)
{
    struct rs_artifact_key key = rs_group_key(rs_group_at(index, i));
    uint32_t at = GET(*rs_group_head(index, &key));
    for (int step = 0; at != 0 && at != i + 1 && step < RS_STEPS; step++) {
        const struct rs_group *group = rs_group_at(index, at - 1);
        at = group ? GET(group->next) : 0;
    }
    return at == i + 1;
}

static bool object_is_chained(const struct rs_index *index, uint32_t i)
{
    uint32_t at = GET(*rs_object_head(index, GET(rs_object_at(index, i)->low)));
    for (int step = 0; at != 0 && at != i + 1 && step < RS_STEPS; step++) {
        const struct rs_object *object = rs_object_at(index, at - 1);
        at = object ? GET(object->next) : 0;
    }
    return at == i + 1;
}

static void check_groups(struct check *check)
{
    const struct rs_index *index = check->index;
    uint32_t top = rs_groups_top(index);
    for (uint32_t i = 0; i < top; i++) {
        const struct rs_group *group = rs_group_at(index, i);
        unsigned state = state_of(&group->word);
        if (state == RS_ENTRY_FREE) {
            check->free_groups++;
            continue;
        }
        check->groups++;
        check->faults[RS_FAULT_CHAIN] += state == RS_ENTRY_READY && !group_is_chained(index, i);
        for (int part = 0; part < RS_GROUP_OBJECTS; part++) {
            uint32_t at = GET(group->objects[part]);
            const struct rs_object *object = at ? rs_object_at(index, at - 1) : NULL;
            bool whole = object && state_of(&object->word) != RS_ENTRY_FREE;
            bool listed = at != 0 || (state == RS_ENTRY_READY && part < (int)GET(group->count));
            check->faults[RS_FAULT_REFERENCE] += listed && !whole;
        }
    }
}

/* How often groups list each object, without memory of our own: a pass over the groups for the
 * objects of one block of numbers. */
enum { BLOCK = 4096 };
static void count_block(const struct rs_index *index, uint32_t from, uint32_t refs[BLOCK])
{
    uint32_t top = rs_groups_top(index);
    memset(refs, 0, BLOCK * sizeof(refs[0]));
    for (uint32_t i = 0; i < top; i++) {
        const struct rs_group *group = rs_group_at(index, i);
        for (int part = 0; state_of(&group->word) != RS_ENTRY_FREE && part < RS_GROUP_OBJECTS;
             part++) {
            uint32_t at = GET(group->objects[part]) - 1;
            if (at >= from && at - from < BLOCK) {
                refs[at - from]++;
            }
        }
    }
}

static bool all_set(const struct rs_blocks *blocks, uint64_t at, uint32_t size)
{
    for (uint64_t i = at; i < at + size; i++) {
        if (!(GET(blocks->bits[i / 64]) >> i % 64 & 1)) {
            return false;
        }
    }
    return true;
}

static void check_object(struct check *check, const struct rs_blocks *blocks, uint32_t i,
                         uint32_t refs)
{
    const struct rs_object *object = rs_object_at(check->index, i);
    unsigned state = state_of(&object->word);
    if (state == RS_ENTRY_FREE) {
        check->free_objects++;
        return;
    }
    uint64_t at = GET(object->offset) / RS_GRANULE;
    uint32_t size = rs_granules(GET(object->stored));
    bool inside = at < blocks->count && size <= blocks->count - at;
    check->objects++;
    check->bytes += (uint64_t)size * RS_GRANULE;
    check->faults[RS_FAULT_COUNT] += GET(object->refs) != refs || refs == 0;
    check->faults[RS_FAULT_BLOCK] += !inside;
    check->faults[RS_FAULT_BITMAP] += inside && !all_set(blocks, at, size);
    check->faults[RS_FAULT_CHAIN] += state == RS_ENTRY_READY && !object_is_chained(check->index, i);
}

static void check_objects(struct check *check)
{
    uint32_t refs[BLOCK];
    struct rs_blocks blocks = rs_index_blocks(check->index);
    uint32_t top = rs_objects_top(check->index);
    for (uint32_t i = 0; i < top; i++) {
        if (i % BLOCK == 0) {
            count_block(check->index, i, refs);
        }
        check_object(check, &blocks, i, refs[i % BLOCK]);
    }
    uint64_t set = 0;
    for (uint32_t i = 0; i < (blocks.count + 63) / 64; i++) {
        set += (uint64_t)__builtin_popcountll(GET(blocks.bits[i]));
    }
    check->faults[RS_FAULT_BITMAP] += set * RS_GRANULE != check->bytes;
}

static void check_lists(struct check *check)
{
    const struct rs_index *index = check->index;
    uint32_t at = GET(index->segment->groups_free), seen = 0;
    for (; at != 0 && seen <= check->free_groups; seen++) {
        const struct rs_group *group = rs_group_at(index, at - 1);
        check->faults[RS_FAULT_LIST] += !group || state_of(&group->word) != RS_ENTRY_FREE;
        at = group ? GET(group->next) : 0;
    }
    check->faults[RS_FAULT_LIST] += seen != check->free_groups;
    at = GET(index->segment->objects_free), seen = 0;
    for (; at != 0 && seen <= check->free_objects; seen++) {
        const struct rs_object *object = rs_object_at(index, at - 1);
        check->faults[RS_FAULT_LIST] += !object || state_of(&object->word) != RS_ENTRY_FREE;
        at = object ? GET(object->next) : 0;
    }
    check->faults[RS_FAULT_LIST] += seen != check->free_objects;
}

bool rs_index_check(struct rs_store *store, unsigned faults[RS_FAULTS])
{
    struct rs_index index;
    struct check check = {.index = &index, .faults = faults};
    int saved = errno;
    struct rs_process self = rs_process_self();
    uint64_t tag = rs_process_tag(&self);
    memset(faults, 0, RS_FAULTS * sizeof(faults[0]));
    if (!rs_index_open(store, &index)) {
        errno = saved;
        return true; /* there is none */
    }
    bool locked = store->writable && rs_index_lock(&index, tag);
    if (locked) {
        check_groups(&check);
        check_objects(&check);
        check_lists(&check);
        const struct rs_segment *segment = store->segment;
        faults[RS_FAULT_SUM] += (GET(segment->groups_used) != check.groups) +
                                (GET(segment->objects_used) != check.objects) +
                                (GET(segment->arena_used) != check.bytes);
        rs_index_unlock(&index, tag);
    }
    errno = saved;
    return locked;
}
