/* SPDX-License-Identifier: Apache-2.0
 *
 * What cubins and PTX say of themselves. The figures are those of `cuobjdump -elf -res-usage`.
 */
#include "unit/test_image_files.h"

#include "image/cubin.h"
#include "image/ptx.h"

#include <elf.h>

struct expected_kernel {
    const char *name;
    unsigned registers, shared, stack, constants, code, threads;
};

static const struct expected {
    const char *file;
    struct rs_cubin cubin;
    struct expected_kernel kernels[2];
} expected[] = {
    {"plain.sm_80.cubin",
     {.arch = {80, 0}, .abi = 8, .toolkit = 130, .kernels = 1, .tool = "ptxas"},
     {{"scale", 13, 1024, 0, 368, 768, 256}}},
    {"plain.sm_90a.cubin",
     {.arch = {90, 'a'}, .abi = 8, .toolkit = 130, .kernels = 1, .tool = "ptxas"},
     {{"scale", 14, 2048, 0, 544, 768, 256}}},
    {"extra.sm_90.cubin",
     {.arch = {90, 0}, .abi = 8, .toolkit = 130, .kernels = 2, .tool = "ptxas"},
     {{"spill", 32, 0, 400, 540, 3584, 0}, {"scale", 14, 2048, 0, 544, 768, 256}}},
    {"old.sm_80.cubin",
     {.arch = {80, 0}, .abi = 7, .toolkit = 124, .kernels = 1, .debug = true},
     {{"scale", 13, 1024, 0, 368, 768, 256}}},
    {"relocatable.sm_80.cubin",
     {.arch = {80, 0},
      .abi = 8,
      .toolkit = 130,
      .kernels = 1,
      .relocatable = true,
      .tool = "ptxas"},
     {{"scale", 13, 1024, 0, 368, 768, 256}}},
    /* built for sm_100f, which a cubin doesn't tell */
    {"lines.sm_100f.cubin",
     {.arch = {100, 0}, .abi = 8, .toolkit = 130, .kernels = 1, .debug = true, .tool = "ptxas"},
     {{"scale", 14, 2048, 0, 912, 768, 256}}},
};

struct seen {
    const struct expected *expected;
    unsigned count;
};

static bool compare(void *context, const struct rs_kernel *kernel)
{
    struct seen *seen = context;
    const struct expected_kernel *row = &seen->expected->kernels[seen->count++];
    cr_expect_str_eq(kernel->name, row->name, "%s", seen->expected->file);
    cr_expect_eq(kernel->registers, row->registers, "%s", seen->expected->file);
    cr_expect_eq(kernel->shared, row->shared, "%s", seen->expected->file);
    cr_expect_eq(kernel->stack, row->stack, "%s", seen->expected->file);
    cr_expect_eq(kernel->constants, row->constants, "%s", seen->expected->file);
    cr_expect_eq(kernel->code, row->code, "%s", seen->expected->file);
    cr_expect_eq(kernel->max_threads, row->threads, "%s", seen->expected->file);
    return true;
}

Test(cubin_read, tells_what_cuobjdump_tells)
{
    for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        const struct rs_cubin *row = &expected[i].cubin;
        struct rs_bytes image = image_file(expected[i].file);
        struct seen seen = {&expected[i], 0};
        struct rs_cubin cubin;
        cr_assert(rs_cubin_read(image, &cubin, compare, &seen), "%s", expected[i].file);
        cr_expect(cubin.arch.sm == row->arch.sm && cubin.arch.suffix == row->arch.suffix);
        cr_expect(cubin.abi == row->abi && cubin.toolkit == row->toolkit, "%s", expected[i].file);
        cr_expect(cubin.kernels == row->kernels && seen.count == row->kernels);
        cr_expect(cubin.relocatable == row->relocatable && cubin.debug == row->debug);
        cr_expect_str_eq(cubin.tool, row->tool);
        cr_expect_str_eq(cubin.version,
                         row->tool[0] ? "Cuda compilation tools, release 13.0, V13.0.88" : "");
        free((void *)(uintptr_t)image.data);
    }
}

static bool stop(void *context, const struct rs_kernel *kernel)
{
    (void)kernel;
    ++*(unsigned *)context;
    return false;
}

