/* SPDX-License-Identifier: Apache-2.0
 *
 * Putting a group: it is begun (an entry that names its writer and, one after the other, its
 * objects), then published. What the writer's death leaves is ended by the next one who needs room.
 */
#ifndef RS_STORE_PUT_H
#define RS_STORE_PUT_H

#include "store/index.h"
#include "store/manifest.h"

struct rs_put {
    struct rs_store *store;
    struct rs_slot *slot;
    struct rs_index index;
    uint64_t tag;
    struct rs_manifest manifest;
    unsigned flags;
    uint32_t group;
    uint64_t word; /* of the group, while this process writes it */
    int fd;
    uint64_t base;
    struct rs_arena memory; /* the manifest's */
};

/* Bytes that a group lists as its object number N. */
struct rs_put_bytes {
    const void *data;
    size_t size;
    struct rs_hash128 hash;
    uint64_t check;
    bool any; /* what is there under HASH will do, whatever its bytes */
};

/* Begins the group; STORED: go on. */
enum rs_put_result rs_put_begin(struct rs_put *put);
/* Puts BYTES, or finds them there. *CHECK and *RAW get what the object has. */
enum rs_put_result rs_put_object(struct rs_put *put, unsigned n, const struct rs_put_bytes *bytes,
                                 uint64_t *check, uint32_t *raw);
/* Publishes it under SEAL, the manifest's hash. */
enum rs_put_result rs_put_publish(struct rs_put *put, struct rs_hash128 seal, uint64_t raw);
/* Gives up. */
void rs_put_cancel(struct rs_put *put);
/* Whether the same group is there already, and marks it as used. */
bool rs_put_there(struct rs_put *put, struct rs_hash128 seal);

#endif
