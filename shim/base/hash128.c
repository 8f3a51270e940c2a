/* SPDX-License-Identifier: Apache-2.0
 *
 * xxHash as a header: every function is local to this file, so nothing of it can be exported or
 * met by another copy in the process.
 */
#include "base/hash128.h"

#include "base/hash128_wide.h"

#define XXH_STATIC_LINKING_ONLY
#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) <= RS_HASHER_SIZE, "struct rs_hasher holds xxHash's state");
_Static_assert(_Alignof(XXH3_state_t) <= _Alignof(struct rs_hasher), "and aligns it");

static struct rs_hash128 from_xxh(XXH128_hash_t hash)
{
    return (struct rs_hash128){.low = hash.low64, .high = hash.high64};
}

/* Below this, wide registers are not used, or gain nothing. */
enum { WIDE_FROM = 256 };

static bool has_wide(void)
{
#ifdef __x86_64__
    __builtin_cpu_init(); /* this may run before libgcc's constructor; later it is a comparison */
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

struct rs_hash128 rs_hash128_of(const void *data, size_t size)
{
    if (size >= WIDE_FROM && has_wide()) {
        return rs_hash128_wide(data, size);
    }
    return from_xxh(XXH3_128bits(data, size));
}

void rs_hasher_begin(struct rs_hasher *hasher)
{
    XXH3_128bits_reset((XXH3_state_t *)hasher->state);
}

void rs_hasher_add(struct rs_hasher *hasher, const void *data, size_t size)
{
    XXH3_128bits_update((XXH3_state_t *)hasher->state, data, size);
}

struct rs_hash128 rs_hasher_end(const struct rs_hasher *hasher)
{
    return from_xxh(XXH3_128bits_digest((const XXH3_state_t *)hasher->state));
}
