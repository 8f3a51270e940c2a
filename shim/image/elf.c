/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over ELF's two tables. Headers are copied before they are used: an image may lie at any
 * address, and its fields are judged as they were read.
 */
#include "image/elf.h"

#include <elf.h>
#include <string.h>

enum {
    EM_NVIDIA = 190,
    /* A cubin of 10,000 kernels has some 40,000 sections, and any has a handful of segments. More
     * is a damaged count: to ask for all that memory would bring it in. */
    SECTIONS_MAX = 1 << 20,
    SEGMENTS_MAX = 1 << 16,
};

/* The end of what has been seen, as long as all of it lies below the limit. */
struct extent {
    uint64_t limit, end;
};

static bool covers(struct extent *extent, uint64_t offset, uint64_t size)
{
    if (offset > extent->limit || size > extent->limit - offset) {
        return false;
    }
    if (size && extent->end < offset + size) {
        extent->end = offset + size;
    }
    return true;
}

static bool is_cubin(const Elf64_Ehdr *head)
{
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
           head->e_ident[EI_DATA] == ELFDATA2LSB && head->e_ident[EI_VERSION] == EV_CURRENT &&
           head->e_machine == EM_NVIDIA;
}

/* The sections; the first one holds the counts that are too large for the header. */
static bool walk_sections(struct rs_reader *reader, const uint8_t *image, const Elf64_Ehdr *head,
                          struct extent *extent, uint64_t *segments)
{
    Elf64_Shdr section;
    uint64_t count = head->e_shnum;
    *segments = head->e_phnum;
    if (head->e_shoff == 0) {
        return count == 0 && *segments != PN_XNUM;
    }
    if (head->e_shentsize != sizeof(section) || !covers(extent, head->e_shoff, sizeof(section)) ||
        !rs_reader_has(reader, image + head->e_shoff, sizeof(section))) {
        return false;
    }
    memcpy(&section, image + head->e_shoff, sizeof(section));
    count = count ? count : section.sh_size;
    *segments = *segments == PN_XNUM ? section.sh_info : *segments;
    if (count > SECTIONS_MAX || !covers(extent, head->e_shoff, count * sizeof(section)) ||
        !rs_reader_has(reader, image + head->e_shoff, count * sizeof(section))) {
        return false;
    }
    for (uint64_t i = 1; i < count; i++) {
        memcpy(&section, image + head->e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS &&
            !covers(extent, section.sh_offset, section.sh_size)) {
            return false;
        }
    }
    return true;
}

static bool walk_segments(struct rs_reader *reader, const uint8_t *image, const Elf64_Ehdr *head,
                          struct extent *extent, uint64_t count)
{
    Elf64_Phdr segment;
    if (count == 0) {
        return true;
    }
    if (count > SEGMENTS_MAX || head->e_phentsize != sizeof(segment) ||
        !covers(extent, head->e_phoff, count * sizeof(segment)) ||
        !rs_reader_has(reader, image + head->e_phoff, count * sizeof(segment))) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        memcpy(&segment, image + head->e_phoff + i * sizeof(segment), sizeof(segment));
        if (!covers(extent, segment.p_offset, segment.p_filesz)) {
            return false;
        }
    }
    return true;
}

size_t rs_elf_size(struct rs_reader *reader, const uint8_t *image, size_t limit)
{
    Elf64_Ehdr head;
    uint64_t segments;
    struct extent extent = {.limit = limit, .end = sizeof(head)};
    if (!rs_reader_has(reader, image, sizeof(head))) {
        return 0;
    }
    memcpy(&head, image, sizeof(head));
    if (!is_cubin(&head) || limit < sizeof(head) ||
        !walk_sections(reader, image, &head, &extent, &segments) ||
        !walk_segments(reader, image, &head, &extent, segments)) {
        return 0;
    }
    return extent.end;
}
