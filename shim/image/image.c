/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells images apart by their first bytes.
 */
#include "image/image.h"

#include "image/cubin.h"
#include "image/elf.h"
#include "image/fatbin.h"
#include "image/ptx.h"

#include <elf.h>
#include <string.h>

static bool is_other(struct rs_image *image)
{
    *image = (struct rs_image){.kind = RS_KIND_other};
    return false;
}

/* The text up to its zero byte, page by page: what lies behind may not be there. Text whose head is
 * not there soon is something else, and not read on. */
static bool find_ptx(struct rs_reader *reader, const uint8_t *at, size_t limit,
                     struct rs_image *image)
{
    enum { STEP = 4096, HEAD = 1 << 16 };
    size_t size = 0;
    bool known = false;
    struct rs_ptx ptx;
    while (size < limit && (known || size < HEAD)) {
        size_t step = STEP - ((uintptr_t)at + size) % STEP;
        step = step < limit - size ? step : limit - size;
        if (!rs_reader_has(reader, at + size, step)) {
            step = rs_reader_left(reader, at + size); /* a buffer may end anywhere */
        }
        if (step == 0) {
            break;
        }
        const uint8_t *zero = memchr(at + size, 0, step);
        if (zero) {
            image->bytes = (struct rs_bytes){at, (size_t)(zero - at)};
            return rs_ptx_head(image->bytes, &ptx);
        }
        size += step;
        known = known || rs_ptx_head((struct rs_bytes){at, size}, &ptx);
    }
    return false;
}

static bool find_fatbin(struct rs_reader *reader, const uint8_t *at, size_t limit,
                        struct rs_image *image)
{
    const uint8_t *content = rs_fatbin_unwrap(reader, at);
    size_t size = content ? rs_fatbin_size(reader, content, limit) : 0;
    image->kind = RS_KIND_fatbin;
    image->bytes = (struct rs_bytes){content, size};
    image->wrapped = content != at;
    return size != 0;
}

bool rs_image_find(struct rs_reader *reader, const void *at, size_t limit, struct rs_image *image)
{
    uint32_t magic;
    *image = (struct rs_image){.kind = RS_KIND_other};
    if (!at || !rs_reader_has(reader, at, sizeof(magic))) {
        return false;
    }
    memcpy(&magic, at, sizeof(magic));
    if (memcmp(at, ELFMAG, SELFMAG) == 0) {
        image->kind = RS_KIND_cubin;
        image->bytes = (struct rs_bytes){at, rs_elf_size(reader, at, limit)};
        return image->bytes.size || is_other(image);
    }
    if (magic == RS_FATBIN_MAGIC || magic == RS_FATBIN_WRAPPER_MAGIC) {
        return find_fatbin(reader, at, limit, image) || is_other(image);
    }
    image->kind = RS_KIND_ptx;
    return (rs_ptx_may_begin(at, sizeof(magic)) && find_ptx(reader, at, limit, image)) ||
           is_other(image);
}

static enum rs_fit entry_runs(const struct rs_entry *entry, unsigned major, unsigned minor)
{
    return entry->kind == RS_KIND_cubin ? rs_arch_runs(entry->arch, major, minor)
           : entry->kind == RS_KIND_ptx ? rs_arch_compiles(entry->arch, major, minor)
                                        : RS_FIT_UNKNOWN;
}

static enum rs_fit fatbin_runs(struct rs_reader *reader, const struct rs_image *image,
                               unsigned major, unsigned minor)
{
    struct rs_entries entries;
    struct rs_entry entry;
    enum rs_fit fit = RS_FIT_NEVER;
    rs_entries_begin(&entries, reader, image);
    while (rs_entries_next(&entries, &entry)) {
        enum rs_fit one = entry_runs(&entry, major, minor);
        if (one == RS_FIT_RUNS) {
            return one;
        }
        fit = one == RS_FIT_UNKNOWN ? one : fit;
    }
    return entries.damaged ? RS_FIT_UNKNOWN : fit;
}

enum rs_fit rs_image_runs(struct rs_reader *reader, const struct rs_image *image, unsigned major,
                          unsigned minor)
{
    struct rs_cubin cubin;
    struct rs_ptx ptx;
    switch (image->kind) {
    case RS_KIND_cubin:
        return rs_cubin_read(image->bytes, &cubin, NULL, NULL)
                   ? rs_arch_runs(cubin.arch, major, minor)
                   : RS_FIT_UNKNOWN;
    case RS_KIND_ptx:
        return rs_ptx_head(image->bytes, &ptx) ? rs_arch_compiles(ptx.arch, major, minor)
                                               : RS_FIT_UNKNOWN;
    case RS_KIND_fatbin:
        return fatbin_runs(reader, image, major, minor);
    default:
        return RS_FIT_UNKNOWN;
    }
}
