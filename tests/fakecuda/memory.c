/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory is host memory that is known by address: copies work, kernels would not. */
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fk_block *blocks;
static size_t count;
static size_t capacity;

static int remember(struct fk_block block)
{
    int rc = FK_OK;
    pthread_mutex_lock(&lock);
    if (count == capacity) {
        size_t more = capacity ? capacity * 2 : 64;
        struct fk_block *grown = realloc(blocks, more * sizeof(*blocks));
        if (grown) {
            blocks = grown;
            capacity = more;
        }
    }
    if (count < capacity)
        blocks[count++] = block;
    else
        rc = FK_OUT_OF_MEMORY;
    pthread_mutex_unlock(&lock);
    return rc;
}

static bool forget(const void *start, struct fk_block *out)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !found; i++) {
        if (blocks[i].start != (uintptr_t)start)
            continue;
        *out = blocks[i];
        blocks[i] = blocks[--count];
        found = true;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* mmap keeps untouched memory free and gives the alignment that CUDA promises (512 and more). */
int fk_alloc(void **out, size_t size, enum fk_memory type)
{
    *out = NULL;
    if (size == 0)
        return FK_OK;
    size = (size + 4095) & ~(size_t)4095;
    void *start = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return FK_OUT_OF_MEMORY;
    struct fk_block block = {(uintptr_t)start, size, type, fk_bind()};
    int rc = remember(block);
    if (rc != FK_OK)
        munmap(start, size);
    else
        *out = start;
    return rc;
}

int fk_free(void *pointer)
{
    struct fk_block block;
    if (!pointer)
        return FK_OK;
    if (!forget(pointer, &block))
        return FK_INVALID_VALUE;
    munmap(pointer, block.size);
    return FK_OK;
}

bool fk_find(const void *pointer, struct fk_block *out)
{
    bool found = false;
    uintptr_t address = (uintptr_t)pointer;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !found; i++) {
        if (address < blocks[i].start || address - blocks[i].start >= blocks[i].size)
            continue;
        *out = blocks[i];
        found = true;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int fk_register_host(void *pointer, size_t size)
{
    struct fk_block block = {(uintptr_t)pointer, size, FK_HOST, fk_bind()};
    return remember(block);
}

int fk_unregister_host(void *pointer)
{
    struct fk_block block;
    return forget(pointer, &block) ? FK_OK : FK_INVALID_VALUE;
}
