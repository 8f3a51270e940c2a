/* SPDX-License-Identifier: Apache-2.0 */
#include "route/shape.h"

#include <string.h>

enum {
    TORCH_KEY = 1 + RS_NAME51, /* prefix letter and 51 characters */
    UUID_TMP = 4 + 36,         /* "tmp." and a uuid with its dashes */
    MAX_PARTS = 4,
};

struct part {
    const char *text;
    size_t length;
};

static bool part_is(const struct part *part, const char *text)
{
    size_t length = strlen(text);
    return part->length == length && memcmp(part->text, text, length) == 0;
}

static bool ordinal_name(const char *text, size_t length)
{
    if (length == 4) {
        return memcmp(text, "None", 4) == 0;
    }
    if (length == 0 || length > 3) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
    }
    return true;
}

static bool group_name(const char *text, size_t length)
{
    static const char head[] = "__grp__", tail[] = ".json";
    return length > sizeof(head) + sizeof(tail) - 2 && memcmp(text, head, sizeof(head) - 1) == 0 &&
           memcmp(text + length - (sizeof(tail) - 1), tail, sizeof(tail) - 1) == 0;
}

static bool ends_with(const char *path, size_t length, const char *tail)
{
    size_t size = strlen(tail);
    return length >= size && memcmp(path + length - size, tail, size) == 0;
}

static const char config_tail[] = ".best_config", tuned_tail[] = ".autotune.json";
enum { BASE64 = 43, BASE64_PADDED = 44, BASE32 = 52, HEX = 64 };

static bool config_name(const char *name, size_t length)
{
    return length == HEX + sizeof(config_tail) - 1 && ends_with(name, length, config_tail);
}

/* As torch 2.4 and 2.5 name it: after the kernel's file, c<51 characters>. */
static bool config_of_file(const char *name, size_t length)
{
    return length == 1 + RS_NAME51 + sizeof(config_tail) - 1 && name[0] == 'c' &&
           ends_with(name, length, config_tail);
}

static bool bundle_name(const char *text, size_t length)
{
    if (length != UUID_TMP || memcmp(text, "tmp.", 4) != 0) {
        return false;
    }
    for (size_t i = 4; i < UUID_TMP; i++) {
        bool dash = i == 12 || i == 17 || i == 22 || i == 27;
        bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
        if (dash ? text[i] != '-' : !hex) {
            return false;
        }
    }
    return true;
}

bool rs_shape_group_name(const char *name)
{
    return group_name(name, strlen(name));
}

bool rs_shape_bundle(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return bundle_name(name, strlen(name));
}

static bool is_kernel_key(const char *text, size_t length)
{
    struct rs_key key;
    return rs_key_from_triton(text, length, &key);
}

/* The name of a key's directory is known by its length: every name in it counts, since torch takes
 * whatever lies in one of its own for an entry, and the files of a kernel have any name. SLASH is
 * more than BASE64 characters behind PATH: others pay nothing for this. */
static __attribute__((noinline)) bool in_key_directory(const char *path, const char *slash)
{
    _Static_assert((int)BASE32 == (int)TORCH_KEY, "one look for both");
    size_t room = (size_t)(slash - path);
    const char *folder = room >= TORCH_KEY ? slash - TORCH_KEY : NULL;
    if (folder && (folder == path || folder[-1] == '/') &&
        (*folder == 'f' || *folder == 'a' || is_kernel_key(folder, BASE32))) {
        return true;
    }
    return (slash[-BASE64 - 1] == '/' && is_kernel_key(slash - BASE64, BASE64)) ||
           (room > HEX && slash[-HEX - 1] == '/' && is_kernel_key(slash - HEX, HEX));
}

/* Whether the directory of a name may be a key's without saying so: there is none, or "x/./name".
 * In a plain spelling in_key_directory() sees it. */
