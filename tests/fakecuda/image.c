/* SPDX-License-Identifier: Apache-2.0 */
/* Cubins, fatbins and PTX, as far as a pretend driver must tell them apart: architecture and
 * kernels. */
#include "fake.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EM_CUDA_MACHINE 190
#define STO_CUDA_ENTRY  0x10
#define FATBIN_WRAPPER  0x466243b1u
#define FATBIN_HEADER   0xba55ed50u
#define FATBIN_KIND_PTX 1

static int add_kernel(struct fk_image *image, const char *name, size_t length)
{
    char **grown = realloc(image->kernels, (image->count + 1) * sizeof(*grown));
    if (!grown)
        return FK_OUT_OF_MEMORY;
    image->kernels = grown;
    grown[image->count] = strndup(name, length);
    if (!grown[image->count])
        return FK_OUT_OF_MEMORY;
    image->count++;
    return FK_OK;
}

static bool inside(size_t offset, size_t size, size_t limit)
{
    return offset <= limit && size <= limit - offset;
}

static int add_kernels_of_table(struct fk_image *image, const unsigned char *data,
                                const Elf64_Shdr *symbols, const Elf64_Shdr *names)
{
    const char *strings = (const char *)data + names->sh_offset;
    for (size_t i = 0; i < symbols->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, data + symbols->sh_offset + i * sizeof(symbol), sizeof(symbol));
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !(symbol.st_other & STO_CUDA_ENTRY))
            continue;
        if (symbol.st_name >= names->sh_size)
            return FK_INVALID_IMAGE;
        const char *name = strings + symbol.st_name;
        int rc = add_kernel(image, name, strnlen(name, names->sh_size - symbol.st_name));
        if (rc != FK_OK)
            return rc;
    }
    return FK_OK;
}

/* The architecture: one byte of the flags, which one depends on the ABI version. */
static void read_flags(const Elf64_Ehdr *header, struct fk_image *image)
{
    if (header->e_ident[EI_ABIVERSION] >= 8) {
        image->arch = (int)(header->e_flags >> 8 & 0xff);
        image->exact = header->e_flags & 0x8;
    } else {
        image->arch = (int)(header->e_flags & 0xff);
        image->exact = header->e_flags & 0x800;
    }
}

static int parse_sections(const unsigned char *data, size_t limit, const Elf64_Ehdr *header,
                          struct fk_image *image)
{
    const Elf64_Shdr *sections = (const void *)(data + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *section = &sections[i];
        if (section->sh_type == SHT_NOBITS)
            continue;
        if (!inside(section->sh_offset, section->sh_size, limit))
            return FK_INVALID_IMAGE;
        if (section->sh_offset + section->sh_size > image->size)
            image->size = section->sh_offset + section->sh_size;
    }
    for (int i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *section = &sections[i];
        if (section->sh_type != SHT_SYMTAB)
            continue;
        if (section->sh_link >= header->e_shnum)
            return FK_INVALID_IMAGE;
        int rc = add_kernels_of_table(image, data, section, &sections[section->sh_link]);
        if (rc != FK_OK)
            return rc;
    }
    return FK_OK;
}

static int parse_cubin(const unsigned char *data, size_t limit, struct fk_image *image)
{
    Elf64_Ehdr header;
    if (limit < sizeof(header))
        return FK_INVALID_IMAGE;
    memcpy(&header, data, sizeof(header));
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_CUDA_MACHINE ||
        header.e_shentsize != sizeof(Elf64_Shdr) ||
        !inside(header.e_shoff, (size_t)header.e_shnum * sizeof(Elf64_Shdr), limit))
        return FK_INVALID_IMAGE;
    image->kind = FK_CUBIN;
    image->size = header.e_shoff + (size_t)header.e_shnum * sizeof(Elf64_Shdr);
    read_flags(&header, image);
    return parse_sections(data, limit, &header, image);
}

static const char *word_end(const char *text)
{
    while (isalnum((unsigned char)*text) || *text == '_' || *text == '$')
        text++;
    return text;
}

