/* SPDX-License-Identifier: Apache-2.0 */
#include "ordinal/engine.h"

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads DIGITS hex digits. */
static bool read_hex(const uint8_t *text, size_t left, unsigned digits, uint32_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < digits; i++) {
        int digit = i < left ? hex_digit(text[i]) : -1;
        if (digit < 0) {
            return false;
        }
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

static unsigned put_utf8(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (uint8_t)c;
        return 1;
    }
    unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (uint8_t)(lead[more] | c >> (6 * more));
    for (unsigned i = 1; i <= more; i++) {
        to[i] = (uint8_t)(0x80 | ((c >> (6 * (more - i))) & 0x3f));
    }
    return more + 1;
}

/* One-letter escapes, and what they stand for. */
static const char letters[] = "\\'\"abfnrtv";
static const char meanings[] = "\\'\"\a\b\f\n\r\t\v";

/* The escape behind a backslash: its length, 0 where it can't be followed. Writes to TO, which
 * never gets more than the escape took. */
static size_t escape(const uint8_t *text, size_t left, uint8_t *to, unsigned *written)
{
    const char *letter = left ? memchr(letters, text[0], sizeof(letters) - 1) : NULL;
    uint32_t value;
    *written = 0;
    if (!left || text[0] == 'N') {
        return 0;
    }
    if (letter) {
        to[(*written)++] = (uint8_t)meanings[letter - letters];
        return 1;
    }
    if (text[0] == '\n') {
        return 1;
    }
    if (text[0] == 'x' || text[0] == 'u' || text[0] == 'U') {
        unsigned digits = text[0] == 'x' ? 2 : text[0] == 'u' ? 4 : 8;
        if (!read_hex(text + 1, left - 1, digits, &value) || value > 0x10ffff) {
            return 0;
        }
        *written = put_utf8(to, value);
        return 1 + digits;
    }
    if (text[0] >= '0' && text[0] <= '7') {
        size_t used = 0;
        for (value = 0; used < 3 && used < left && text[used] >= '0' && text[used] <= '7'; used++) {
            value = value << 3 | (uint32_t)(text[used] - '0');
        }
        *written = put_utf8(to, value);
        return used;
    }
    uint8_t kept = text[0];
    to[0] = '\\';
    to[1] = kept;
    *written = 2;
    return 1;
}

bool rs_literal_decode(uint8_t *text, size_t *size)
{
    uint8_t *to = memchr(text, '\\', *size);
    if (!to) {
        return true;
    }
    size_t at = (size_t)(to - text);
    while (at < *size) {
        if (text[at] != '\\') {
            *to++ = text[at++];
            continue;
        }
        unsigned written;
        size_t used = escape(text + at + 1, *size - at - 1, to, &written);
        if (!used) {
            return false;
        }
        to += written;
        at += 1 + used;
    }
    *size = (size_t)(to - text);
    return true;
}
