/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/tuned_text.h"

#include <string.h>

enum { DEPTH = 16 }; /* of objects and lists inside each other; torch writes one or two */

struct reader {
    const uint8_t *at, *end;
    struct rs_tuned_text *out;
};

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t' ||
                                        *reader->at == '\n' || *reader->at == '\r')) {
        reader->at++;
    }
}

/* CHARACTER, with space around it. */
static bool take(struct reader *reader, uint8_t character)
{
    skip_space(reader);
    if (reader->at >= reader->end || *reader->at != character) {
        return false;
    }
    reader->at++;
    skip_space(reader);
    return true;
}

static bool read_string(struct reader *reader, struct rs_bytes *content)
{
    if (reader->at >= reader->end || *reader->at != '"') {
        return false;
    }
    const uint8_t *begin = ++reader->at;
    while (reader->at < reader->end && *reader->at != '"') {
        if (*reader->at < ' ') {
            return false;
        }
        reader->at += *reader->at == '\\' ? 2 : 1;
    }
    if (reader->at >= reader->end) {
        return false;
    }
    *content = (struct rs_bytes){begin, (size_t)(reader->at++ - begin)};
    return true;
}

/* A number, true, false, null, or what Python writes beside JSON (NaN, Infinity). */
static bool read_word(struct reader *reader, struct rs_bytes *word)
{
    const uint8_t *begin = reader->at;
    while (reader->at < reader->end &&
           ((*reader->at >= '0' && *reader->at <= '9') ||
            (*reader->at >= 'a' && *reader->at <= 'z') ||
            (*reader->at >= 'A' && *reader->at <= 'Z') || memchr("+-.", *reader->at, 3))) {
        reader->at++;
    }
    *word = (struct rs_bytes){begin, (size_t)(reader->at - begin)};
    return word->size > 0;
}

static bool is(struct rs_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static bool read_value(struct reader *reader, int depth, struct rs_bytes *value);

/* What stands between the brackets, up to CLOSE. Only the outermost object's fields are noted. */
static bool read_items(struct reader *reader, int depth, uint8_t close)
{
    struct rs_bytes key = {NULL, 0}, value;
    if (take(reader, close)) {
        return true;
    }
    do {
        if (close == '}' && !(read_string(reader, &key) && take(reader, ':'))) {
            return false;
        }
        bool text = reader->at < reader->end && *reader->at == '"';
        if (!read_value(reader, depth, &value)) {
            return false;
        }
        if (depth == 1 && text && is(key, "configs_hash")) {
            reader->out->configs = value;
        } else if (depth == 1 && is(key, "found_by_coordesc")) {
            reader->out->refined = is(value, "true");
        }
    } while (take(reader, ','));
    return take(reader, close);
}

static bool read_value(struct reader *reader, int depth, struct rs_bytes *value)
{
    *value = (struct rs_bytes){NULL, 0};
    if (depth < DEPTH && take(reader, '{')) {
        return read_items(reader, depth + 1, '}');
    }
    if (depth < DEPTH && take(reader, '[')) {
        return read_items(reader, depth + 1, ']');
    }
    return read_string(reader, value) || read_word(reader, value);
}

bool rs_tuned_read(struct rs_bytes text, struct rs_tuned_text *out)
{
    struct reader reader = {text.data, text.data + text.size, out};
    *out = (struct rs_tuned_text){{NULL, 0}, false};
    return take(&reader, '{') && read_items(&reader, 1, '}') && reader.at == reader.end &&
           out->configs.size > 0;
}

bool rs_tuned_alike(const struct rs_tuned_text *a, const struct rs_tuned_text *b)
{
    return a->configs.size == b->configs.size &&
           memcmp(a->configs.data, b->configs.data, a->configs.size) == 0;
}