/* PTX is text that ends with a zero byte. */
static int parse_ptx(const char *text, struct fk_image *image)
{
    const char *target = strstr(text, ".target sm_");
    if (!target)
        return FK_INVALID_IMAGE;
    image->kind = FK_PTX;
    image->size = strlen(text);
    char *end;
    image->arch = (int)strtol(target + strlen(".target sm_"), &end, 10);
    image->exact = *end == 'a';
    const char *entry = text;
    while ((entry = strstr(entry, ".entry "))) {
        entry += strlen(".entry ");
        while (isspace((unsigned char)*entry))
            entry++;
        int rc = add_kernel(image, entry, (size_t)(word_end(entry) - entry));
        if (rc != FK_OK)
            return rc;
    }
    return FK_OK;
}

struct fatbin_entry {
    uint16_t kind;
    uint16_t version;
    uint32_t header_size;
    uint64_t payload_size;
    uint32_t compressed_size;
    uint32_t unused;
    uint16_t minor;
    uint16_t major;
    uint32_t arch;
};

/* Entries are often compressed, so the kernels of a fatbin stay unknown; the architecture is the
 * best one that the device takes. */
static int parse_fatbin(const unsigned char *data, size_t limit, struct fk_image *image)
{
    uint64_t body;
    uint16_t header_size;
    if (limit < 16)
        return FK_INVALID_IMAGE;
    memcpy(&header_size, data + 6, sizeof(header_size));
    memcpy(&body, data + 8, sizeof(body));
    if (header_size < 16 || !inside(header_size, body, limit))
        return FK_INVALID_IMAGE;
    image->kind = FK_FATBIN;
    image->open_list = true;
    image->size = header_size + body;
    size_t at = header_size;
    while (at + sizeof(struct fatbin_entry) <= image->size) {
        struct fatbin_entry entry;
        memcpy(&entry, data + at, sizeof(entry));
        if (entry.header_size < sizeof(entry) ||
            !inside(at + entry.header_size, entry.payload_size, image->size))
            return FK_INVALID_IMAGE;
        int arch = (int)entry.arch;
        bool fits = entry.kind == FATBIN_KIND_PTX || arch / 10 == fk_capability() / 10;
        if (arch <= fk_capability() && fits && arch > image->arch)
            image->arch = arch;
        at += entry.header_size + entry.payload_size;
    }
    return image->arch ? FK_OK : FK_NO_BINARY_FOR_GPU;
}

static bool looks_like_ptx(const char *text, size_t limit)
{
    size_t at = 0;
    while (at < limit && isspace((unsigned char)text[at]))
        at++;
    return limit - at > 2 && (strncmp(text + at, "//", 2) == 0 || text[at] == '.');
}

int fk_image_parse(const void *data, size_t limit, struct fk_image *out)
{
    uint32_t word = 0;
    memset(out, 0, sizeof(*out));
    if (!data || limit < sizeof(word))
        return FK_INVALID_IMAGE;
    memcpy(&word, data, sizeof(word));
    if (word == FATBIN_WRAPPER && limit >= 16) {
        memcpy(&data, (const char *)data + 8, sizeof(data));
        memcpy(&word, data, sizeof(word));
        limit = SIZE_MAX;
    }
    int rc = FK_INVALID_IMAGE;
    if (memcmp(&word, ELFMAG, SELFMAG) == 0)
        rc = parse_cubin(data, limit, out);
    else if (word == FATBIN_HEADER)
        rc = parse_fatbin(data, limit, out);
    else if (looks_like_ptx(data, limit))
        rc = parse_ptx(data, out);
    if (rc != FK_OK)
        fk_image_free(out);
    return rc;
}

void fk_image_free(struct fk_image *image)
{
    for (size_t i = 0; i < image->count; i++)
        free(image->kernels[i]);
    free(image->kernels);
    image->kernels = NULL;
    image->count = 0;
}

bool fk_image_fits(const struct fk_image *image, int capability)
{
    if (image->exact)
        return image->arch == capability;
    if (image->kind == FK_PTX)
        return image->arch <= capability;
    return image->arch / 10 == capability / 10 && image->arch <= capability;
}

bool fk_image_has(const struct fk_image *image, const char *kernel)
{
    bool found = image->open_list;
    for (size_t i = 0; i < image->count && !found; i++)
        found = strcmp(image->kernels[i], kernel) == 0;
    return found;
}
