/* SPDX-License-Identifier: Apache-2.0
 *
 * xxHash once more, in a file that the Makefile compiles with -mavx2 on x86-64. Nothing else may be
 * in here: it would run on other processors, too.
 */
#include "base/hash128_wide.h"

#define XXH_STATIC_LINKING_ONLY
#define XXH_INLINE_ALL
#include <xxhash.h>

struct rs_hash128 rs_hash128_wide(const void *data, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(data, size);
#ifdef __AVX2__
    /* xxHash sets gcc's options anew, which loses this: without it, the next instruction that uses
     * 128-bit registers waits for a state to be saved, 60 ns each time. */
    __builtin_ia32_vzeroupper();
#endif
    return (struct rs_hash128){.low = hash.low64, .high = hash.high64};
}
