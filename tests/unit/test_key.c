/* SPDX-License-Identifier: Apache-2.0 */
#include "route/key.h"

#include <criterion/criterion.h>
#include <string.h>

/* sha256("abc"), and its spellings by Python's base64 module. */
static const uint8_t digest[RS_DIGEST_SIZE] =
    "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23"
    "\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad";
static const char name51[] = "xj4bnp4pahh6uqkbidpf3lrceoyagyndsylxvhfucd7wd4qacww";
static const char base32[] = "XJ4BNP4PAHH6UQKBIDPF3LRCEOYAGYNDSYLXVHFUCD7WD4QACWWQ";
static const char hex[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char url[] = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";

Test(key, torch_spelling)
{
    char name[RS_NAME51 + 1];
    struct rs_key key, expected = rs_key_of_digest(digest);
    rs_key_name51(digest, name);
    cr_assert_str_eq(name, name51);
    cr_assert(rs_key_from_name51(name51, &key));
    cr_assert(rs_key_equal(&key, &expected));
    cr_assert_eq(key.bytes[31], 0xac);
}

Test(key, triton_spellings)
{
    struct rs_key key, expected = rs_key_of_digest(digest);
    const char *names[] = {base32, hex, url};
    for (unsigned i = 0; i < 3; i++) {
        cr_assert(rs_key_from_triton(names[i], strlen(names[i]), &key), "%s", names[i]);
        cr_assert(rs_key_equal(&key, &expected), "%s", names[i]);
    }
}

Test(key, what_is_no_key)
{
    struct rs_key key;
    char name[65];
    cr_assert_not(rs_key_from_triton(base32, 51, &key));
    cr_assert_not(rs_key_from_triton(hex, 63, &key));
    cr_assert_not(rs_key_from_triton("", 0, &key));
    for (unsigned i = 0; i < 51; i++) {
        strcpy(name, name51);
        name[i] = '1'; /* no character of base32 */
        cr_assert_not(rs_key_from_name51(name, &key));
        name[i] = 'A';
        cr_assert_not(rs_key_from_name51(name, &key));
    }
    strcpy(name, hex);
    name[10] = 'F';
    cr_assert_not(rs_key_from_triton(name, 64, &key));
    strcpy(name, base32);
    name[51] = 'R'; /* bits beyond the digest */
    cr_assert_not(rs_key_from_triton(name, 52, &key));
    strcpy(name, url);
    name[42] = '1';
    cr_assert_not(rs_key_from_triton(name, 43, &key));
}

Test(key, the_last_bit_is_not_part_of_it)
{
    uint8_t other[RS_DIGEST_SIZE];
    memcpy(other, digest, sizeof(other));
    other[31] ^= 1;
    struct rs_key a = rs_key_of_digest(digest), b = rs_key_of_digest(other);
    cr_assert(rs_key_equal(&a, &b));
    other[31] ^= 2;
    b = rs_key_of_digest(other);
    cr_assert_not(rs_key_equal(&a, &b));
}
