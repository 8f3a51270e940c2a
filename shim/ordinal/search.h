/* SPDX-License-Identifier: Apache-2.0
 *
 * A word in a text. Pure; thread and fork safe.
 */
#ifndef RS_ORDINAL_SEARCH_H
#define RS_ORDINAL_SEARCH_H

#include "base/bytes.h"

/* The first place in TEXT of WORD, SIZE bytes of it (2 or more), or NULL: memmem(), which took a
 * sixth of the time that details of 1 MB cost, while words that tell of collectives are rare. */
const uint8_t *rs_search(struct rs_bytes text, const char *word, size_t size);

#define RS_SEARCH(text, literal) rs_search(text, literal, sizeof(literal) - 1)

#endif
