/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RS_TOOLS_DIGEST_H
#define RS_TOOLS_DIGEST_H

#include "ordinal/ordinal.h"
#include "route/key.h"

/* SHA-256 of PIECES, one after the other. */
void tool_digest(const struct rs_pieces *pieces, uint8_t digest[RS_DIGEST_SIZE]);

#endif
