/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

struct rs_arena_chunk {
    struct rs_arena_chunk *next;
    size_t size; /* of the mapping */
    size_t at;   /* first free byte */
};

enum { MIN_CHUNK = 256 * 1024, ALIGN = 16 };

void rs_arena_init(struct rs_arena *arena, size_t limit)
{
    arena->chunks = NULL;
    arena->used = 0;
    arena->limit = limit;
}

static size_t round_up(size_t value, size_t to)
{
    return (value + to - 1) & ~(to - 1);
}

static struct rs_arena_chunk *add_chunk(struct rs_arena *arena, size_t size)
{
    size_t want = round_up(size + round_up(sizeof(struct rs_arena_chunk), ALIGN), 4096);
    if (want < MIN_CHUNK) {
        want = MIN_CHUNK;
    }
    if (want > arena->limit || arena->used > arena->limit - want) {
        return NULL;
    }
    int saved = errno;
    void *memory = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    if (memory == MAP_FAILED) {
        return NULL;
    }
    struct rs_arena_chunk *chunk = memory;
    chunk->next = arena->chunks;
    chunk->size = want;
    chunk->at = round_up(sizeof(*chunk), ALIGN);
    arena->chunks = chunk;
    arena->used += want;
    return chunk;
}

void *rs_arena_alloc(struct rs_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = round_up(size ? size : 1, ALIGN);
    struct rs_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->at < size) {
        chunk = add_chunk(arena, size);
        if (!chunk) {
            return NULL;
        }
    }
    void *memory = (char *)chunk + chunk->at;
    chunk->at += size;
    return memory;
}

void rs_arena_free(struct rs_arena *arena)
{
    int saved = errno;
    struct rs_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct rs_arena_chunk *next = chunk->next;
        munmap(chunk, chunk->size);
        chunk = next;
    }
    errno = saved;
    rs_arena_init(arena, arena->limit);
}
