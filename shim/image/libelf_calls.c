/* SPDX-License-Identifier: Apache-2.0
 *
 * libelf's surroundings. It is never told that a look is over (elf_end): its memory goes with the
 * arena, whatever state an assertion left it in.
 */
#include "image/libelf_calls.h"

#include "base/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* The look that this thread is at. */
static _Thread_local struct rs_libelf_scope *scope;

void rs_libelf_enter(struct rs_libelf_scope *entered)
{
    scope = entered;
}

void *rs_libelf_malloc(size_t size)
{
    return rs_arena_alloc(&scope->arena, size);
}

void *rs_libelf_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    void *memory = rs_arena_alloc(&scope->arena, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

/* Nothing that libelf does to a file in memory grows a block. */
void *rs_libelf_realloc(void *memory, size_t size)
{
    (void)memory;
    (void)size;
    return NULL;
}

void rs_libelf_free(void *memory)
{
    (void)memory;
}

_Noreturn void rs_libelf___assert_fail(const char *assertion, const char *file, unsigned line,
                                       const char *function)
{
    (void)assertion;
    (void)file;
    (void)line;
    (void)function;
    longjmp(scope->out, 1);
}

static void *no_mapping(void)
{
    errno = EBADF;
    return MAP_FAILED;
}

void *rs_libelf_mmap(void)
{
    return no_mapping();
}

void *rs_libelf_mmap64(void)
{
    return no_mapping();
}

void *rs_libelf_mremap(void)
{
    return no_mapping();
}

#define RS_LIBELF_OWN(name)
#define RS_LIBELF_FILE(name)                                                                       \
    int rs_libelf_##name(void)                                                                     \
    {                                                                                              \
        errno = EBADF;                                                                             \
        return -1;                                                                                 \
    }
#include "image/libelf_calls.def"
#undef RS_LIBELF_OWN
#undef RS_LIBELF_FILE

void __libelf_seterrno(int value)
{
    (void)value; /* a failure is a failure */
}

int elf_errno(void)
{
    return 0;
}
