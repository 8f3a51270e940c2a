/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of the index, all under the store's lock. A reader beside them may miss an entry for a
 * moment, never see a wrong one: its fields hold while its word is the same.
 */
#include "store/index.h"
#include "store/kill_point.h"
#include "store/owner_lock.h"

#include <stdatomic.h>

bool rs_index_lock(struct rs_index *index, uint64_t tag)
{
    enum rs_lock lock = rs_owner_lock(&index->segment->store_lock, tag);
    if (lock == RS_LOCK_INHERITED) {
        rs_index_mend(index);
    }
    return lock != RS_LOCK_BUSY;
}

void rs_index_unlock(struct rs_index *index, uint64_t tag)
{
    rs_owner_unlock(&index->segment->store_lock, tag);
}

void rs_chain_add(_Atomic uint32_t *head, _Atomic uint32_t *next, uint32_t i)
{
    uint32_t first = atomic_load_explicit(head, memory_order_relaxed);
    atomic_store_explicit(next, first, memory_order_release);
    atomic_store_explicit(head, i + 1, memory_order_release);
}

void rs_group_unchain(const struct rs_index *index, uint32_t i)
{
    struct rs_group *group = rs_group_at(index, i);
    if (!group) {
        return;
    }
    struct rs_artifact_key key = rs_group_key(group);
    _Atomic uint32_t *link = rs_group_head(index, &key);
    for (int step = 0; step < RS_STEPS; step++) {
        uint32_t at = atomic_load_explicit(link, memory_order_relaxed);
        struct rs_group *here = at ? rs_group_at(index, at - 1) : NULL;
        if (!here) {
            return;
        }
        if (here == group) {
            uint32_t after = atomic_load_explicit(&group->next, memory_order_relaxed);
            atomic_store_explicit(link, after, memory_order_release);
            return;
        }
        link = &here->next;
    }
}

void rs_object_unchain(const struct rs_index *index, uint32_t i)
{
    struct rs_object *object = rs_object_at(index, i);
    if (!object) {
        return;
    }
    _Atomic uint32_t *link =
        rs_object_head(index, atomic_load_explicit(&object->low, memory_order_relaxed));
    for (int step = 0; step < RS_STEPS; step++) {
        uint32_t at = atomic_load_explicit(link, memory_order_relaxed);
        struct rs_object *here = at ? rs_object_at(index, at - 1) : NULL;
        if (!here) {
            return;
        }
        if (here == object) {
            uint32_t after = atomic_load_explicit(&object->next, memory_order_relaxed);
            atomic_store_explicit(link, after, memory_order_release);
            return;
        }
        link = &here->next;
    }
}

static bool is_free(const _Atomic uint64_t *word)
{
    return rs_word_state(atomic_load_explicit(word, memory_order_relaxed)) == RS_ENTRY_FREE;
}

/* An entry of the list at FREE, else the one at TOP. */
static uint32_t vacant(_Atomic uint32_t *free, _Atomic uint32_t *next, _Atomic uint32_t *top,
                       uint32_t from_list, uint32_t room)
{
    if (from_list != RS_NO_ENTRY) {
        atomic_store_explicit(free, atomic_load_explicit(next, memory_order_relaxed),
                              memory_order_relaxed);
        return from_list;
    }
    uint32_t at = atomic_load_explicit(top, memory_order_relaxed);
    if (at >= room) {
        return RS_NO_ENTRY;
    }
    atomic_store_explicit(top, at + 1, memory_order_release);
    return at;
}

uint32_t rs_group_vacant(struct rs_index *index)
{
    struct rs_segment *segment = index->segment;
    uint32_t first = atomic_load_explicit(&segment->groups_free, memory_order_relaxed);
    struct rs_group *group = first ? rs_group_at(index, first - 1) : NULL;
    const struct rs_group *next = rs_group_at(index, first ? first - 1 : rs_groups_top(index));
    if (next ? !is_free(&next->word) : first != 0) {
        rs_index_mend(index); /* no process of ours wrote that */
        return RS_NO_ENTRY;
    }
    uint32_t room = atomic_load_explicit(&segment->groups_room, memory_order_relaxed);
    return vacant(&segment->groups_free, group ? &group->next : NULL, &segment->groups_top,
                  group ? first - 1 : RS_NO_ENTRY, room < RS_GROUPS ? room : RS_GROUPS);
}

