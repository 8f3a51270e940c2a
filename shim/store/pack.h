/* SPDX-License-Identifier: Apache-2.0
 *
 * Compression (zstd), for the store alone. No heap: zstd works in the arena that is given. Pure;
 * thread and fork safe.
 */
#ifndef RS_STORE_PACK_H
#define RS_STORE_PACK_H

#include "store/artifact.h"

/* Packs SIZE bytes. The packed bytes are in MEMORY; NULL when packing does not pay or there is no
 * memory. */
const void *rs_pack(struct rs_arena *memory, const void *data, size_t size, size_t *packed);

/* Unpacks one frame of exactly RAW bytes into OUT; false when it is none. */
bool rs_unpack(struct rs_arena *memory, const void *packed, size_t size, void *out, size_t raw);

#endif
