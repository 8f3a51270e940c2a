/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of the driver's compiler, as a program may give them.
 */
#include "image/jit.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

static bool read_all(unsigned count, const unsigned *options, void *const *values,
                     struct rs_jit *jit)
{
    struct rs_reader reader;
    rs_reader_process(&reader);
    return rs_jit_read(&reader, count, options, values, jit);
}

static bool alone(unsigned option)
{
    struct rs_jit jit;
    void *value = (void *)1;
    return read_all(1, &option, &value, &jit);
}

/* Numbers of cuda.h: what has a result, or is not known to have none, is refused. */
Test(jit, which_options)
{
    static const unsigned fine[] = {0, 7, 8, 13, 14};
    for (unsigned option = 0, at = 0; option < 64; option++) {
        bool listed = at < sizeof(fine) / sizeof(fine[0]) && fine[at] == option;
        at += listed;
        cr_expect_eq(alone(option), listed, "%u", option);
    }
    cr_expect_not(alone(UINT32_MAX));
}

Test(jit, values_are_numbers)
{
    struct rs_jit one, other;
    const unsigned options[] = {0, 8, 7};
    void *values[] = {(void *)0x1234567800000020, (void *)77, (void *)3};
    cr_assert(read_all(3, options, values, &one));
    cr_expect_eq(one.count, 3);
    cr_expect_eq(one.option[0], 0);
    cr_expect_eq(one.value[0], 0x20);
    cr_expect_eq(one.option[1], 8);
    cr_expect_eq(one.value[1], 0, "it has no value");
    cr_expect_eq(one.value[2], 3);
    /* A key of plain bytes. */
    memset(&other, 0xa5, sizeof(other));
    values[0] = (void *)0x20;
    values[1] = NULL;
    cr_assert(read_all(3, options, values, &other));
    cr_expect_eq(memcmp(&one, &other, sizeof(one)), 0);
    values[2] = (void *)4;
    cr_assert(read_all(3, options, values, &other));
    cr_expect_neq(memcmp(&one, &other, sizeof(one)), 0);
    cr_assert(read_all(2, options, values, &other));
    cr_expect_neq(memcmp(&one, &other, sizeof(one)), 0);
}

Test(jit, none)
{
    struct rs_jit jit;
    cr_expect(read_all(0, NULL, NULL, &jit));
    cr_expect(read_all(0, (const unsigned *)1, (void *const *)1, &jit));
    cr_expect_eq(jit.count, 0);
}

/* Pointers that lead nowhere, arrays that end with what is mapped, odd addresses. */
Test(jit, anything)
{
    enum { PAGE = 4096 };
    struct rs_jit jit;
    const unsigned options[RS_JIT_MAX + 1] = {0};
    void *values[RS_JIT_MAX + 1] = {0};
    cr_expect(read_all(RS_JIT_MAX, options, values, &jit));
    cr_expect_not(read_all(RS_JIT_MAX + 1, options, values, &jit));
    cr_expect_not(read_all(UINT32_MAX, options, values, &jit));
    cr_expect_not(read_all(1, NULL, values, &jit));
    cr_expect_not(read_all(1, options, NULL, &jit));
    cr_expect_not(read_all(1, (const unsigned *)0x1001, values, &jit));
    cr_expect_not(read_all(1, options, (void *const *)UINTPTR_MAX, &jit));
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(pages, MAP_FAILED);
    cr_assert_eq(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
    const unsigned *last = (const unsigned *)(const void *)(pages + PAGE - 2 * sizeof(*last));
    cr_expect(read_all(2, last, values, &jit));
    cr_expect_not(read_all(3, last, values, &jit));
    void *const *end = (void *const *)(const void *)(pages + PAGE - 2 * sizeof(*end));
    cr_expect(read_all(2, options, end, &jit));
    cr_expect_not(read_all(3, options, end, &jit));
    pages[1] = 7;
    cr_expect(read_all(1, (const unsigned *)(const void *)(pages + 1), values, &jit));
    cr_expect_eq(jit.option[0], 7);
    munmap(pages, 2 * PAGE);
}
