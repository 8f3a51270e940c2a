/* SPDX-License-Identifier: Apache-2.0
 *
 * The note in which ptxas says who it is and how it was called (in cubins of ABI 8). Pure.
 */
#ifndef RS_IMAGE_TOOLKIT_H
#define RS_IMAGE_TOOLKIT_H

#include "image/libelf.h"

/* The command line in the note, its zero byte and padding included; empty when SECTION is no such
 * note, or one that is built otherwise. */
struct rs_bytes rs_toolkit_options(const struct rs_section *section);

/* What stands before the command line of such a note, but for its length. */
struct rs_bytes rs_toolkit_names(const struct rs_section *section);

/* The tool ("ptxas") and its version's line, or "". */
const char *rs_toolkit_tool(const struct rs_section *section);
const char *rs_toolkit_version(const struct rs_section *section);

#endif
