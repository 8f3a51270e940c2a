/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

struct rs_arena_chunk {
    struct rs_arena_chunk *next;
    size_t size; /* of the mapping */
    size_t at;   /* first free byte */
};

enum { MIN_CHUNK = 256 * 1024, SPARE_CHUNK = 1024 * 1024, ALIGN = 16 };

/* One zeroed chunk of SPARE_CHUNK bytes waits here for the next arena: getting fresh pages costs
 * more than all that is done to a key's details in them. A fork child inherits a copy of its own.
 */
static _Atomic(struct rs_arena_chunk *) spare;

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

static size_t first_free(void)
{
    return round_up(sizeof(struct rs_arena_chunk), ALIGN);
}

/* SIZE zeroed bytes of memory for a chunk, the spare one where it fits. */
static struct rs_arena_chunk *get_memory(size_t size)
{
    struct rs_arena_chunk *kept = size == SPARE_CHUNK ? atomic_exchange(&spare, NULL) : NULL;
    if (kept) {
        return kept;
    }
    int saved = errno;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    return memory == MAP_FAILED ? NULL : memory;
}

static void give_back(struct rs_arena_chunk *chunk)
{
    size_t size = chunk->size;
    if (size == SPARE_CHUNK && !atomic_load(&spare)) {
        memset(chunk, 0, chunk->at);
        chunk = atomic_exchange(&spare, chunk);
    }
    if (chunk) {
        munmap(chunk, size);
    }
}

static struct rs_arena_chunk *add_chunk(struct rs_arena *arena, size_t size)
{
    size_t want = round_up(size + first_free(), 4096);
    size_t usual = !arena->chunks && arena->limit >= SPARE_CHUNK ? SPARE_CHUNK : MIN_CHUNK;
    if (want < usual) {
        want = usual;
    }
    if (want > arena->limit || arena->used > arena->limit - want) {
        return NULL;
    }
    struct rs_arena_chunk *chunk = get_memory(want);
    if (!chunk) {
        return NULL;
    }
    chunk->next = arena->chunks;
    chunk->size = want;
    chunk->at = first_free();
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
        give_back(chunk);
        chunk = next;
    }
    errno = saved;
    rs_arena_init(arena, arena->limit);
}