static bool odd_directory(const char *path, const char *slash)
{
    if (!slash || slash == path) {
        return !slash;
    }
    const char *begin = slash;
    while (begin > path && begin[-1] == '.') {
        begin--;
    }
    return slash - begin <= 2 && (begin == path || begin[-1] == '/');
}

/* Names that say who they are, and those of which only the length is looked at: hashes in the
 * base64 of Triton's newer keys, in base32 (Inductor's with their letter and without, Triton's
 * older ones) and in hex. */
static bool cache_name(const char *name, size_t length, const char *path, const char *slash)
{
    static const uint64_t hashes = UINT64_C(1) << BASE64 | UINT64_C(1) << BASE64_PADDED |
                                   UINT64_C(1) << RS_NAME51 | UINT64_C(1) << TORCH_KEY;
    if (length < HEX ? hashes >> length & 1 : length == HEX || config_name(name, length)) {
        return true;
    }
    if (name[length - 1] == 'n' && ends_with(name, length, tuned_tail)) {
        return true;
    }
    switch (name[0]) {
    case 't':
        return bundle_name(name, length);
    case '_':
        return group_name(name, length);
    case '.':
        return length > 6 && odd_directory(path, slash);
    case 'e':
        return length == 5 && memcmp(name, "entry", 5) == 0 && odd_directory(path, slash);
    default:
        return ordinal_name(name, length) && slash && slash - path >= 6 &&
               memcmp(slash - 6, "triton", 6) == 0;
    }
}

bool rs_shape_maybe(const char *path)
{
    size_t length = strlen(path);
    const char *slash = memrchr(path, '/', length);
    const char *name = slash ? slash + 1 : path;
    if (!*name) {
        /* "dir/": rare, and the name in front of the slashes counts. */
        return slash && slash != path;
    }
    return cache_name(name, (size_t)(path + length - name), path, slash) ||
           (slash && slash - path > BASE64 && in_key_directory(path, slash));
}

enum rs_shape rs_shape_above(const char *path)
{
    size_t length = strlen(path);
    if (ends_with(path, length, "/aotautograd")) {
        return RS_SHAPE_AOT_DIR;
    }
    bool some = length > 3 && path[length - 3] == '/' && ends_with(path, length - 3, "/fxgraph");
    return some || ends_with(path, length, "/fxgraph") ? RS_SHAPE_FX_DIR : RS_SHAPE_NONE;
}

bool rs_shape_maybe_directory(const char *path)
{
    return rs_shape_maybe(path) || (!strchr(path, '/') && ordinal_name(path, strlen(path))) ||
           rs_shape_above(path) != RS_SHAPE_NONE;
}

/* The last components of PATH, last one first; trailing slashes are passed over. Returns how many
 * were found before one that is empty, "." or "..". */
static size_t last_parts(const char *path, struct part parts[MAX_PARTS])
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') {
        end--;
    }
    size_t count = 0;
    while (count < MAX_PARTS && end > 0) {
        size_t begin = end;
        while (begin > 0 && path[begin - 1] != '/') {
            begin--;
        }
        struct part part = {path + begin, end - begin};
        if (begin == 0 || part.length == 0 || part_is(&part, ".") || part_is(&part, "..")) {
            break;
        }
        parts[count++] = part;
        end = begin - 1;
    }
    return count;
}

static bool torch_key(const struct part *part, char prefix, struct rs_key *key)
{
    return part->length == TORCH_KEY && part->text[0] == prefix &&
           rs_key_from_name51(part->text + 1, key);
}

/* <root> is what stands before the component FIRST; an empty one is the file system's root. */
static void found(struct rs_parts *out, enum rs_shape shape, const char *path,
                  const struct part *first)
{
    out->shape = shape;
    out->root = (size_t)(first->text - path) - 1;
}

