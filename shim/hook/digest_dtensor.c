/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/digest.h"

/* What DTensor hashes ends in a device's name, which could be made canonical. But mesh, placements
 * and global shape in front of it hide this rank's place in the mesh and its part's shape, which
 * the AOT entry holds: the device alone keeps ranks apart there. So every input is hashed as it is
 * (docs/formats.md, distributed tensors). */
bool rs_blake2_replace(struct rs_arena *arena, struct rs_bytes in, struct rs_bytes *out)
{
    (void)arena;
    (void)in;
    (void)out;
    return false;
}
