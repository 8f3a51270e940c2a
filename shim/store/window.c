/* SPDX-License-Identifier: Apache-2.0
 *
 * Room in one piece. Strictly by age, groups go from all over the arena until a hole happens to be
 * large enough, and where the young ones lie scattered that is the end of nearly all. So the arena
 * is looked at in chunks, and what goes is the stretch in which whatever was used last was used
 * longest ago.
 */
#include "store/window.h"

#include "base/arena.h"
#include "store/evict.h"

#include <stdatomic.h>
#include <string.h>

enum { CHUNKS = 4096 };
static const uint64_t never = UINT64_MAX;

#define GET(field) atomic_load_explicit(&(field), memory_order_relaxed)

struct map {
    struct rs_index *index;
    bool hard;
    uint32_t chunk, count; /* granules of a chunk, chunks */
    uint64_t *newest;      /* of each chunk: the last use of anything in it, or never to go */
};

/* The chunks that object ONE_MORE - 1 lies in: from *FIRST to below *END. */
static bool chunks_of(const struct map *map, uint32_t one_more, uint32_t *first, uint32_t *end)
{
    const struct rs_object *object = one_more ? rs_object_at(map->index, one_more - 1) : NULL;
    if (!object) {
        return false;
    }
    uint64_t at = GET(object->offset) / RS_GRANULE, after = at + rs_granules(GET(object->stored));
    uint64_t last = (after - 1) / map->chunk;
    if (at / map->chunk >= map->count) {
        return false;
    }
    *first = (uint32_t)(at / map->chunk);
    *end = (uint32_t)(last < map->count ? last + 1 : map->count);
    return true;
}

/* Group I was last used at USED. */
static void see(const struct map *map, uint32_t i, uint64_t used)
{
    const struct rs_group *group = rs_group_at(map->index, i);
    for (int part = 0; group && part < RS_GROUP_OBJECTS; part++) {
        uint32_t first, end;
        if (chunks_of(map, GET(group->objects[part]), &first, &end)) {
            for (uint32_t c = first; c < end; c++) {
                map->newest[c] = map->newest[c] > used ? map->newest[c] : used;
            }
        }
    }
}

static void see_all(const struct map *map)
{
    uint32_t top = rs_groups_top(map->index);
    for (uint32_t i = 0; i < top; i++) {
        const struct rs_group *group = rs_group_at(map->index, i);
        if (group && rs_word_state(atomic_load(&group->word)) != RS_ENTRY_FREE) {
            bool may = rs_evictable(map->index, i, map->hard);
            see(map, i, may ? GET(rs_stamps(map->index)[i]) : never);
        }
    }
    for (int i = 0; i < RS_PINS; i++) {
        uint32_t group = (uint32_t)atomic_load(&rs_pins(map->index)[i].group);
        if (group) {
            see(map, group - 1, never);
        }
    }
}

/* The first chunk of the SIZE chunks that rested longest; RS_NO_BLOCK: none may go. */
static uint32_t choose(const struct map *map, uint32_t size)
{
    uint32_t best = RS_NO_BLOCK, start = 0;
    uint64_t least = never;
    while (size <= map->count && start <= map->count - size) {
        uint64_t most = 0;
        uint32_t next = start + 1;
        for (uint32_t c = start; c < start + size && most < least; c++) {
            most = map->newest[c] > most ? map->newest[c] : most;
            next = map->newest[c] >= least ? c + 1 : next; /* no better one holds this chunk */
        }
        if (most < least) {
            best = start;
            least = most;
        }
        start = next;
    }
    return best;
}

static bool lies_in(const struct map *map, uint32_t i, uint32_t from, uint32_t to)
{
    const struct rs_group *group = rs_group_at(map->index, i);
    bool in = false;
    for (int part = 0; group && !in && part < RS_GROUP_OBJECTS; part++) {
        uint32_t first, end;
        in = chunks_of(map, GET(group->objects[part]), &first, &end) && first < to && end > from;
    }
    return in;
}

unsigned rs_evict_window(struct rs_index *index, uint32_t granules, bool hard)
{
    struct rs_arena memory;
    uint32_t all = rs_index_blocks(index).count, top = rs_groups_top(index);
    struct map map = {.index = index, .hard = hard, .chunk = (all + CHUNKS - 1) / CHUNKS};
    unsigned gone = 0;
    if (all == 0) {
        return 0;
    }
    map.count = all / map.chunk;
    rs_arena_init_small(&memory, 2 * CHUNKS * sizeof(uint64_t));
    map.newest = rs_arena_alloc(&memory, CHUNKS * sizeof(uint64_t));
    if (map.newest) {
        memset(map.newest, 0, CHUNKS * sizeof(uint64_t));
        see_all(&map);
        uint32_t size = (granules + map.chunk - 1) / map.chunk, from = choose(&map, size);
        for (uint32_t i = 0; from != RS_NO_BLOCK && i < top; i++) {
            gone += lies_in(&map, i, from, from + size) && rs_evict_group(index, i, hard);
        }
    }
    rs_arena_free(&memory);
    return gone;
}
