/* SPDX-License-Identifier: Apache-2.0
 *
 * The semantic hash: equal where the GPU and its loader see the same, different elsewhere. The
 * images are tests/image/kernels.cu, built by tests/image/make-data.
 */
#include "unit/test_image_files.h"

#include "image/cubin.h"

#include <elf.h>

static struct rs_hash128 hash_of(const char *name)
{
    struct rs_hash128 hash = {0, 0};
    struct rs_bytes image = image_file(name);
    cr_assert(rs_cubin_hash(image, &hash), "%s", name);
    free((void *)(uintptr_t)image.data);
    return hash;
}

static bool same(struct rs_hash128 a, struct rs_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

Test(cubin_hash, build_directories_do_not_count)
{
    struct rs_bytes one = image_file("lines-one.sm_90.cubin"),
                    two = image_file("lines-two.sm_90.cubin");
    cr_assert(one.size != two.size || memcmp(one.data, two.data, one.size) != 0);
    cr_assert(same(hash_of("lines-one.sm_90.cubin"), hash_of("lines-two.sm_90.cubin")));
    free((void *)(uintptr_t)one.data);
    free((void *)(uintptr_t)two.data);
}

Test(cubin_hash, everything_else_counts)
{
    static const char *const names[] = {
        "lines-one.sm_90.cubin", "plain.sm_90.cubin", "plain.sm_90a.cubin",  "plain.sm_80.cubin",
        "factor.sm_90.cubin",    "extra.sm_90.cubin", "lines.sm_100f.cubin", "old.sm_80.cubin",
    };
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    struct rs_hash128 hashes[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        hashes[i] = hash_of(names[i]);
        for (unsigned j = 0; j < i; j++) {
            cr_assert(!same(hashes[i], hashes[j]), "%s and %s", names[i], names[j]);
        }
    }
}

/* Whether what lies at AT in the file counts, by the names of sections alone: 1 yes, 0 no, -1 it
 * lies in none (headers and padding). */
static int counts(struct rs_bytes image, size_t at)
{
    const Elf64_Ehdr *head = (const void *)image.data;
    const Elf64_Shdr *sections = (const void *)(image.data + head->e_shoff);
    int found = -1;
    for (unsigned i = 1; i < head->e_shnum; i++) {
        const char *name =
            (const char *)image.data + sections[head->e_shstrndx].sh_offset + sections[i].sh_name;
        if (sections[i].sh_type == SHT_NOBITS || at < sections[i].sh_offset ||
            at >= sections[i].sh_offset + sections[i].sh_size) {
            continue;
        }
        bool debug = strstr(name, "debug_") || strcmp(name, ".note.nv.tkinfo") == 0;
        found = debug && found != 1 ? 0 : 1;
    }
    return found;
}

static void check_each_byte(const char *name)
{
    struct rs_hash128 hash = hash_of(name), other;
    struct rs_bytes image = image_file(name);
    uint8_t *data = (uint8_t *)(uintptr_t)image.data;
    unsigned seen[2] = {0, 0};
    for (size_t at = sizeof(Elf64_Ehdr); at < image.size; at++) {
        int expected = counts(image, at);
        if (expected < 0) {
            continue;
        }
        data[at] ^= 0x55;
        bool equal = rs_cubin_hash(image, &other) && same(hash, other);
        data[at] ^= 0x55;
        /* The compiler's name and version, in the note, count as well: that is no harm. */
        cr_assert(expected == 0 || !equal, "%s: byte %zu does not count", name, at);
        seen[expected] += (unsigned)(equal == (expected == 0));
    }
    /* Both kinds of byte were there, or this test would say nothing. */
    cr_assert(seen[1] > 1000 && seen[0] > (strncmp(name, "lines", 5) == 0 ? 1000 : 20), "%s", name);
    free(data);
}

Test(cubin_hash, each_byte_of_what_the_loader_reads_counts)
{
    check_each_byte("lines-one.sm_90.cubin");
    check_each_byte("plain.sm_80.cubin");
    check_each_byte("lines.sm_100f.cubin");
}

/* The buffer ends where the image does, so that the sanitizers see each byte too far. */
Test(cubin_hash, truncated_images_have_no_hash)
{
    static const char *const names[] = {"lines-one.sm_90.cubin", "old.sm_80.cubin",
                                        "lines.sm_100f.cubin"};
    for (unsigned i = 0; i < 3; i++) {
        struct rs_bytes image = image_file(names[i]);
        for (size_t size = 0; size < image.size; size++) {
            uint8_t *part = malloc(size ? size : 1);
            struct rs_hash128 hash;
            memcpy(part, image.data, size);
            cr_assert(!rs_cubin_hash((struct rs_bytes){part, size}, &hash), "%s, %zu bytes",
                      names[i], size);
            free(part);
        }
        free((void *)(uintptr_t)image.data);
    }
}

Test(cubin_hash, any_address)
{
    struct rs_bytes image = image_file("lines-one.sm_90.cubin");
    struct rs_hash128 hash = hash_of("lines-one.sm_90.cubin"), other;
    for (size_t shift = 1; shift < 16; shift++) {
        uint8_t *moved = malloc(image.size + shift);
        memcpy(moved + shift, image.data, image.size);
        cr_assert(rs_cubin_hash((struct rs_bytes){moved + shift, image.size}, &other));
        cr_assert(same(hash, other));
        free(moved);
    }
    free((void *)(uintptr_t)image.data);
}

Test(cubin_hash, what_is_no_cubin)
{
    struct rs_hash128 hash;
    struct rs_bytes image = image_file("plain.sm_80.cubin");
    uint8_t *data = (uint8_t *)(uintptr_t)image.data;
    cr_assert(!rs_cubin_hash((struct rs_bytes){(const uint8_t *)"", 0}, &hash));
    data[offsetof(Elf64_Ehdr, e_machine)] = 62; /* x86-64 */
    cr_assert(!rs_cubin_hash(image, &hash));
    data[offsetof(Elf64_Ehdr, e_machine)] = 190;
    cr_assert(rs_cubin_hash(image, &hash));
    data[EI_CLASS] = ELFCLASS32;
    cr_assert(!rs_cubin_hash(image, &hash));
    free(data);
}

/* xxh128sum's own figures. */
Test(hash128, is_xxh3)
{
    struct rs_hash128 empty = rs_hash128_of("", 0), abc = rs_hash128_of("abc", 3), pieces;
    struct rs_hasher hasher;
    cr_assert(empty.high == 0x99aa06d3014798d8 && empty.low == 0x6001c324468d497f);
    cr_assert(abc.high == 0x06b05ab6733a6185 && abc.low == 0x78af5f94892f3950);
    rs_hasher_begin(&hasher);
    rs_hasher_add(&hasher, "a", 1);
    rs_hasher_add(&hasher, "bc", 2);
    pieces = rs_hasher_end(&hasher);
    cr_assert(same(pieces, abc));
}
