/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/digest.h"

/* The texts that DTensor hashes name a device, but a canonical key for them also needs views of
 * what is stored under it; until those exist every input is hashed as it is. */
bool rs_blake2_replace(struct rs_arena *arena, struct rs_bytes in, struct rs_bytes *out)
{
    (void)arena;
    (void)in;
    (void)out;
    return false;
}
