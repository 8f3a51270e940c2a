/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of one operation, and the chunk that stays for the next one.
 */
#include "base/arena.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MB = 1024 * 1024, LIMIT = 64 * MB };

Test(arena, memory_is_apart_and_aligned)
{
    struct rs_arena arena;
    rs_arena_init(&arena, LIMIT);
    uint8_t *before = NULL;
    size_t size_before = 0;
    for (size_t size = 0; size < 4 * MB; size = size * 3 + 1) {
        uint8_t *memory = rs_arena_alloc(&arena, size);
        cr_assert(memory && (uintptr_t)memory % 16 == 0);
        memset(memory, 1, size);
        cr_assert(!before || memory >= before + size_before || memory + size <= before);
        before = memory;
        size_before = size;
    }
    rs_arena_free(&arena);
}

Test(arena, the_limit_holds)
{
    for (size_t limit = 0; limit < 40 * MB; limit += 700 * 1024) {
        struct rs_arena arena;
        size_t got = 0;
        rs_arena_init(&arena, limit);
        while (rs_arena_alloc(&arena, 100 * 1024)) {
            got += 100 * 1024;
            cr_assert_leq(got, limit);
            cr_assert_leq(arena.used, limit);
        }
        cr_assert_null(rs_arena_alloc(&arena, limit));
        cr_assert_null(rs_arena_alloc(&arena, SIZE_MAX));
        cr_assert_geq(got + limit / 8 + 300 * 1024, limit, "%zu of %zu", got, limit);
        rs_arena_free(&arena);
    }
}

/* Two that live at the same time share nothing; one after the other gets the same chunk. */
Test(arena, one_chunk_stays)
{
    struct rs_arena one, two;
    rs_arena_init(&one, LIMIT);
    rs_arena_init(&two, LIMIT);
    uint8_t *a = rs_arena_alloc(&one, 3 * MB), *b = rs_arena_alloc(&two, 3 * MB);
    cr_assert(a && b);
    memset(a, 1, 3 * MB);
    memset(b, 2, 3 * MB);
    cr_assert(a[0] == 1 && a[3 * MB - 1] == 1);
    errno = EDOM;
    rs_arena_free(&one);
    rs_arena_free(&two);
    cr_assert_eq(errno, EDOM);
    cr_assert_eq(one.used, 0);
    uint8_t *again = rs_arena_alloc(&two, 3 * MB);
    cr_assert(again == a || again == b);
    memset(again, 3, 3 * MB);
    rs_arena_free(&two);
}

/* A small arena that lives inside the time of a large one takes nothing from it. */
Test(arena, small_ones_have_a_chunk_of_their_own)
{
    struct rs_arena large, small;
    uint8_t *first[2] = {NULL, NULL};
    for (int i = 0; i < 3; i++) {
        rs_arena_init(&large, LIMIT);
        rs_arena_init_small(&small, LIMIT);
        uint8_t *b = rs_arena_alloc(&small, 1000), *a = rs_arena_alloc(&large, 3 * MB);
        cr_assert(a && b);
        cr_assert_lt(small.used, MB);
        cr_assert(i == 0 || (a == first[0] && b == first[1]));
        first[0] = a;
        first[1] = b;
        if (i == 1) {
            rs_arena_free(&large);
            rs_arena_free(&small);
        } else {
            rs_arena_free(&small);
            rs_arena_free(&large);
        }
    }
    rs_arena_init_small(&small, LIMIT);
    cr_assert_not_null(rs_arena_alloc(&small, 3 * MB)); /* it may get large all the same */
    rs_arena_free(&small);
}

static size_t dirty_kb(void)
{
    char text[65536];
    size_t dirty = 0;
    FILE *maps = fopen("/proc/self/smaps", "re");
    cr_assert(maps);
    while (fgets(text, sizeof(text), maps)) {
        size_t kb;
        dirty += sscanf(text, "Private_Dirty: %zu kB", &kb) == 1 ? kb : 0;
    }
    fclose(maps);
    return dirty;
}

/* What waits for the next arena is the kernel's to take, but for a MB. */
Test(arena, waiting_costs_little)
{
    struct rs_arena arena;
    rs_arena_init(&arena, LIMIT);
    size_t before = dirty_kb();
    uint8_t *memory = rs_arena_alloc(&arena, 12 * MB);
    cr_assert_not_null(memory);
    memset(memory, 1, 12 * MB);
    cr_assert_geq(dirty_kb(), before + 11 * 1024);
    rs_arena_free(&arena);
    cr_assert_lt(dirty_kb(), before + 2 * 1024);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they need it themselves */
/* `ulimit -v` that leaves no room for the usual chunk. */
Test(arena, little_address_space)
{
    struct rs_arena arena;
    struct rlimit limit;
    size_t pages;
    FILE *statm = fopen("/proc/self/statm", "re");
    cr_assert(statm && fscanf(statm, "%zu", &pages) == 1);
    fclose(statm);
    cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + 8 * MB;
    rs_arena_init(&arena, LIMIT);
    if (setrlimit(RLIMIT_AS, &limit) != 0) {
        cr_skip("no limit of address space can be set");
    }
    errno = EDOM;
    uint8_t *memory = rs_arena_alloc(&arena, 2 * MB);
    cr_assert_not_null(memory);
    memset(memory, 1, 2 * MB);
    cr_assert_null(rs_arena_alloc(&arena, 20 * MB));
    cr_assert_eq(errno, EDOM);
    rs_arena_free(&arena);
}
#endif
