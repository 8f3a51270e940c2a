/* SPDX-License-Identifier: Apache-2.0
 *
 * XXH3-128: what content is known by. Not made to withstand somebody who looks for collisions; what
 * it names never leaves one user's processes. Pure, no memory but the caller's; thread and fork
 * safe.
 */
#ifndef RS_BASE_HASH128_H
#define RS_BASE_HASH128_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

struct rs_hash128 {
    uint64_t low, high;
};

/* The hash of SIZE bytes; `xxh128sum` prints high and low. */
struct rs_hash128 rs_hash128_of(const void *data, size_t size);

/* HASH as `xxh128sum` prints it, sixteen bytes. */
static inline void rs_hash128_bytes(struct rs_hash128 hash, uint8_t out[16])
{
    for (unsigned i = 0; i < 8; i++) {
        out[i] = (uint8_t)(hash.high >> (56 - 8 * i));
        out[8 + i] = (uint8_t)(hash.low >> (56 - 8 * i));
    }
}

/* The same in pieces: begin, add any number of times, end. What is added must be told apart by its
 * place or length: the hash knows no borders between pieces. */
enum { RS_HASHER_SIZE = 576 };
struct rs_hasher {
    alignas(64) uint8_t state[RS_HASHER_SIZE];
};
void rs_hasher_begin(struct rs_hasher *hasher);
void rs_hasher_add(struct rs_hasher *hasher, const void *data, size_t size);
struct rs_hash128 rs_hasher_end(const struct rs_hasher *hasher);

#endif
