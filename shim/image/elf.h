/* SPDX-License-Identifier: Apache-2.0
 *
 * Where an ELF image for a GPU ends. Pure but for the reader; thread and fork safe.
 */
#ifndef RS_IMAGE_ELF_H
#define RS_IMAGE_ELF_H

#include "image/reader.h"

/* Size of the cubin (64-bit little-endian ELF for machine 190) at IMAGE: the end of its last table,
 * section or segment. 0: not one, or one that ends beyond LIMIT, or its headers can't be read.
 * Only headers are looked at; whether the rest can be read is the reader's to say. */
size_t rs_elf_size(struct rs_reader *reader, const uint8_t *image, size_t limit);

#endif
