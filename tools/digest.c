/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include <nettle/sha2.h>

void tool_digest(const struct rs_pieces *pieces, uint8_t digest[RS_DIGEST_SIZE])
{
    struct sha256_ctx context;

    sha256_init(&context);
    for (size_t i = 0; i < pieces->count; i++)
        sha256_update(&context, pieces->pieces[i].iov_len, pieces->pieces[i].iov_base);
    sha256_digest(&context, RS_DIGEST_SIZE, digest);
}
