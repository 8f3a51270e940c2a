/* SPDX-License-Identifier: Apache-2.0 */
#include "route/key.h"

#include <string.h>

enum { BASE32_LENGTH = 52, HEX_LENGTH = 64, BASE64_LENGTH = 43 };

static const char base32_lower[] = "abcdefghijklmnopqrstuvwxyz234567";

struct rs_key rs_key_of_digest(const uint8_t digest[RS_DIGEST_SIZE])
{
    struct rs_key key;
    memcpy(key.bytes, digest, RS_DIGEST_SIZE);
    key.bytes[RS_DIGEST_SIZE - 1] &= 0xfe;
    return key;
}

void rs_key_name51(const uint8_t digest[RS_DIGEST_SIZE], char name[RS_NAME51 + 1])
{
    uint32_t bits = 0;
    unsigned have = 0, next = 0;
    for (unsigned i = 0; i < RS_NAME51; i++) {
        if (have < 5) {
            bits = bits << 8 | digest[next++];
            have += 8;
        }
        have -= 5;
        name[i] = base32_lower[(bits >> have) & 31];
    }
    name[RS_NAME51] = 0;
}

/* Value of a base32 character in the given case, or -1. */
static int base32_value(char c, char first_letter)
{
    if (c >= first_letter && c < first_letter + 26) {
        return c - first_letter;
    }
    return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

/* Value of a base64url character, or -1. */
static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum alphabet { LOWER32, UPPER32, URL64, HEX };

static int value_of(enum alphabet alphabet, char c)
{
    switch (alphabet) {
    case LOWER32:
        return base32_value(c, 'a');
    case UPPER32:
        return base32_value(c, 'A');
    case URL64:
        return base64_value(c);
    case HEX:
        return hex_value(c);
    }
    return -1;
}

/* Reads LENGTH characters of WIDTH bits; bits beyond 256 must be 0. */
static bool read_key(const char *name, size_t length, enum alphabet alphabet, unsigned width,
                     struct rs_key *key)
{
    uint8_t digest[RS_DIGEST_SIZE + 1] = {0};
    unsigned bit = 0;
    for (size_t i = 0; i < length; i++) {
        int value = value_of(alphabet, name[i]);
        if (value < 0) {
            return false;
        }
        for (unsigned b = width; b-- > 0; bit++) {
            digest[bit / 8] |= (uint8_t)(((value >> b) & 1) << (7 - bit % 8));
        }
    }
    if (digest[RS_DIGEST_SIZE]) {
        return false;
    }
    *key = rs_key_of_digest(digest);
    return true;
}

bool rs_key_from_name51(const char *name, struct rs_key *key)
{
    return read_key(name, RS_NAME51, LOWER32, 5, key);
}

bool rs_key_from_triton(const char *name, size_t length, struct rs_key *key)
{
    switch (length) {
    case BASE32_LENGTH:
        return read_key(name, length, UPPER32, 5, key);
    case HEX_LENGTH:
        return read_key(name, length, HEX, 4, key);
    case BASE64_LENGTH:
        return read_key(name, length, URL64, 6, key);
    default:
        return false;
    }
}

bool rs_key_equal(const struct rs_key *a, const struct rs_key *b)
{
    return memcmp(a->bytes, b->bytes, RS_DIGEST_SIZE) == 0;
}
