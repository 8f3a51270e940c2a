/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths of the cache directory inside an entry. Static autotuners (torch 2.8 and later) hold the
 * kernel's file and its .best_config by absolute path, and torch reads and writes there; both fill
 * their string. Everywhere else a path is something to read for people: comments of generated code,
 * the settings above a printed graph.
 */
#include "ordinal/engine.h"

static bool goes_on(uint8_t c)
{
    return rs_text_is_word(c) || c == '-' || c == '.';
}

/* The next place behind AT where the old root is named; NULL: none. */
static const uint8_t *next_root(const struct rs_roots *roots, const uint8_t *begin,
                                const uint8_t *at, const uint8_t *end)
{
    while ((at = memmem(at, (size_t)(end - at), roots->from, roots->from_size)) != NULL) {
        const uint8_t *behind = at + roots->from_size;
        if ((at == begin || !goes_on(at[-1])) && (behind == end || !goes_on(*behind))) {
            return at;
        }
        at++;
    }
    return NULL;
}

/* Whether the line around AT only tells people something. */
static bool for_people(const uint8_t *begin, const uint8_t *at, const uint8_t *end)
{
    static const char setting[] = "os.environ[";
    while (at > begin && at[-1] != '\n') {
        at--;
    }
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return at < end && (*at == '#' || ((size_t)(end - at) >= sizeof(setting) - 1 &&
                                       memcmp(at, setting, sizeof(setting) - 1) == 0));
}

static bool all_hex(const uint8_t *text)
{
    for (unsigned i = 0; i < RS_HEX; i++) {
        if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f'))) {
            return false;
        }
    }
    return true;
}

static bool code_name(const uint8_t *name)
{
    for (unsigned i = 1; i < RS_NAME; i++) {
        if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '2' && name[i] <= '7'))) {
            return false;
        }
    }
    return name[0] == 'c';
}

/* A string that torch uses as a path of one of its files: .../c<51 characters>.py or .../<64
 * digits>.best_config. */
static bool cache_file(struct rs_bytes text)
{
    static const char config[] = ".best_config";
    enum { CONFIG = sizeof(config) - 1, SOURCE = RS_NAME + 3 };
    const uint8_t *end = text.data + text.size;
    if (text.size > RS_HEX + CONFIG && memcmp(end - CONFIG, config, CONFIG) == 0) {
        /* "xx/<digits>.best_config" is a name in artifacts that torch collects, for a Mega-Cache.
         */
        bool name = text.size == RS_HEX + CONFIG + 3 && !memchr(text.data, '/', 2);
        return !name && end[-CONFIG - RS_HEX - 1] == '/' && all_hex(end - CONFIG - RS_HEX);
    }
    return text.size > SOURCE && memcmp(end - 3, ".py", 3) == 0 && end[-SOURCE - 1] == '/' &&
           code_name(end - SOURCE);
}

enum rs_reason rs_root_judge(const struct rs_roots *roots, struct rs_bytes text, bool *moves)
{
    const uint8_t *begin = text.data, *end = begin + text.size;
    const uint8_t *at = next_root(roots, begin, begin, end);
    *moves = false;
    if (!memchr(begin, '\n', text.size)) {
        *moves = at == begin && at + roots->from_size < end && begin[roots->from_size] == '/';
        bool other = at && (!*moves || next_root(roots, begin, at + roots->from_size, end));
        return other || (!*moves && cache_file(text)) ? RS_REFUSED_other_root : RS_OK;
    }
    for (; at; at = next_root(roots, begin, at + roots->from_size, end)) {
        if (!for_people(begin, at, end)) {
            return RS_REFUSED_other_root;
        }
    }
    return RS_OK;
}
