/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 as the engine uses it: the one place that names the library behind it.
 */
#ifndef RS_ORDINAL_SHA256_H
#define RS_ORDINAL_SHA256_H

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>

struct rs_sha256 {
    struct sha256_ctx context;
};

static inline void rs_sha256_init(struct rs_sha256 *sha)
{
    sha256_init(&sha->context);
}

static inline void rs_sha256_add(struct rs_sha256 *sha, const void *data, size_t size)
{
    sha256_update(&sha->context, size, data);
}

static inline void rs_sha256_end(struct rs_sha256 *sha, uint8_t digest[SHA256_DIGEST_SIZE])
{
    sha256_digest(&sha->context, SHA256_DIGEST_SIZE, digest);
}

#endif
