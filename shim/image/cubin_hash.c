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
#include "image/toolkit.h"

#include <string.h>

/* A cubin has some dozens of sections and five segments. */
enum { PAIRS_MAX = 1 << 20 };

struct hashing {
    struct rs_hasher hasher;
    struct rs_bytes image, names;
};

static void add64(struct hashing *hashing, uint64_t value)
{
    rs_hasher_add(&hashing->hasher, &value, sizeof(value));
}

static void add_bytes(struct hashing *hashing, struct rs_bytes bytes)
{
    add64(hashing, bytes.size);
    rs_hasher_add(&hashing->hasher, bytes.data, bytes.size);
}

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

static bool is_partial(const struct rs_section *section)
{
    return is_debug(section) || rs_toolkit_options(section).size != 0;
}

/* What an ELF header says, but for places in the file. */
static bool add_head(struct hashing *hashing, Elf *elf)
{
    Elf64_Ehdr head, *found = elf64_getehdr(elf);
    if (!found) {
        return false;
    }
    memcpy(&head, found, sizeof(head));
    head.e_shoff = head.e_phoff = 0;
    rs_hasher_add(&hashing->hasher, &head, sizeof(head));
    return true;
}

static void add_section(struct hashing *hashing, const struct rs_section *section)
{
    const Elf64_Shdr *head = &section->head;
    const struct rs_bytes options = rs_toolkit_options(section);
    struct rs_bytes bytes = section->bytes;
    const uint64_t fixed[] = {head->sh_name, head->sh_type, head->sh_flags,     head->sh_addr,
                              head->sh_link, head->sh_info, head->sh_addralign, head->sh_entsize};
    rs_hasher_add(&hashing->hasher, fixed, sizeof(fixed));
    if (is_debug(section)) {
        return;
    }
    if (options.size) { /* the note's length is that of the options */
        bytes = rs_toolkit_names(section);
    }
    add64(hashing, options.size ? 0 : head->sh_size);
    add_bytes(hashing, bytes);
}

static bool overlaps(const Elf64_Phdr *segment, const Elf64_Shdr *section)
{
    return section->sh_type != SHT_NOBITS && section->sh_size && segment->p_filesz &&
           section->sh_offset < segment->p_offset + segment->p_filesz &&
           segment->p_offset < section->sh_offset + section->sh_size;
}

/* Which section a segment begins with. A segment that shows what was left out (none does) is taken
 * with all its bytes; so is one that begins with none, unless it is the table of segments. */
static bool add_segment(struct hashing *hashing, Elf *elf, const Elf64_Phdr *segment,
                        const Elf64_Ehdr *head, size_t segments)
{
    const uint64_t fixed[] = {segment->p_type,  segment->p_flags,  segment->p_vaddr,
                              segment->p_paddr, segment->p_filesz, segment->p_memsz,
                              segment->p_align};
    uint64_t first = 0, table = segments * sizeof(*segment);
    bool whole = false;
    struct rs_section section;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        if (!rs_libelf_section(scn, hashing->names, &section)) {
            return false;
        }
        if (!first && section.head.sh_offset == segment->p_offset) {
            first = elf_ndxscn(scn);
        }
        whole = whole || (overlaps(segment, &section.head) && is_partial(&section));
    }
    rs_hasher_add(&hashing->hasher, fixed, sizeof(fixed));
    add64(hashing, first);
    if (!whole && !first) {
        whole = segment->p_offset != head->e_phoff || segment->p_filesz != table;
    }
    if (whole) {
        add_bytes(hashing,
                  (struct rs_bytes){hashing->image.data + segment->p_offset, segment->p_filesz});
    }
    return true;
}

static bool add_segments(struct hashing *hashing, Elf *elf)
{
    Elf64_Phdr *table, segment;
    Elf64_Ehdr head, *found = elf64_getehdr(elf);
    size_t segments, sections;
    if (!found || elf_getphdrnum(elf, &segments) != 0 || elf_getshdrnum(elf, &sections) != 0 ||
        (sections && segments > PAIRS_MAX / sections)) {
        return false;
    }
    memcpy(&head, found, sizeof(head));
    table = segments ? elf64_getphdr(elf) : NULL;
    for (size_t i = 0; i < segments; i++) {
        if (!table) {
            return false;
        }
        memcpy(&segment, (const char *)table + i * sizeof(segment), sizeof(segment));
        if (!add_segment(hashing, elf, &segment, &head, segments)) {
            return false;
        }
    }
    return true;
}

static bool add_all(Elf *elf, void *context)
{
    struct hashing *hashing = context;
    struct rs_section section;
    hashing->names = rs_libelf_names(elf);
    if (!add_head(hashing, elf)) {
        return false;
    }
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        if (!rs_libelf_section(scn, hashing->names, &section)) {
            return false;
        }
        add_section(hashing, &section);
    }
    return add_segments(hashing, elf);
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
