/* SPDX-License-Identifier: Apache-2.0
 *
 * Images that come without a size, at the very end of the memory that can be read.
 */
#include "unit/test_image_files.h"

#include "image/image.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LIMIT = 64 << 20, PAGE = 4096 };

static const struct {
    const char *name;
    enum rs_kind kind;
} files[] = {
    {"plain.sm_80.cubin", RS_KIND_cubin},
    {"plain.sm_90a.cubin", RS_KIND_cubin},
    {"lines-one.sm_90.cubin", RS_KIND_cubin},
    {"lines.sm_100f.cubin", RS_KIND_cubin},
    {"old.sm_80.cubin", RS_KIND_cubin},
    {"extra.sm_90.cubin", RS_KIND_cubin},
    {"relocatable.sm_80.cubin", RS_KIND_cubin},
    {"plain.fatbin", RS_KIND_fatbin},
    {"lz4.fatbin", RS_KIND_fatbin},
    {"zstd.fatbin", RS_KIND_fatbin},
    {"family.fatbin", RS_KIND_fatbin},
    {"linktime.fatbin", RS_KIND_fatbin},
    {"kernels.sm_80.ptx", RS_KIND_ptx},
};
enum { FILES = sizeof(files) / sizeof(files[0]) };

/* Memory that ends with pages nobody may touch: more than a file has, so that numbers in one that
 * was cut do not lead behind them, where a sanitizer keeps what can be read and must not be. */
enum { GUARD = 16 * PAGE };
struct edge {
    uint8_t *begin, *end;
};

