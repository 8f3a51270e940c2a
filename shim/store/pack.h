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

/* Unpacks one frame of exactly RAW bytes into OUT; false when it is none. WORK is memory of
 * rs_unpack_work() bytes, aligned to 8. */
size_t rs_unpack_work(void);
bool rs_unpack(void *work, const void *packed, size_t size, void *out, size_t raw);

#endif
