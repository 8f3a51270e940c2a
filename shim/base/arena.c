/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* as gcc says it */
#endif
#endif

struct rs_arena_chunk {
    struct rs_arena_chunk *next;
    size_t size; /* of the mapping */
    size_t at;   /* first free byte */
};

enum {
    FIRST_CHUNK = 16 * 1024 * 1024, /* holds an entry of some MB and all that is found in it */
    MORE_CHUNK = 1024 * 1024,
    MIN_CHUNK = 256 * 1024,
    KEPT = 1024 * 1024, /* of a chunk that waits: enough for a key's details */
    ALIGN = 16,
};

/* One chunk of FIRST_CHUNK bytes waits here for the next arena: getting fresh pages costs more than
 * all that is done to a key's details in them, and as much as reading an entry. All but the first
 * KEPT bytes are the kernel's to take back when it needs memory. Another one of MIN_CHUNK bytes
 * waits for small arenas. A fork child inherits copies of its own. */
static _Atomic(struct rs_arena_chunk *) spare, small_spare;

static _Atomic(struct rs_arena_chunk *) *spare_of(size_t size)
{
    return size == FIRST_CHUNK ? &spare : size == MIN_CHUNK ? &small_spare : NULL;
}

void rs_arena_init(struct rs_arena *arena, size_t limit)
{
    *arena = (struct rs_arena){.limit = limit, .first = FIRST_CHUNK};
}

void rs_arena_init_small(struct rs_arena *arena, size_t limit)
{
    *arena = (struct rs_arena){.limit = limit, .first = MIN_CHUNK};
}

static size_t round_up(size_t value, size_t to)
{
    return (value + to - 1) & ~(to - 1);
}

static size_t first_free(void)
{
    return round_up(sizeof(struct rs_arena_chunk), ALIGN);
}

static struct rs_arena_chunk *map_chunk(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Memory for a chunk of *SIZE bytes, at least NEEDED: the spare one where it fits. */
static struct rs_arena_chunk *get_memory(size_t *size, size_t needed)
{
    _Atomic(struct rs_arena_chunk *) *waiting = spare_of(*size);
    struct rs_arena_chunk *chunk = waiting ? atomic_exchange(waiting, NULL) : NULL;
    if (chunk) {
        return chunk;
    }
    int saved = errno;
    chunk = map_chunk(*size);
    if (!chunk && needed < *size) { /* little address space left (ulimit -v) */
        *size = needed;
        chunk = map_chunk(needed);
    }
    errno = saved;
    return chunk;
}

static void give_back(struct rs_arena_chunk *chunk)
{
    size_t size = chunk->size;
    _Atomic(struct rs_arena_chunk *) *waiting = spare_of(size);
    if (waiting && !atomic_load(waiting) &&
        (chunk->at <= KEPT || madvise((char *)chunk + KEPT, chunk->at - KEPT, MADV_FREE) == 0)) {
        chunk = atomic_exchange(waiting, chunk);
    }
    if (chunk) {
        munmap(chunk, size);
    }
}

static struct rs_arena_chunk *add_chunk(struct rs_arena *arena, size_t size)
{
    size_t needed = round_up(size + first_free(), 4096);
    size_t left = arena->limit - arena->used;
    size_t usual = arena->chunks ? MORE_CHUNK : arena->first;
    if (needed > left) {
        return NULL;
    }
    if (usual > left) {
        usual = MIN_CHUNK < left ? MIN_CHUNK : needed;
    }
    size_t want = needed > usual ? needed : usual;
    struct rs_arena_chunk *chunk = get_memory(&want, needed);
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
#ifdef __SANITIZE_ADDRESS__
    memset(memory, 0xa5, size); /* who counts on zeros is seen */
#endif
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
    arena->chunks = NULL;
    arena->used = 0;
}
