/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RS_TOOLS_UNPACK_H
#define RS_TOOLS_UNPACK_H

#include "image/image.h"

/* The content of a fatbin's entry. What had to be unpacked is in *MEMORY, which the caller frees.
 * False: packed in a way that is not known, or damaged. */
bool unpack(const struct rs_entry *entry, struct rs_bytes *content, void **memory);

#endif
