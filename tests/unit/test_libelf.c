/* SPDX-License-Identifier: Apache-2.0
 *
 * libelf's surroundings: what happens when it gives up, and that threads don't meet in it.
 */
#include "unit/test_image_files.h"

#include "image/cubin.h"
#include "image/libelf.h"
#include "image/libelf_calls.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

static bool assert_fails(Elf *elf, void *context)
{
    cr_assert(elf_nextscn(elf, NULL) && rs_libelf_malloc(100));
    *(bool *)context = true;
    rs_libelf___assert_fail("elf is whole", "elf_nextscn.c", 1, "elf_nextscn");
}

static bool succeeds(Elf *elf, void *context)
{
    (void)context;
    return elf_nextscn(elf, NULL) != NULL;
}

Test(libelf, a_failed_assertion_ends_the_look)
{
    struct rs_bytes image = image_file("plain.sm_90.cubin");
    for (unsigned i = 0; i < 1000; i++) { /* memory that stayed behind would be seen */
        bool reached = false;
        errno = 77;
        cr_assert(!rs_libelf_with(image, assert_fails, &reached) && reached && errno == 77);
        cr_assert(rs_libelf_with(image, succeeds, NULL) && errno == 77);
    }
    free((void *)(uintptr_t)image.data);
}

static bool takes_all(Elf *elf, void *context)
{
    (void)elf;
    cr_assert(!rs_libelf_calloc(SIZE_MAX / 2, 3) && !rs_libelf_malloc(SIZE_MAX));
    cr_assert(!rs_libelf_realloc(context, 1));
    size_t taken = 0;
    while (rs_libelf_malloc(1 << 20)) {
        taken += 1 << 20;
    }
    return taken > 8 << 20 && taken < 64 << 20;
}

Test(libelf, memory_has_a_limit)
{
    struct rs_bytes image = image_file("plain.sm_90.cubin");
    cr_assert(rs_libelf_with(image, takes_all, NULL));
    free((void *)(uintptr_t)image.data);
}

Test(libelf, files_are_out_of_reach)
{
    cr_assert(rs_libelf_pread() == -1 && errno == EBADF);
    cr_assert(rs_libelf_fstat() == -1 && rs_libelf_fcntl() == -1);
    cr_assert(rs_libelf_mmap() == MAP_FAILED);
}

static void *hash_many(void *context)
{
    static const char *const names[] = {"lines-one.sm_90.cubin", "lines-two.sm_90.cubin"};
    struct rs_hash128 *first = context, hash;
    for (unsigned i = 0; i < 2000; i++) {
        struct rs_bytes image = image_file(names[i % 2]);
        bool same =
            rs_cubin_hash(image, &hash) && hash.low == first->low && hash.high == first->high;
        free((void *)(uintptr_t)image.data);
        if (!same) {
            return NULL;
        }
    }
    return context;
}

Test(libelf, threads_at_once)
{
    enum { THREADS = 4 };
    struct rs_bytes image = image_file("lines-one.sm_90.cubin");
    struct rs_hash128 hash;
    pthread_t threads[THREADS];
    void *same;
    cr_assert(rs_cubin_hash(image, &hash));
    for (unsigned i = 0; i < THREADS; i++) {
        cr_assert(pthread_create(&threads[i], NULL, hash_many, &hash) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        cr_assert(pthread_join(threads[i], &same) == 0 && same == &hash);
    }
    free((void *)(uintptr_t)image.data);
}
