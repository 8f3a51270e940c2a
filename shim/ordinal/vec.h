/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing arrays in an arena. The old copy stays in the arena until all of it goes.
 */
#ifndef RS_ORDINAL_VEC_H
#define RS_ORDINAL_VEC_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define RS_VEC(type)                                                                               \
    struct {                                                                                       \
        type *items;                                                                               \
        uint32_t count;                                                                            \
        uint32_t capacity;                                                                         \
    }

/* Most items of one array; a bound against hostile input, far above any real artifact. */
enum { RS_VEC_MAX = 1 << 24, RS_VEC_FIRST = 256 };

static inline void *rs_vec_grown(struct rs_arena *arena, const void *items, uint32_t count,
                                 uint32_t *capacity, size_t item_size)
{
    uint32_t wanted = *capacity ? *capacity * 2 : RS_VEC_FIRST;
    if (wanted > RS_VEC_MAX) {
        return NULL;
    }
    void *grown = rs_arena_alloc(arena, wanted * item_size);
    if (grown && count) {
        memcpy(grown, items, count * item_size);
    }
    *capacity = grown ? wanted : 0;
    return grown;
}

/* More capacity. False when memory or the limit is exhausted, and then VEC must not be used any
 * more.
 */
#define RS_VEC_GROW(arena, vec)                                                                    \
    (((vec)->items = rs_vec_grown((arena), (vec)->items, (vec)->count, &(vec)->capacity,           \
                                  sizeof(*(vec)->items))) != NULL)

/* True when VEC has room for one more item; false as above. */
#define RS_VEC_ROOM(arena, vec) ((vec)->count < (vec)->capacity || RS_VEC_GROW((arena), (vec)))

/* Room for WANTED items in an empty VEC. Memory that is never touched costs nothing, while growing
 * step by step touches everything twice. */
#define RS_VEC_RESERVE(arena, vec, wanted)                                                         \
    ((vec)->capacity = (wanted),                                                                   \
     ((vec)->items = rs_arena_alloc((arena), (size_t)(wanted) * sizeof(*(vec)->items))) != NULL)

#endif