uint32_t rs_object_vacant(struct rs_index *index)
{
    struct rs_segment *segment = index->segment;
    uint32_t first = atomic_load_explicit(&segment->objects_free, memory_order_relaxed);
    struct rs_object *object = first ? rs_object_at(index, first - 1) : NULL;
    const struct rs_object *next = rs_object_at(index, first ? first - 1 : rs_objects_top(index));
    if (next ? !is_free(&next->word) : first != 0) {
        rs_index_mend(index);
        return RS_NO_ENTRY;
    }
    uint32_t room = atomic_load_explicit(&segment->objects_room, memory_order_relaxed);
    return vacant(&segment->objects_free, object ? &object->next : NULL, &segment->objects_top,
                  object ? first - 1 : RS_NO_ENTRY, room < RS_OBJECTS ? room : RS_OBJECTS);
}

static void set_free(_Atomic uint64_t *word, _Atomic uint32_t *next, _Atomic uint32_t *list,
                     uint32_t i)
{
    uint64_t generation = rs_word_generation(atomic_load_explicit(word, memory_order_relaxed));
    atomic_store(word, rs_word(RS_ENTRY_FREE, generation + 1));
    RS_KILL_POINT(entry_freed);
    rs_chain_add(list, next, i);
}

static void subtract(_Atomic uint32_t *sum)
{
    uint32_t value = atomic_load_explicit(sum, memory_order_relaxed);
    atomic_store_explicit(sum, value ? value - 1 : 0, memory_order_relaxed);
}

void rs_object_drop(struct rs_index *index, uint32_t one_more)
{
    struct rs_object *object = one_more ? rs_object_at(index, one_more - 1) : NULL;
    if (!object || is_free(&object->word)) {
        return;
    }
    uint32_t refs = atomic_load_explicit(&object->refs, memory_order_relaxed);
    if (refs > 1) {
        atomic_store_explicit(&object->refs, refs - 1, memory_order_relaxed);
        return;
    }
    uint64_t word = atomic_load_explicit(&object->word, memory_order_relaxed);
    if (rs_word_state(word) == RS_ENTRY_READY) {
        rs_object_unchain(index, one_more - 1);
    }
    RS_KILL_POINT(object_unchained);
    struct rs_blocks blocks = rs_index_blocks(index);
    uint64_t offset = atomic_load_explicit(&object->offset, memory_order_relaxed) / RS_GRANULE;
    uint32_t size = rs_granules(atomic_load_explicit(&object->stored, memory_order_relaxed));
    if (offset < UINT32_MAX) {
        rs_blocks_give(&blocks, (uint32_t)offset, size);
    }
    uint64_t used = atomic_load_explicit(&index->segment->arena_used, memory_order_relaxed);
    uint64_t bytes = (uint64_t)size * RS_GRANULE;
    atomic_store_explicit(&index->segment->arena_used, used > bytes ? used - bytes : 0,
                          memory_order_relaxed);
    subtract(&index->segment->objects_used);
    set_free(&object->word, &object->next, &index->segment->objects_free, one_more - 1);
}

void rs_object_condemn(struct rs_index *index, uint32_t i)
{
    struct rs_object *object = rs_object_at(index, i);
    uint64_t word = object ? atomic_load_explicit(&object->word, memory_order_relaxed) : 0;
    if (rs_word_state(word) == RS_ENTRY_READY) {
        atomic_store(&object->word, rs_word(RS_ENTRY_LEAVING, rs_word_generation(word)));
        rs_object_unchain(index, i);
    }
}

void rs_group_free(struct rs_index *index, uint32_t i)
{
    struct rs_group *group = rs_group_at(index, i);
    if (!group || is_free(&group->word)) {
        return;
    }
    uint64_t word = atomic_load_explicit(&group->word, memory_order_relaxed);
    bool chained = rs_word_state(word) != RS_ENTRY_WRITING;
    atomic_store(&group->word, rs_word(RS_ENTRY_LEAVING, rs_word_generation(word)));
    RS_KILL_POINT(group_leaving);
    if (chained) {
        rs_group_unchain(index, i);
    }
    for (int part = 0; part < RS_GROUP_OBJECTS; part++) {
        uint32_t object = atomic_load_explicit(&group->objects[part], memory_order_relaxed);
        atomic_store_explicit(&group->objects[part], 0, memory_order_relaxed);
        rs_object_drop(index, object);
    }
    atomic_store_explicit(&rs_stamps(index)[i], 0, memory_order_relaxed);
    subtract(&index->segment->groups_used);
    set_free(&group->word, &group->next, &index->segment->groups_free, i);
}
