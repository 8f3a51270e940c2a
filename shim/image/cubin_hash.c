/* SPDX-License-Identifier: Apache-2.0
 *
 * The semantic hash. It leaves out what is known not to reach the GPU and takes all the rest, so
 * that a section some later toolkit adds makes hashes differ, never agree wrongly. Sections and
 * symbols are referred to by number all over a cubin, so these stay as they are: the same code
 * built with line numbers and without hashes differently.
 */
#include "image/cubin.h"
#include "image/elf.h"
#include "image/libelf.h"
#include "image/libelf_calls.h"
#include "image/toolkit.h"

#include <string.h>

/* A cubin has some dozens of sections and five segments. */
enum { PAIRS_MAX = 1 << 20 };

struct part {
    struct rs_section section;
    struct rs_bytes options; /* of the compiler's note */
    bool debug;
};

struct hashing {
    struct rs_hasher hasher;
    struct rs_bytes image;
    struct part *parts; /* all sections, but the first, which is none */
    size_t count;
    const struct part **left_out; /* those of which something is left out */
    size_t left_out_count;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Relocations of a debug section count as the section; cubins of 10.0 and later hold everything
 * twice, the second time for the driver's finalizer under .nv.merc. */
static bool is_debug(const struct rs_section *section)
{
    const char *name = section->name;
    if (section->head.sh_flags & SHF_ALLOC) {
        return false;
    }
    name += begins(name, ".nv.merc.") ? strlen(".nv.merc") : 0;
    name += begins(name, ".rela.") ? strlen(".rela") : begins(name, ".rel.") ? strlen(".rel") : 0;
    return begins(name, ".debug_") || begins(name, ".nv_debug_");
}

/* The hash of hashes: each section's own is quicker than many small pieces of one. */
static void add_section(struct hashing *hashing, const struct part *part)
{
    const Elf64_Shdr *head = &part->section.head;
    struct rs_bytes bytes = part->section.bytes;
    uint64_t size = head->sh_size; /* of SHT_NOBITS, too */
    if (part->debug) {
        bytes = (struct rs_bytes){NULL, 0};
        size = 0;
    } else if (part->options.size) { /* the note's length is that of the options */
        bytes = rs_toolkit_names(&part->section);
        size = bytes.size;
    }
    const struct rs_hash128 hash = rs_hash128_of(bytes.data, bytes.size);
    const uint64_t fixed[] = {
        head->sh_name, head->sh_type, head->sh_flags,     head->sh_addr,
        head->sh_link, head->sh_info, head->sh_addralign, head->sh_entsize,
        size,          hash.low,      hash.high,
    };
    rs_hasher_add(&hashing->hasher, fixed, sizeof(fixed));
}

static bool overlaps(const Elf64_Phdr *segment, const Elf64_Shdr *section)
{
    return section->sh_type != SHT_NOBITS && section->sh_size && segment->p_filesz &&
           section->sh_offset < segment->p_offset + segment->p_filesz &&
           segment->p_offset < section->sh_offset + section->sh_size;
}

static bool shows_left_out(const struct hashing *hashing, const Elf64_Phdr *segment)
{
    for (size_t i = 0; i < hashing->left_out_count; i++) {
        if (overlaps(segment, &hashing->left_out[i]->section.head)) {
            return true;
        }
    }
    return false;
}

/* Which section a segment begins and ends with: its length counts the padding between them, which
 * depends on where in the file it lies. A segment that shows what was left out, or covers no
 * sections (none does), is taken as it is, unless it is the table of segments. */
static void add_segment(struct hashing *hashing, const Elf64_Phdr *segment, uint64_t table,
                        uint64_t table_size)
{
    struct rs_bytes bytes = {NULL, 0};
    const uint64_t begin = segment->p_offset, end = begin + segment->p_filesz;
    size_t first = hashing->count, last = hashing->count;
    for (size_t i = hashing->count; segment->p_filesz && i-- > 0;) {
        const Elf64_Shdr *head = &hashing->parts[i].section.head;
        if (head->sh_type != SHT_NOBITS && head->sh_size) {
            first = head->sh_offset == begin ? i : first;
            last = head->sh_offset + head->sh_size == end ? i : last;
        }
    }
    bool found = first < hashing->count && last < hashing->count;
    bool is_table = begin == table && segment->p_filesz == table_size;
    if (segment->p_filesz && !is_table && (!found || shows_left_out(hashing, segment))) {
        bytes = (struct rs_bytes){hashing->image.data + begin, segment->p_filesz};
    }
    const struct rs_hash128 hash = rs_hash128_of(bytes.data, bytes.size);
    const uint64_t fixed[] = {
        segment->p_type,
        segment->p_flags,
        segment->p_vaddr,
        segment->p_paddr,
        segment->p_memsz - segment->p_filesz,
        segment->p_align,
        first,
        last,
        is_table,
        bytes.size,
        hash.low,
        hash.high,
    };
    rs_hasher_add(&hashing->hasher, fixed, sizeof(fixed));
}

static bool add_segments(struct hashing *hashing, Elf *elf, const Elf64_Ehdr *head)
{
    Elf64_Phdr segment;
    size_t count;
    if (elf_getphdrnum(elf, &count) != 0 || count > PAIRS_MAX / (hashing->count + 1)) {
        return false;
    }
    Elf64_Phdr *table = count ? elf64_getphdr(elf) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (!table) {
            return false;
        }
        memcpy(&segment, (const char *)table + i * sizeof(segment), sizeof(segment));
        add_segment(hashing, &segment, head->e_phoff, count * sizeof(segment));
    }
    return true;
}

static bool read_parts(struct hashing *hashing, Elf *elf)
{
    struct rs_bytes names = rs_libelf_names(elf);
    size_t count;
    if (elf_getshdrnum(elf, &count) != 0) {
        return false;
    }
    hashing->parts = rs_libelf_calloc(count + 1, sizeof(*hashing->parts));
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        struct part *part = hashing->parts ? &hashing->parts[hashing->count] : NULL;
        if (!part || hashing->count++ == count || !rs_libelf_section(scn, names, &part->section)) {
            return false;
        }
        part->debug = is_debug(&part->section);
        part->options = rs_toolkit_options(&part->section);
    }
    return true;
}

/* What an ELF header says, but for places in the file. */
static bool add_all(Elf *elf, void *context)
{
    struct hashing *hashing = context;
    Elf64_Ehdr head, placeless, *found = elf64_getehdr(elf);
    if (!found || !read_parts(hashing, elf)) {
        return false;
    }
    memcpy(&head, found, sizeof(head));
    placeless = head;
    placeless.e_shoff = placeless.e_phoff = 0;
    rs_hasher_add(&hashing->hasher, &placeless, sizeof(placeless));
    rs_hasher_add(&hashing->hasher, &hashing->count, sizeof(hashing->count));
    for (size_t i = 0; i < hashing->count; i++) {
        add_section(hashing, &hashing->parts[i]);
    }
    return add_segments(hashing, elf, &head);
}

bool rs_cubin_hash(struct rs_bytes cubin, struct rs_hash128 *hash)
{
    struct hashing hashing = {.image = cubin};
    struct rs_reader reader;
    rs_reader_bytes(&reader, cubin);
    if (rs_elf_size(&reader, cubin.data, cubin.size) == 0) {
        return false;
    }
    rs_hasher_begin(&hashing.hasher);
    if (!rs_libelf_with(cubin, add_all, &hashing)) {
        return false;
    }
    *hash = rs_hasher_end(&hashing.hasher);
    return true;
}
