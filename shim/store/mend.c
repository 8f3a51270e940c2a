/* SPDX-License-Identifier: Apache-2.0
 *
 * After a writer's death: everything but the entries' words and fields is a summary of them, and is
 * made anew. Under the lock. Readers beside it may miss what is there for as long as it takes.
 */
#include "store/index.h"
#include "store/kill_point.h"
#include "store/process.h"

#include <stdatomic.h>

enum { PATIENCE_MS = 600 * 1000 }; /* as long as leases of foreign pid namespaces are believed */

static unsigned state_of(const _Atomic uint64_t *word)
{
    return rs_word_state(atomic_load_explicit(word, memory_order_relaxed));
}

static void end_entry(_Atomic uint64_t *word)
{
    uint64_t generation = rs_word_generation(atomic_load_explicit(word, memory_order_relaxed));
    atomic_store(word, rs_word(RS_ENTRY_FREE, generation + 1));
}

bool rs_group_abandoned(const struct rs_index *index, uint32_t i)
{
    const struct rs_group *group = rs_group_at(index, i);
    if (state_of(&group->word) != RS_ENTRY_WRITING) {
        return false;
    }
    uint64_t since = atomic_load_explicit(&rs_stamps(index)[i], memory_order_relaxed);
    return rs_now_ms() > since + PATIENCE_MS ||
           rs_tag_alive(atomic_load_explicit(&group->owner, memory_order_relaxed)) == 0;
}

/* Which groups stay: whole ones, and those that a living process writes. */
static void mend_groups(struct rs_index *index)
{
    uint32_t top = rs_groups_top(index);
    for (uint32_t i = 0; i < top; i++) {
        struct rs_group *group = rs_group_at(index, i);
        unsigned state = state_of(&group->word);
        bool stays =
            state == RS_ENTRY_READY || (state == RS_ENTRY_WRITING && !rs_group_abandoned(index, i));
        if (!stays && state != RS_ENTRY_FREE) {
            end_entry(&group->word);
        }
    }
}

/* Entries in use that lie behind the tops: no process of ours left them there, yet they are not to
 * be given away. */
static void mend_tops(struct rs_index *index)
{
    const struct rs_group *group;
    const struct rs_object *object;
    uint32_t i = rs_groups_top(index), top = i;
    for (; (group = rs_group_at(index, i)) != NULL; i++) {
        top = state_of(&group->word) != RS_ENTRY_FREE ? i + 1 : top;
    }
    atomic_store_explicit(&index->segment->groups_top, top, memory_order_release);
    for (i = top = rs_objects_top(index); (object = rs_object_at(index, i)) != NULL; i++) {
        top = state_of(&object->word) != RS_ENTRY_FREE ? i + 1 : top;
    }
    atomic_store_explicit(&index->segment->objects_top, top, memory_order_release);
}

static void count_references(struct rs_index *index)
{
    uint32_t top = rs_objects_top(index);
    for (uint32_t i = 0; i < top; i++) {
        atomic_store_explicit(&rs_object_at(index, i)->refs, 0, memory_order_relaxed);
    }
    top = rs_groups_top(index);
    for (uint32_t i = 0; i < top; i++) {
        struct rs_group *group = rs_group_at(index, i);
        for (int part = 0; state_of(&group->word) != RS_ENTRY_FREE && part < RS_GROUP_OBJECTS;
             part++) {
            uint32_t at = atomic_load_explicit(&group->objects[part], memory_order_relaxed);
            struct rs_object *object = at ? rs_object_at(index, at - 1) : NULL;
            if (object) {
                atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
            }
        }
    }
}

static void clear(_Atomic uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        atomic_store_explicit(&words[i], 0, memory_order_relaxed);
    }
}

/* Objects that nobody lists, or whose block is not theirs, go. */
static void mend_objects(struct rs_index *index)
{
    struct rs_segment *segment = index->segment;
    struct rs_blocks blocks = rs_index_blocks(index);
    uint32_t top = rs_objects_top(index), used = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < (blocks.count + 63) / 64; i++) {
        atomic_store_explicit(&blocks.bits[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&segment->objects_free, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < top; i++) {
        struct rs_object *object = rs_object_at(index, i);
        uint64_t at = atomic_load_explicit(&object->offset, memory_order_relaxed) / RS_GRANULE;
        uint32_t size = rs_granules(atomic_load_explicit(&object->stored, memory_order_relaxed));
        bool stays = state_of(&object->word) != RS_ENTRY_FREE &&
                     atomic_load_explicit(&object->refs, memory_order_relaxed) > 0 &&
                     at < blocks.count && rs_blocks_mark(&blocks, (uint32_t)at, size);
        if (!stays) {
            end_entry(&object->word);
            rs_chain_add(&segment->objects_free, &object->next, i);
            continue;
        }
        used++;
        bytes += (uint64_t)size * RS_GRANULE;
        if (state_of(&object->word) == RS_ENTRY_READY) {
            uint64_t low = atomic_load_explicit(&object->low, memory_order_relaxed);
            rs_chain_add(rs_object_head(index, low), &object->next, i);
        }
    }
    atomic_store_explicit(&segment->objects_used, used, memory_order_relaxed);
    atomic_store_explicit(&segment->arena_used, bytes, memory_order_relaxed);
}

static bool lacks_object(const struct rs_index *index, const struct rs_group *group)
{
    bool lacks = false;
    for (int part = 0; !lacks && part < RS_GROUP_OBJECTS; part++) {
        uint32_t at = atomic_load_explicit(&group->objects[part], memory_order_relaxed);
        const struct rs_object *object = at ? rs_object_at(index, at - 1) : NULL;
        lacks = at && (!object || state_of(&object->word) == RS_ENTRY_FREE);
    }
    return lacks;
}

/* True: groups went whose objects did not stay. Later they would give back what is another's by
 * then. */
static bool end_lacking(struct rs_index *index)
{
    bool some = false;
    uint32_t top = rs_groups_top(index);
    for (uint32_t i = 0; i < top; i++) {
        struct rs_group *group = rs_group_at(index, i);
        if (state_of(&group->word) != RS_ENTRY_FREE && lacks_object(index, group)) {
            end_entry(&group->word);
            some = true;
        }
    }
    return some;
}

static void chain_groups(struct rs_index *index)
{
    struct rs_segment *segment = index->segment;
    uint32_t top = rs_groups_top(index), used = 0;
    atomic_store_explicit(&segment->groups_free, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < top; i++) {
        struct rs_group *group = rs_group_at(index, i);
        if (state_of(&group->word) == RS_ENTRY_FREE) {
            atomic_store_explicit(&rs_stamps(index)[i], 0, memory_order_relaxed);
            rs_chain_add(&segment->groups_free, &group->next, i);
            continue;
        }
        used++;
        if (state_of(&group->word) == RS_ENTRY_READY) {
            struct rs_artifact_key key = rs_group_key(group);
            rs_chain_add(rs_group_head(index, &key), &group->next, i);
        }
    }
    atomic_store_explicit(&segment->groups_used, used, memory_order_relaxed);
}

void rs_index_mend(struct rs_index *index)
{
    RS_KILL_POINT(mend_begun);
    mend_tops(index);
    mend_groups(index);
    clear((void *)(index->at + RS_IN_GROUP_HEADS), RS_HEADS);
    do { /* each time there are fewer groups */
        count_references(index);
        clear((void *)(index->at + RS_IN_OBJECT_HEADS), RS_HEADS);
        RS_KILL_POINT(mend_cleared);
        mend_objects(index);
        RS_KILL_POINT(mend_objects);
    } while (end_lacking(index));
    chain_groups(index);
}
