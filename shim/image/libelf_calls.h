/* SPDX-License-Identifier: Apache-2.0
 *
 * What libelf calls in the place of libc's functions: the Makefile renames its references
 * (libelf_calls.def). Its error number is a thread-local of its own in a model that a shared object
 * can't have, so that is ours as well.
 */
#ifndef RS_IMAGE_LIBELF_CALLS_H
#define RS_IMAGE_LIBELF_CALLS_H

#include "base/arena.h"

#include <setjmp.h>
#include <stddef.h>

/* One look at one image. */
struct rs_libelf_scope {
    struct rs_arena arena;
    jmp_buf out; /* where a failed assertion goes */
};

/* Makes SCOPE the one that this thread's calls of libelf use; NULL: none. */
void rs_libelf_enter(struct rs_libelf_scope *scope);

void *rs_libelf_malloc(size_t size);
void *rs_libelf_calloc(size_t count, size_t size);
void *rs_libelf_realloc(void *memory, size_t size);
void rs_libelf_free(void *memory);
_Noreturn void rs_libelf___assert_fail(const char *assertion, const char *file, unsigned line,
                                       const char *function);
void *rs_libelf_mmap(void);
void *rs_libelf_mmap64(void);
void *rs_libelf_mremap(void);
#define RS_LIBELF_OWN(name)
#define RS_LIBELF_FILE(name) int rs_libelf_##name(void);
#include "image/libelf_calls.def"
#undef RS_LIBELF_OWN
#undef RS_LIBELF_FILE

void __libelf_seterrno(int value);
int elf_errno(void);

#endif
