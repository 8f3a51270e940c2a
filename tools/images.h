/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU images in a file, as `inspect` shows them.
 */
#ifndef RS_TOOLS_IMAGES_H
#define RS_TOOLS_IMAGES_H

#include "image/cubin.h"
#include "image/image.h"
#include "image/ptx.h"
#include "tool.h"

struct kernel {
    char *name;
    bool measured;          /* of GPU code; PTX has names alone */
    struct rs_kernel facts; /* its name is not used */
};

/* One image: a file that is one, or an entry of a fatbin. */
struct gpu_image {
    struct rs_entry entry; /* of a file: as if it were one */
    size_t offset;         /* in the file */
    size_t fatbin;         /* which one of the file, from 0 */
    bool understood;       /* unpacked and read: what follows is filled in */
    struct rs_cubin cubin;
    struct rs_hash128 hash;
    struct rs_ptx ptx;
    struct kernel *kernels;
    size_t kernel_count;
};

struct images {
    const char *path;
    const char *kind; /* "cubin", "fatbin", "ptx", "program" */
    size_t size;      /* of the file */
    struct gpu_image *images;
    size_t count;
};

/* Finds the images in BYTES, the content of PATH. False: says why on standard error. With
 * images_free all goes. */
bool images_find(struct images *images, const char *path, struct rs_bytes bytes);
void images_free(struct images *images);

/* Whether these bytes are for images_find() at all: an ELF file, a fatbin, or PTX. */
bool images_expected(struct rs_bytes bytes);

#endif
