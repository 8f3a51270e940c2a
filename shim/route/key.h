/* SPDX-License-Identifier: Apache-2.0
 *
 * Cache keys as torch and Triton write them into directory names: a prefix letter and 51 characters
 * of base32 (255 bits), 52 characters of upper-case base32 (Triton 3.2+), 64 hex digits, or
 * base64url. A key's identity here is its digest with the last bit cleared, which every spelling
 * keeps. Pure; thread and fork safe.
 */
#ifndef RS_ROUTE_KEY_H
#define RS_ROUTE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RS_DIGEST_SIZE = 32, RS_NAME51 = 51 };

struct rs_key {
    uint8_t bytes[RS_DIGEST_SIZE];
};

/* The key of a SHA-256 digest: the digest with its last bit cleared. */
struct rs_key rs_key_of_digest(const uint8_t digest[RS_DIGEST_SIZE]);

/* base32(digest)[:51] in lower case, NUL-terminated: torch's spelling without its prefix letter. */
void rs_key_name51(const uint8_t digest[RS_DIGEST_SIZE], char name[RS_NAME51 + 1]);

/* Reads 51 lower-case base32 characters (an entry's or a torch key's name without prefix). */
bool rs_key_from_name51(const char *name, struct rs_key *key);

/* Reads the name of a Triton kernel's directory, LENGTH characters in any of its spellings. */
bool rs_key_from_triton(const char *name, size_t length, struct rs_key *key);

bool rs_key_equal(const struct rs_key *a, const struct rs_key *b);

#endif
