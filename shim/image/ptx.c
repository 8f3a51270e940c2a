/* SPDX-License-Identifier: Apache-2.0
 *
 * A tokeniser as small as the questions: words, and what is between them.
 */
#include "image/ptx.h"

#include <string.h>

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%' || c == '.';
}

bool rs_ptx_may_begin(const uint8_t *text, size_t size)
{
    return size > 0 && (is_blank(text[0]) || text[0] == '/' || text[0] == '.');
}

static size_t find(struct rs_bytes text, size_t at, const char *what)
{
    const uint8_t *found = memmem(text.data + at, text.size - at, what, strlen(what));
    return found ? (size_t)(found - text.data) + strlen(what) : text.size;
}

/* Behind blanks and comments. */
static size_t skip(struct rs_bytes text, size_t at)
{
    while (at < text.size) {
        bool slash = text.data[at] == '/' && at + 1 < text.size;
        if (is_blank(text.data[at])) {
            at++;
        } else if (slash && text.data[at + 1] == '/') {
            at = find(text, at, "\n");
        } else if (slash && text.data[at + 1] == '*') {
            at = find(text, at + 2, "*/");
        } else {
            break;
        }
    }
    return at;
}

/* The next word, or one other character, or a whole string; empty at the end. */
static struct rs_bytes next(struct rs_bytes text, size_t *at)
{
    size_t begin = skip(text, *at), end = begin;
    while (end < text.size && is_word(text.data[end])) {
        end++;
    }
    if (end == begin && end < text.size) {
        end = text.data[begin] == '"' ? find(text, begin + 1, "\"") : begin + 1;
    }
    *at = end;
    return (struct rs_bytes){text.data + begin, end - begin};
}

static bool is(struct rs_bytes word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.data, text, word.size) == 0;
}

/* Reads digits of WORD from *AT; false where there is none or the number is absurd. */
static bool number(struct rs_bytes word, size_t *at, unsigned *value)
{
    size_t begin = *at;
    *value = 0;
    while (*at < word.size && word.data[*at] >= '0' && word.data[*at] <= '9' && *value < 10000) {
        *value = *value * 10 + (unsigned)(word.data[(*at)++] - '0');
    }
    return *at > begin && *value < 10000;
}

static bool read_target(struct rs_bytes word, struct rs_arch *arch)
{
    size_t at = 3;
    if (word.size < at || memcmp(word.data, "sm_", at) != 0 || !number(word, &at, &arch->sm)) {
        return false;
    }
    arch->suffix = 0;
    if (at < word.size && word.data[at] >= 'a' && word.data[at] <= 'z') {
        arch->suffix = (char)word.data[at++];
    }
    return at == word.size;
}

bool rs_ptx_head(struct rs_bytes text, struct rs_ptx *ptx)
{
    size_t at = 0, in = 0;
    if (!is(next(text, &at), ".version")) {
        return false;
    }
    struct rs_bytes version = next(text, &at);
    if (!number(version, &in, &ptx->major) || in >= version.size || version.data[in++] != '.' ||
        !number(version, &in, &ptx->minor) || in != version.size) {
        return false;
    }
    return is(next(text, &at), ".target") && read_target(next(text, &at), &ptx->arch);
}

bool rs_ptx_kernel(struct rs_bytes text, size_t *at, struct rs_bytes *name)
{
    struct rs_bytes word;
    while ((word = next(text, at)).size) {
        if (is(word, ".entry")) {
            *name = next(text, at);
            return name->size != 0;
        }
    }
    return false;
}
