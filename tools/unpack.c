/* SPDX-License-Identifier: Apache-2.0
 *
 * Packed entries of fat binaries. The library never unpacks one: that is the driver's work.
 */
#include "unpack.h"

#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

/* The largest that is believed; real ones have some MB. */
enum { UNPACKED_MAX = 1 << 30 };

bool unpack(const struct rs_entry *entry, struct rs_bytes *content, void **memory)
{
    size_t size = entry->unpacked, got = 0;

    *memory = NULL;
    *content = entry->bytes;
    if (entry->packing == RS_PACKING_none)
        return true;
    if (entry->packing == RS_PACKING_other || size == 0 || size > UNPACKED_MAX ||
        entry->bytes.size > UNPACKED_MAX)
        return false;
    void *out = malloc(size);
    if (!out)
        return false;
    if (entry->packing == RS_PACKING_zstd) {
        size_t result = ZSTD_decompress(out, size, entry->bytes.data, entry->bytes.size);
        got = ZSTD_isError(result) ? 0 : result;
    } else {
        int result = LZ4_decompress_safe((const char *)entry->bytes.data, out,
                                         (int)entry->bytes.size, (int)size);
        got = result < 0 ? 0 : (size_t)result;
    }
    *memory = out;
    *content = (struct rs_bytes){out, got};
    return got == size;
}
