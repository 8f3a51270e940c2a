/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU image that comes without its size: what it is and where it ends. Only headers are read (of
 * PTX, the text), and nothing that the reader doesn't allow. Thread and fork safe, no memory, errno
 * preserved. What is not understood is RS_KIND_other: to be handed to the driver as it came.
 */
#ifndef RS_IMAGE_IMAGE_H
#define RS_IMAGE_IMAGE_H

#include "image/arch.h"
#include "image/reader.h"
#include <rankshare/names.h>

struct rs_image {
    enum rs_kind kind;     /* cubin, fatbin, ptx or other */
    struct rs_bytes bytes; /* the image itself; PTX without its zero byte */
    bool wrapped;          /* a fatbin that the program's pointer led to through a wrapper */
};

/* The image at AT, as cuModuleLoadData() and its kin take it. LIMIT bounds its size. False: other
 * (IMAGE says so, too). The image's bytes may still be unreadable in the middle: rs_reader_has()
 * says whether they all are. */
bool rs_image_find(struct rs_reader *reader, const void *at, size_t limit, struct rs_image *image);

/* How an entry of a fatbin is packed. */
enum rs_packing {
    RS_PACKING_none,
    RS_PACKING_lz4,  /* the format of toolkits before 12.8, and of --compress-mode=speed */
    RS_PACKING_zstd, /* 12.8 and later */
    RS_PACKING_other,
};

struct rs_entry {
    enum rs_kind kind;   /* cubin, ptx, or other (link-time code, ...) */
    unsigned number;     /* the kind as the fatbin has it */
    struct rs_arch arch; /* what the fatbin says of it, whatever is inside */
    enum rs_packing packing;
    struct rs_bytes bytes; /* as stored; unread, it may not even be mapped */
    uint64_t unpacked;     /* size of what is packed */
};

/* A walk over the entries of a fatbin. */
struct rs_entries {
    struct rs_reader *reader;
    const uint8_t *at, *end;
    bool damaged; /* ended early: an entry's header makes no sense or can't be read */
};
void rs_entries_begin(struct rs_entries *entries, struct rs_reader *reader,
                      const struct rs_image *fatbin);
bool rs_entries_next(struct rs_entries *entries, struct rs_entry *entry);

/* Whether a device of compute capability MAJOR.MINOR runs IMAGE: GPU code that fits, or PTX that
 * the driver can compile for it. A fatbin runs when one of its entries does. The bytes of a cubin
 * and of PTX must be readable. */
enum rs_fit rs_image_runs(struct rs_reader *reader, const struct rs_image *image, unsigned major,
                          unsigned minor);

#endif