static struct edge make_edge(size_t size, int protection)
{
    size_t room = (size + PAGE - 1) / PAGE * PAGE;
    struct edge edge;
    edge.begin =
        mmap(NULL, room + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(edge.begin != MAP_FAILED);
    edge.end = edge.begin + room;
    if (protection < 0) {
        munmap(edge.end, GUARD);
    } else {
        mprotect(edge.end, GUARD, protection);
    }
    return edge;
}

static void free_edge(struct edge edge)
{
    munmap(edge.begin, (size_t)(edge.end - edge.begin) + GUARD);
}

static bool find(const void *at, struct rs_image *image)
{
    struct rs_reader reader;
    rs_reader_process(&reader);
    return rs_image_find(&reader, at, LIMIT, image) &&
           rs_reader_has(&reader, image->bytes.data, image->bytes.size);
}

/* Of PTX the zero byte belongs to the image. */
static struct rs_bytes image_in_memory(unsigned i)
{
    struct rs_bytes file = image_file(files[i].name);
    if (files[i].kind == RS_KIND_ptx) {
        uint8_t *text = realloc((void *)(uintptr_t)file.data, file.size + 1);
        text[file.size] = 0;
        return (struct rs_bytes){text, file.size + 1};
    }
    return file;
}

Test(image, whole_ones_at_the_end_of_what_is_mapped)
{
    for (unsigned i = 0; i < FILES; i++) {
        for (int protection = -1; protection <= PROT_NONE; protection++) {
            struct rs_bytes file = image_in_memory(i);
            struct edge edge = make_edge(file.size, protection);
            struct rs_image image;
            uint8_t *at = edge.end - file.size;
            memcpy(at, file.data, file.size);
            errno = 77;
            cr_assert(find(at, &image), "%s", files[i].name);
            cr_assert(errno == 77 && image.kind == files[i].kind && image.bytes.data == at);
            cr_assert_eq(image.bytes.size, file.size - (image.kind == RS_KIND_ptx), "%s",
                         files[i].name);
            free_edge(edge);
            free((void *)(uintptr_t)file.data);
        }
    }
}

/* Cut short at every byte: nothing whole is found, and nothing behind the end is touched. */
Test(image, cut_ones_at_the_end_of_what_is_mapped, .timeout = 120)
{
    for (unsigned i = 0; i < FILES; i++) {
        struct rs_bytes file = image_in_memory(i);
        struct edge edge = make_edge(file.size, PROT_NONE);
        struct rs_image image;
        for (size_t size = 1; size < file.size; size++) {
            uint8_t *at = edge.end - size;
            memcpy(at, file.data, size);
            cr_assert(!find(at, &image), "%s, %zu bytes", files[i].name, size);
        }
        free_edge(edge);
        free((void *)(uintptr_t)file.data);
    }
}

Test(image, a_hole_in_the_middle)
{
    for (unsigned i = 0; i < FILES; i++) {
        struct rs_bytes file = image_in_memory(i);
        struct edge edge = make_edge(file.size, PROT_NONE);
        size_t pages = (size_t)(edge.end - edge.begin) / PAGE;
        struct rs_image image;
        memcpy(edge.begin, file.data, file.size);
        for (size_t page = 0; page < pages; page++) {
            mprotect(edge.begin + page * PAGE, PAGE, PROT_NONE);
            cr_assert(!find(edge.begin, &image), "%s, page %zu", files[i].name, page);
            mprotect(edge.begin + page * PAGE, PAGE, PROT_READ);
        }
        cr_assert(find(edge.begin, &image), "%s", files[i].name);
        free_edge(edge);
        free((void *)(uintptr_t)file.data);
    }
}

Test(image, a_limit_is_a_limit)
{
    for (unsigned i = 0; i < FILES; i++) {
        struct rs_bytes file = image_in_memory(i);
        struct rs_reader reader;
        struct rs_image image;
        rs_reader_bytes(&reader, file);
        cr_assert(rs_image_find(&reader, file.data, file.size, &image), "%s", files[i].name);
        cr_assert(!rs_image_find(&reader, file.data, file.size - 1, &image), "%s", files[i].name);
        cr_assert(image.kind == RS_KIND_other && image.bytes.size == 0);
        free((void *)(uintptr_t)file.data);
    }
}

Test(image, a_wrapper_leads_to_its_fatbin)
{
    struct rs_bytes file = image_file("plain.fatbin");
    struct {
        uint32_t magic, version;
        const void *content, *other;
    } wrapper = {0x466243b1, 1, file.data, NULL};
    struct edge edge = make_edge(sizeof(wrapper), PROT_NONE);
    struct rs_image image;
    uint8_t *at = edge.end - sizeof(wrapper);

    for (wrapper.version = 1; wrapper.version <= 2; wrapper.version++) {
        memcpy(at, &wrapper, sizeof(wrapper));
        cr_assert(find(at, &image) && image.wrapped && image.kind == RS_KIND_fatbin);
        cr_assert(image.bytes.data == file.data && image.bytes.size == file.size);
    }
    cr_assert(wrapper.version == 3);
    memcpy(at, &wrapper, sizeof(wrapper));
    cr_assert(!find(at, &image)); /* nobody knows what version 3 will be */
    wrapper.version = 1;
    const void *const nowhere[] = {
        NULL, edge.end, (void *)1, (void *)UINTPTR_MAX, at, (void *)(UINTPTR_MAX - 8)};
    for (unsigned i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
        wrapper.content = nowhere[i];
        memcpy(at, &wrapper, sizeof(wrapper));
        cr_assert(!find(at, &image) && image.kind == RS_KIND_other, "%p", nowhere[i]);
    }
    /* A buffer that was given alone leads nowhere else. */
    struct rs_reader reader;
    wrapper.content = file.data;
    rs_reader_bytes(&reader, (struct rs_bytes){(const uint8_t *)&wrapper, sizeof(wrapper)});
    cr_assert(!rs_image_find(&reader, &wrapper, LIMIT, &image));
    free_edge(edge);
    free((void *)(uintptr_t)file.data);
}

Test(image, addresses_that_are_none)
{
    struct rs_image image;
    cr_assert(!find(NULL, &image) && image.kind == RS_KIND_other);
    for (uintptr_t at = 1; at < 64; at++) {
        cr_assert(!find((void *)at, &image) && !find((void *)(0 - at), &image));
    }
    cr_assert(!find((void *)((uintptr_t)1 << 63), &image)); /* not an address at all */
}

Test(image, what_is_none_of_them)
{
    static const char *const texts[] = {
        "",
        "\x7f"
        "ELF",
        "GIF89a",
        ".version",
        ".version 8.0\n",
        ".version 8.0\n.target\n",
        ".version 8.0\n.target 90\n",
        ".version x.0\n.target sm_90\n",
        "// no more than a comment",
        "/* never closed .version 8.0\n.target sm_90\n",
        "{\"version\": 1}",
    };
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct rs_image image;
        struct edge edge = make_edge(1, PROT_NONE);
        size_t size = strlen(texts[i]) + 1;
        memcpy(edge.end - size, texts[i], size);
        cr_assert(!find(edge.end - size, &image), "%s", texts[i]);
        free_edge(edge);
    }
}

