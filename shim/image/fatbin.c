/* SPDX-License-Identifier: Apache-2.0 */
#include "image/fatbin.h"

#include "image/image.h"

#include <string.h>

/* In a program's data, so its pointers are relocated: cudart and the driver take its address. */
struct wrapper {
    uint32_t magic, version;
    uint64_t content;
    uint64_t other; /* a file's name, or with relocatable code more fatbins */
};

struct head {
    uint32_t magic;
    uint16_t version, size; /* of this header */
    uint64_t content;       /* size of what follows */
};

struct entry {
    uint16_t kind, version;
    uint32_t head;   /* size of this header with what belongs to it */
    uint64_t padded; /* size of what follows */
    uint32_t stored; /* size of what is packed, 0: it is not */
    uint32_t options;
    uint16_t minor, major; /* of the PTX or ELF version */
    uint32_t arch;
    uint32_t name, name_size;
    uint64_t flags;
    uint64_t unknown;
    uint64_t unpacked;
};

enum {
    VERSIONS = 2, /* 2: of a program with relocatable code */
    KIND_PTX = 1,
    KIND_ELF = 2,
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
    FLAG_ARCH = 0x100000,   /* the "a" of sm_90a */
    FLAG_FAMILY = 0x200000, /* the "f" of sm_100f */
    FLAG_PACKED = 0xf000,   /* what packings have been and may be */
};

const uint8_t *rs_fatbin_unwrap(struct rs_reader *reader, const uint8_t *at)
{
    struct wrapper wrapper;
    if (!rs_reader_has(reader, at, sizeof(uint32_t))) {
        return NULL;
    }
    memcpy(&wrapper.magic, at, sizeof(wrapper.magic));
    if (wrapper.magic == RS_FATBIN_MAGIC) {
        return at;
    }
    if (wrapper.magic != RS_FATBIN_WRAPPER_MAGIC || !rs_reader_has(reader, at, sizeof(wrapper))) {
        return NULL;
    }
    memcpy(&wrapper, at, sizeof(wrapper));
    if (wrapper.version == 0 || wrapper.version > VERSIONS || wrapper.content > UINTPTR_MAX) {
        return NULL;
    }
    return (const uint8_t *)(uintptr_t)wrapper.content;
}

size_t rs_fatbin_size(struct rs_reader *reader, const uint8_t *at, size_t limit)
{
    struct head head;
    if (!rs_reader_has(reader, at, sizeof(head))) {
        return 0;
    }
    memcpy(&head, at, sizeof(head));
    if (head.magic != RS_FATBIN_MAGIC || head.version != 1 || head.size != sizeof(head) ||
        limit < sizeof(head) || head.content > limit - sizeof(head)) {
        return 0;
    }
    return sizeof(head) + head.content;
}

void rs_entries_begin(struct rs_entries *entries, struct rs_reader *reader,
                      const struct rs_image *fatbin)
{
    const uint8_t *begin = fatbin->bytes.data;
    *entries = (struct rs_entries){
        .reader = reader, .at = begin + sizeof(struct head), .end = begin + fatbin->bytes.size};
}

static enum rs_packing packing(const struct entry *head)
{
    switch (head->flags & FLAG_PACKED) {
    case 0:
        return RS_PACKING_none;
    case FLAG_LZ4:
        return RS_PACKING_lz4;
    case FLAG_ZSTD:
        return RS_PACKING_zstd;
    default:
        return RS_PACKING_other;
    }
}

static void describe(const struct entry *head, const uint8_t *content, struct rs_entry *entry)
{
    *entry = (struct rs_entry){
        .kind = head->kind == KIND_PTX   ? RS_KIND_ptx
                : head->kind == KIND_ELF ? RS_KIND_cubin
                                         : RS_KIND_other,
        .number = head->kind,
        .arch = {head->arch, head->flags & FLAG_ARCH     ? 'a'
                             : head->flags & FLAG_FAMILY ? 'f'
                                                         : 0},
        .packing = packing(head),
        .bytes = {content, head->padded},
        .unpacked = head->unpacked,
    };
    if (entry->packing != RS_PACKING_none && head->stored && head->stored <= head->padded) {
        entry->bytes.size = head->stored;
    }
}

bool rs_entries_next(struct rs_entries *entries, struct rs_entry *entry)
{
    struct entry head;
    uint64_t left = (uint64_t)(entries->end - entries->at);
    if (left == 0 || entries->damaged) {
        return false;
    }
    entries->damaged = true;
    if (left < sizeof(head) || !rs_reader_has(entries->reader, entries->at, sizeof(head))) {
        return false;
    }
    memcpy(&head, entries->at, sizeof(head));
    if (head.head < sizeof(head) || head.head > left || head.padded > left - head.head) {
        return false;
    }
    describe(&head, entries->at + head.head, entry);
    entries->at += head.head + head.padded;
    entries->damaged = false;
    return true;
}
