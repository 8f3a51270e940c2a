/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cubin's notes, attributes and symbols say. Attributes name symbols, sections name the
 * section of their kernel: each is read once, into tables by those numbers.
 */
#include "image/cubin.h"
#include "image/elf.h"
#include "image/libelf.h"
#include "image/libelf_calls.h"
#include "image/toolkit.h"

#include <string.h>

enum {
    ABI_8 = 8,
    FORMAT_SIZED = 4, /* of an attribute: 16 bits of size and that many bytes */
    INFO_MAX_THREADS = 0x05,
    INFO_THREADS = 0x10, /* reqntid */
    INFO_FRAME = 0x11,
    INFO_REGISTERS = 0x2f,
    COMPAT_ACCELERATED = 0x09,
    ENTRY = 0x10, /* st_other: a kernel */
};

struct of_symbol {
    uint32_t registers, frame;
};

struct of_section {
    uint64_t shared, constants;
    uint32_t threads;
};

struct reading {
    struct rs_cubin *cubin;
    bool (*each)(void *context, const struct rs_kernel *kernel);
    void *context;
    struct rs_bytes names, symbols, texts;
    struct of_symbol *by_symbol;
    struct of_section *by_section;
    size_t symbol_count, section_count;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static uint32_t word(struct rs_bytes bytes, size_t index)
{
    uint32_t value;
    memcpy(&value, bytes.data + index * sizeof(value), sizeof(value));
    return value;
}

/* One attribute: its number, and its value as bytes. */
struct attribute {
    uint8_t number;
    struct rs_bytes value;
};

static bool next_attribute(struct rs_bytes *info, struct attribute *attribute)
{
    enum { HEAD = 4 };
    if (info->size < HEAD) {
        return false;
    }
    size_t size = info->data[2] | (size_t)info->data[3] << 8;
    attribute->number = info->data[1];
    if (info->data[0] != FORMAT_SIZED) { /* the two bytes are the value */
        attribute->value = (struct rs_bytes){info->data + 2, 2};
        size = 0;
    } else if (size > info->size - HEAD) {
        return false;
    } else {
        attribute->value = (struct rs_bytes){info->data + HEAD, size};
    }
    info->data += HEAD + size;
    info->size -= HEAD + size;
    return true;
}

/* .nv.info: pairs of a symbol and a number. */
static void read_info(struct reading *reading, struct rs_bytes info)
{
    struct attribute attribute;
    while (next_attribute(&info, &attribute)) {
        if (attribute.value.size != 8 || word(attribute.value, 0) >= reading->symbol_count) {
            continue;
        }
        struct of_symbol *symbol = &reading->by_symbol[word(attribute.value, 0)];
        if (attribute.number == INFO_REGISTERS) {
            symbol->registers = word(attribute.value, 1);
        } else if (attribute.number == INFO_FRAME) {
            symbol->frame = word(attribute.value, 1);
        }
    }
}

/* .nv.info.NAME: what one kernel asks for. */
static void read_kernel_info(struct of_section *kernel, struct rs_bytes info)
{
    struct attribute attribute;
    while (next_attribute(&info, &attribute)) {
        if ((attribute.number == INFO_MAX_THREADS || attribute.number == INFO_THREADS) &&
            attribute.value.size == 12) {
            kernel->threads =
                word(attribute.value, 0) * word(attribute.value, 1) * word(attribute.value, 2);
        }
    }
}

static void read_compat(struct reading *reading, struct rs_bytes info)
{
    struct attribute attribute;
    while (next_attribute(&info, &attribute)) {
        uint8_t value = attribute.value.size ? attribute.value.data[0] : 0;
        if (attribute.number == COMPAT_ACCELERATED && value) {
            reading->cubin->arch.suffix = 'a';
        }
    }
}

/* .note.nv.cuinfo: a version, the architecture, and ten times the toolkit's version. */
static void read_cuinfo(struct reading *reading, struct rs_bytes note)
{
    enum { TOOLKIT = 7, WORDS = 8 };
    if (note.size >= WORDS * sizeof(uint32_t)) {
        reading->cubin->toolkit = word(note, TOOLKIT);
    }
}

static void copy_text(char *out, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1);
    memcpy(out, text, length);
    out[length] = 0;
}