/* <root>/fxgraph/<xx>/<key>: KEY is the index of the key's component. */
static bool split_fx(const char *path, const struct part *parts, size_t count, size_t key,
                     struct rs_parts *out)
{
    if (count < key + 3 || !part_is(&parts[key + 2], "fxgraph") || parts[key + 1].length != 2 ||
        !torch_key(&parts[key], 'f', &out->key) ||
        memcmp(parts[key + 1].text, parts[key].text + 1, 2) != 0) {
        return false;
    }
    found(out, key ? RS_SHAPE_FX_FILE : RS_SHAPE_FX_DIR, path, &parts[key + 2]);
    return true;
}

static bool split_aot(const char *path, const struct part *parts, size_t count, size_t key,
                      struct rs_parts *out)
{
    if (count < key + 2 || !part_is(&parts[key + 1], "aotautograd") ||
        !torch_key(&parts[key], 'a', &out->key)) {
        return false;
    }
    found(out, key ? RS_SHAPE_AOT_FILE : RS_SHAPE_AOT_DIR, path, &parts[key + 1]);
    return true;
}

static bool split_triton(const char *path, const struct part *parts, size_t count,
                         struct rs_parts *out)
{
    const struct part *last = &parts[0];
    if (group_name(last->text, last->length) && count > 1 &&
        rs_key_from_triton(parts[1].text, parts[1].length, &out->key)) {
        found(out, RS_SHAPE_TRITON_GROUP, path, &parts[1]);
        return true;
    }
    if (ends_with(last->text, last->length, tuned_tail) && count > 1 &&
        rs_key_from_triton(parts[1].text, parts[1].length, &out->key)) {
        found(out, RS_SHAPE_TRITON_TUNED, path, &parts[1]);
        return true;
    }
    if (bundle_name(last->text, last->length)) {
        found(out, RS_SHAPE_TRITON_TMP, path, last);
        return true;
    }
    if (count > 1 && ordinal_name(last->text, last->length) && part_is(&parts[1], "triton")) {
        found(out, RS_SHAPE_TRITON_LINK, path, &parts[1]);
        return true;
    }
    if (rs_key_from_triton(last->text, last->length, &out->key)) {
        found(out, RS_SHAPE_TRITON_DIR, path, last);
        return true;
    }
    if (count > 1 && last->text[0] != '.' &&
        rs_key_from_triton(parts[1].text, parts[1].length, &out->key)) {
        found(out, RS_SHAPE_TRITON_FILE, path, &parts[1]);
        return true;
    }
    return false;
}

static bool split_config(const char *path, const struct part *parts, size_t count,
                         struct rs_parts *out)
{
    const struct part *last = &parts[0];
    bool named = config_name(last->text, last->length)
                     ? rs_key_from_triton(last->text, HEX, &out->key)
                     : config_of_file(last->text, last->length) &&
                           rs_key_from_name51(last->text + 1, &out->key);
    if (count < 2 || parts[1].length != 2 || !named) {
        return false;
    }
    found(out, RS_SHAPE_CONFIG, path, &parts[1]);
    return true;
}

void rs_shape_split(const char *path, struct rs_parts *out)
{
    struct part parts[MAX_PARTS];
    memset(out, 0, sizeof(*out));
    if (path[0] != '/') {
        return;
    }
    size_t count = last_parts(path, parts);
    if (count == 0) {
        return;
    }
    out->name = parts[0].text;
    if (split_fx(path, parts, count, 1, out) || split_fx(path, parts, count, 0, out) ||
        split_aot(path, parts, count, 1, out) || split_aot(path, parts, count, 0, out) ||
        split_triton(path, parts, count, out) || split_config(path, parts, count, out)) {
        return;
    }
    out->shape = RS_SHAPE_NONE;
}

bool rs_shape_entry_name(const char *name)
{
    return name[0] != '.';
}

bool rs_shape_entry_hash(const char *name)
{
    struct rs_key key;
    return strcmp(name, "entry") == 0 ||
           (strlen(name) == RS_NAME51 && rs_key_from_name51(name, &key));
}
