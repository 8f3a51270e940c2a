/* SPDX-License-Identifier: Apache-2.0
 *
 * Bump allocator over anonymous mappings. The library must not call the program's malloc inside
 * its hooks (an allocator may itself be what called the hook), so everything that lives for one
 * operation comes from an arena and goes with it.
 *
 * An arena belongs to one thread at a time. It survives fork (private memory) and is never shared.
 */
#ifndef RS_BASE_ARENA_H
#define RS_BASE_ARENA_H

#include <stddef.h>

struct rs_arena_chunk;

struct rs_arena {
    struct rs_arena_chunk *chunks; /* newest first */
    size_t used;                   /* bytes mapped so far */
    size_t limit;                  /* bytes that may be mapped */
    size_t first;                  /* size of its first chunk */
};

/* An empty arena that will map at most LIMIT bytes. Makes no system call. */
void rs_arena_init(struct rs_arena *arena, size_t limit);

/* The same for what mostly needs some kB, beside an arena that needs much: each has a chunk waiting
 * of its own kind. */
void rs_arena_init_small(struct rs_arena *arena, size_t limit);

/* SIZE bytes of any content, aligned to 16, or NULL when the limit is reached or mmap fails. The
 * memory belongs to the arena. */
void *rs_arena_alloc(struct rs_arena *arena, size_t size);

/* Unmaps everything but one chunk for the next arena of its kind. The arena is empty and can be
 * used again. errno is preserved. */
void rs_arena_free(struct rs_arena *arena);

#endif
