/* SPDX-License-Identifier: Apache-2.0
 *
 * A group's manifest: the object that says whose it is and what its parts are. Each part names its
 * object by hash and holds the check sum of its bytes, so that no number in the index can make
 * other bytes of them. Pure; thread and fork safe.
 */
#ifndef RS_STORE_MANIFEST_H
#define RS_STORE_MANIFEST_H

#include "store/artifact.h"

struct rs_manifest {
    struct rs_artifact_key key;
    struct rs_origin origin;
    unsigned count;
    struct rs_part *parts;
};

/* Whether NAME is a path that stays below the directory that it is put into: not empty, not too
 * long, no empty, "." or ".." component. */
bool rs_part_name_fine(const char *name);

/* The bytes of MANIFEST, in MEMORY; NULL: no memory. */
void *rs_manifest_write(struct rs_arena *memory, const struct rs_manifest *manifest, size_t *size);

/* Reads SIZE bytes of anything. The parts are in MEMORY, their names point into DATA. False: they
 * are no manifest. */
enum { RS_MANIFEST_MAX = 16384 };
bool rs_manifest_read(struct rs_arena *memory, const void *data, size_t size,
                      struct rs_manifest *manifest);

#endif