Test(cubin_read, who_stops_is_told_no_more)
{
    struct rs_bytes image = image_file("extra.sm_90.cubin");
    struct rs_cubin cubin;
    unsigned count = 0;
    cr_assert(rs_cubin_read(image, &cubin, stop, &count));
    cr_assert(count == 1 && cubin.kernels == 2);
    free((void *)(uintptr_t)image.data);
}

static bool use(void *context, const struct rs_kernel *kernel)
{
    *(size_t *)context += strlen(kernel->name) + kernel->registers;
    return true;
}

/* Each byte set to 0, to 255 and off by one: whatever it says then, nothing outside is read (the
 * buffer is exactly as long as the image) and it ends. */
Test(cubin_read, damaged_images)
{
    struct rs_bytes image = image_file("plain.sm_90a.cubin");
    uint8_t *data = (uint8_t *)(uintptr_t)image.data;
    unsigned read = 0, refused = 0;
    size_t sum = 0;
    for (size_t at = 0; at < image.size; at++) {
        const uint8_t before = data[at];
        const uint8_t values[] = {0, 255, (uint8_t)(before + 1), (uint8_t)(before ^ 0x80)};
        for (unsigned i = 0; i < sizeof(values); i++) {
            struct rs_cubin cubin;
            data[at] = values[i];
            ++*(rs_cubin_read(image, &cubin, use, &sum) ? &read : &refused);
        }
        data[at] = before;
    }
    cr_assert(read > 1000 && refused > 100 && sum > 0, "%u read, %u refused", read, refused);
    free(data);
}

Test(ptx, head)
{
    static const struct {
        const char *text;
        struct rs_ptx ptx; /* version 0: none */
    } rows[] = {
        {".version 8.4\n.target sm_90a\n.address_size 64", {{90, 'a'}, 8, 4}},
        {".version 9.0 .target sm_100f, debug", {{100, 'f'}, 9, 0}},
        {"// one\n/* two\n.version 1.0 */ .version\t7.0// three\n\r\n.target sm_80",
         {{80, 0}, 7, 0}},
        {"\n\n\n\v\f .version 6.3 .target sm_52,texmode_independent", {{52, 0}, 6, 3}},
        {".version 8.4 .target sm_90ab", {{0, 0}, 0, 0}},
        {".version 8.4 .target sm_90A", {{0, 0}, 0, 0}},
        {".version 8 .target sm_90", {{0, 0}, 0, 0}},
        {".version 8.4.1 .target sm_90", {{0, 0}, 0, 0}},
        {".version 99999999999.0 .target sm_90", {{0, 0}, 0, 0}},
        {".version 8.4 .target compute_90", {{0, 0}, 0, 0}},
        {".target sm_90 .version 8.4", {{0, 0}, 0, 0}},
        {"", {{0, 0}, 0, 0}},
        {"/", {{0, 0}, 0, 0}},
        {"/*", {{0, 0}, 0, 0}},
        {"\"", {{0, 0}, 0, 0}},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rs_ptx ptx;
        struct rs_bytes text = {(const uint8_t *)rows[i].text, strlen(rows[i].text)};
        cr_expect_eq(rs_ptx_head(text, &ptx), rows[i].ptx.major != 0, "%s", rows[i].text);
        cr_expect(!rows[i].ptx.major ||
                      (ptx.arch.sm == rows[i].ptx.arch.sm &&
                       ptx.arch.suffix == rows[i].ptx.arch.suffix &&
                       ptx.major == rows[i].ptx.major && ptx.minor == rows[i].ptx.minor),
                  "%s", rows[i].text);
    }
}

Test(ptx, kernels)
{
    static const char text[] = ".version 8.4 .target sm_90\n// .entry no()\n/* .entry no */"
                               ".visible .entry scale(.param .u64 a) .maxntid 256 { ret; }\n"
                               ".file 1 \".entry no(\"\n.func (.reg .b32 r) .entry_not() { }\n"
                               ".weak .entry\n_Z3addPf$1%x\n() { }";
    static const char *const names[] = {"scale", "_Z3addPf$1%x"};
    struct rs_bytes bytes = {(const uint8_t *)text, sizeof(text) - 1}, name;
    size_t at = 0;
    for (unsigned i = 0; i < 2; i++) {
        cr_assert(rs_ptx_kernel(bytes, &at, &name));
        cr_expect(name.size == strlen(names[i]) && memcmp(name.data, names[i], name.size) == 0,
                  "%.*s", (int)name.size, name.data);
    }
    cr_assert(!rs_ptx_kernel(bytes, &at, &name));
}
