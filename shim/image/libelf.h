/* SPDX-License-Identifier: Apache-2.0
 *
 * libelf inside somebody else's process: its memory comes from an arena, it reaches no file, and a
 * failed assertion of its ends the look at one image and nothing else.
 */
#ifndef RS_IMAGE_LIBELF_H
#define RS_IMAGE_LIBELF_H

#include "base/bytes.h"

#include <libelf.h>
#include <stdbool.h>

/* Calls LOOK with the ELF file in IMAGE, whose tables rs_elf_size() must have found inside. What
 * libelf hands out is valid until LOOK returns, and LOOK holds nothing that an abrupt end would
 * leave behind. The result is LOOK's, or false when libelf could not go on. Thread and fork safe;
 * not to be nested. */
bool rs_libelf_with(struct rs_bytes image, bool (*look)(Elf *elf, void *context), void *context);

/* A section's header by value (images lie at any address), its name and its bytes in the file.
 * NAME is "" where the string table doesn't end it. */
struct rs_section {
    Elf64_Shdr head;
    const char *name;
    struct rs_bytes bytes; /* {NULL, 0} for SHT_NOBITS */
};

/* Reads SCN of ELF, whose section names are NAMES. */
bool rs_libelf_section(Elf_Scn *scn, struct rs_bytes names, struct rs_section *section);

/* The table of section names; empty where there is none. */
struct rs_bytes rs_libelf_names(Elf *elf);

/* The text at OFFSET of a string table, or "". */
const char *rs_libelf_text(struct rs_bytes table, uint64_t offset);

#endif