/* Counts in section 0 that would reach over all the memory there is: none of it is asked for. */
Test(image, absurd_counts_are_not_followed)
{
    const size_t room = (size_t)1 << 30;
    uint8_t *begin = mmap(NULL, room, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert(begin != MAP_FAILED);
    for (unsigned i = 0; i < 3; i++) {
        Elf64_Ehdr head = {.e_machine = 190,
                           .e_shoff = sizeof(head),
                           .e_phoff = sizeof(head),
                           .e_shentsize = sizeof(Elf64_Shdr),
                           .e_phentsize = sizeof(Elf64_Phdr),
                           .e_phnum = i == 1 ? PN_XNUM : 0};
        Elf64_Shdr first = {.sh_size = i == 0 ? room / 64 - 2 : 1, .sh_info = 15000000};
        struct rs_reader reader;
        struct rs_image image;
        memcpy(head.e_ident,
               "\x7f"
               "ELF\2\1\1\x41\10",
               9);
        memcpy(begin, &head, sizeof(head));
        memcpy(begin + sizeof(head), &first, sizeof(first));
        rs_reader_process(&reader);
        /* the last one is whole: a header and one section */
        cr_assert_eq(rs_image_find(&reader, begin, SIZE_MAX / 2, &image), i == 2);
        cr_assert(reader.end - reader.begin <= 2 * PAGE, "%u: %td bytes", i,
                  reader.end - reader.begin);
    }
    munmap(begin, room);
}

/* A comment without an end is not read for ever. */
Test(image, text_without_a_head_is_not_read_on)
{
    struct edge edge = make_edge(1 << 20, PROT_NONE);
    struct rs_reader reader;
    struct rs_image image;
    memset(edge.begin, '/', 1 << 20);
    rs_reader_process(&reader);
    cr_assert(!rs_image_find(&reader, edge.begin, LIMIT, &image));
    cr_assert(reader.end - reader.begin <= (1 << 16) + PAGE);
    free_edge(edge);
}

static enum rs_fit runs(const char *name, unsigned major, unsigned minor)
{
    struct rs_bytes file = image_file(name);
    struct rs_reader reader;
    struct rs_image image;
    rs_reader_bytes(&reader, file);
    cr_assert(rs_image_find(&reader, file.data, file.size, &image), "%s", name);
    enum rs_fit fit = rs_image_runs(&reader, &image, major, minor);
    free((void *)(uintptr_t)file.data);
    return fit;
}

Test(image, runs_where_one_entry_does)
{
    /* sm_80, sm_90a and PTX for 9.0, packed or not */
    static const char *const many[] = {"plain.fatbin", "lz4.fatbin", "zstd.fatbin"};
    for (unsigned i = 0; i < 3; i++) {
        cr_expect_eq(runs(many[i], 7, 5), RS_FIT_NEVER);
        cr_expect_eq(runs(many[i], 8, 0), RS_FIT_RUNS);
        cr_expect_eq(runs(many[i], 8, 6), RS_FIT_RUNS);
        cr_expect_eq(runs(many[i], 9, 0), RS_FIT_RUNS);
        cr_expect_eq(runs(many[i], 12, 0), RS_FIT_RUNS); /* the PTX */
    }
    /* sm_100f, and PTX for that family */
    cr_expect_eq(runs("family.fatbin", 9, 0), RS_FIT_NEVER);
    cr_expect_eq(runs("family.fatbin", 10, 3), RS_FIT_RUNS);
    cr_expect_eq(runs("family.fatbin", 12, 0), RS_FIT_NEVER);
    /* code for a linker: nobody knows */
    cr_expect_eq(runs("linktime.fatbin", 8, 0), RS_FIT_UNKNOWN);
    cr_expect_eq(runs("plain.sm_90a.cubin", 9, 0), RS_FIT_RUNS);
    cr_expect_eq(runs("plain.sm_90a.cubin", 10, 0), RS_FIT_NEVER);
    cr_expect_eq(runs("plain.sm_80.cubin", 8, 9), RS_FIT_RUNS);
}

static void expect_entry(struct rs_entries *entries, enum rs_kind kind, unsigned sm, char suffix,
                         enum rs_packing packing)
{
    struct rs_entry entry;
    cr_assert(rs_entries_next(entries, &entry));
    cr_expect(entry.kind == kind && entry.arch.sm == sm && entry.arch.suffix == suffix &&
                  entry.packing == packing,
              "kind %d, sm_%u, suffix %d, packing %d", (int)entry.kind, entry.arch.sm,
              entry.arch.suffix, (int)entry.packing);
}

Test(image, entries_of_a_fatbin)
{
    static const struct {
        const char *name;
        enum rs_packing cubin, ptx;
    } many[] = {{"plain.fatbin", RS_PACKING_none, RS_PACKING_none},
                {"lz4.fatbin", RS_PACKING_none, RS_PACKING_lz4}, /* speed: it leaves cubins */
                {"zstd.fatbin", RS_PACKING_zstd, RS_PACKING_zstd}};
    for (unsigned i = 0; i < 3; i++) {
        struct rs_bytes file = image_file(many[i].name);
        struct rs_entry none;
        struct rs_reader reader;
        struct rs_image image;
        struct rs_entries entries;
        rs_reader_bytes(&reader, file);
        cr_assert(rs_image_find(&reader, file.data, file.size, &image));
        rs_entries_begin(&entries, &reader, &image);
        expect_entry(&entries, RS_KIND_cubin, 80, 0, many[i].cubin);
        expect_entry(&entries, RS_KIND_cubin, 90, 'a', many[i].cubin);
        expect_entry(&entries, RS_KIND_ptx, 90, 0, many[i].ptx);
        cr_assert(!rs_entries_next(&entries, &none) && !entries.damaged);
        free((void *)(uintptr_t)file.data);
    }
}

/* Every byte of the headers set to something else: the walk ends, inside the fatbin. */
Test(image, entries_that_lie)
{
    struct rs_bytes file = image_file("plain.fatbin");
    uint8_t *data = (uint8_t *)(uintptr_t)file.data;
    for (size_t at = 0; at < 80; at++) {
        for (unsigned value = 0; value < 256; value++) {
            uint8_t before = data[at];
            struct rs_reader reader;
            struct rs_image image;
            struct rs_entries entries;
            struct rs_entry entry;
            data[at] = (uint8_t)value;
            rs_reader_bytes(&reader, file);
            if (rs_image_find(&reader, data, file.size, &image)) {
                rs_entries_begin(&entries, &reader, &image);
                while (rs_entries_next(&entries, &entry)) {
                    cr_assert(entry.bytes.data >= data &&
                              entry.bytes.data + entry.bytes.size <= data + file.size);
                }
            }
            data[at] = before;
        }
    }
    free(data);
}