static void read_section(struct reading *reading, const struct rs_section *section)
{
    const char *name = section->name;
    const uint32_t info = section->head.sh_info;
    struct of_section *kernel =
        info && info < reading->section_count ? &reading->by_section[info] : NULL;
    struct rs_cubin *cubin = reading->cubin;
    if (strcmp(name, ".nv.info") == 0) {
        read_info(reading, section->bytes);
    } else if (strcmp(name, ".nv.compat") == 0) {
        read_compat(reading, section->bytes);
    } else if (strcmp(name, ".note.nv.cuinfo") == 0) {
        read_cuinfo(reading, section->bytes);
    } else if (strcmp(name, ".note.nv.tkinfo") == 0) {
        copy_text(cubin->tool, sizeof(cubin->tool), rs_toolkit_tool(section));
        copy_text(cubin->version, sizeof(cubin->version), rs_toolkit_version(section));
    } else if (begins(name, ".debug_line") || begins(name, ".debug_info")) {
        cubin->debug = true;
    } else if (kernel && begins(name, ".nv.info.")) {
        read_kernel_info(kernel, section->bytes);
    } else if (kernel && begins(name, ".nv.shared.")) {
        kernel->shared = section->head.sh_size;
    } else if (kernel && begins(name, ".nv.constant0.")) {
        kernel->constants = section->head.sh_size;
    }
}

/* ABI 8 has the architecture one byte higher. Before it, the header's version is the toolkit's. */
static void read_head(struct rs_cubin *cubin, const Elf64_Ehdr *head)
{
    enum { ACCELERATED_7 = 0x800, ACCELERATED_8 = 0x8 };
    cubin->abi = head->e_ident[EI_ABIVERSION];
    cubin->relocatable = head->e_type == ET_REL;
    if (cubin->abi >= ABI_8) {
        cubin->arch.sm = head->e_flags >> 8 & 0xff;
        cubin->arch.suffix = head->e_flags & ACCELERATED_8 ? 'a' : 0;
    } else {
        cubin->arch.sm = head->e_flags & 0xff;
        cubin->arch.suffix = head->e_flags & ACCELERATED_7 ? 'a' : 0;
        cubin->toolkit = head->e_version;
    }
}

/* Tables first: everything else refers to them. */
static bool find_tables(struct reading *reading, Elf *elf)
{
    struct rs_section section, texts;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        if (!rs_libelf_section(scn, reading->names, &section)) {
            return false;
        }
        if (section.head.sh_type == SHT_SYMTAB) {
            reading->symbols = section.bytes;
            if (rs_libelf_section(elf_getscn(elf, section.head.sh_link), reading->names, &texts)) {
                reading->texts = texts.bytes;
            }
        }
    }
    reading->symbol_count = reading->symbols.size / sizeof(Elf64_Sym);
    reading->by_symbol = rs_libelf_calloc(reading->symbol_count + 1, sizeof(*reading->by_symbol));
    reading->by_section =
        rs_libelf_calloc(reading->section_count + 1, sizeof(*reading->by_section));
    return reading->by_symbol && reading->by_section;
}

static bool tell_kernel(const struct reading *reading, const Elf64_Sym *symbol, size_t index)
{
    const struct of_section *section = &reading->by_section[symbol->st_shndx];
    const struct rs_kernel kernel = {
        .name = rs_libelf_text(reading->texts, symbol->st_name),
        .registers = reading->by_symbol[index].registers,
        .shared = section->shared,
        .stack = reading->by_symbol[index].frame,
        .constants = section->constants,
        .code = symbol->st_size,
        .max_threads = section->threads,
    };
    return !reading->each || reading->each(reading->context, &kernel);
}

static void read_symbols(struct reading *reading)
{
    bool more = true;
    for (size_t i = 0; i < reading->symbol_count; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, reading->symbols.data + i * sizeof(symbol), sizeof(symbol));
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
            symbol.st_shndx >= reading->section_count) {
            continue;
        }
        if (symbol.st_other & ENTRY) {
            reading->cubin->kernels++;
            more = more && tell_kernel(reading, &symbol, i);
        } else if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL) {
            reading->cubin->functions++;
        }
    }
}

static bool read_all(Elf *elf, void *context)
{
    struct reading *reading = context;
    struct rs_section section;
    Elf64_Ehdr head, *found = elf64_getehdr(elf);
    if (!found || elf_getshdrnum(elf, &reading->section_count) != 0) {
        return false;
    }
    memcpy(&head, found, sizeof(head));
    read_head(reading->cubin, &head);
    reading->names = rs_libelf_names(elf);
    if (!find_tables(reading, elf)) {
        return false;
    }
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        if (!rs_libelf_section(scn, reading->names, &section)) {
            return false;
        }
        read_section(reading, &section);
    }
    read_symbols(reading);
    return true;
}

bool rs_cubin_read(struct rs_bytes cubin, struct rs_cubin *read,
                   bool (*each)(void *context, const struct rs_kernel *kernel), void *context)
{
    struct reading reading = {.cubin = read, .each = each, .context = context};
    struct rs_reader reader;
    memset(read, 0, sizeof(*read));
    rs_reader_bytes(&reader, cubin);
    return rs_elf_size(&reader, cubin.data, cubin.size) != 0 &&
           rs_libelf_with(cubin, read_all, &reading);
}
