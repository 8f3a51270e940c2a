/* SPDX-License-Identifier: Apache-2.0 */
#include "route/group.h"

#include <string.h>

static const char opening[] = "{\"child_paths\": {", closing[] = "}}";

struct reader {
    const char *at, *end;
};

static bool take(struct reader *r, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, text, size) != 0) {
        return false;
    }
    r->at += size;
    return true;
}

static bool plain(unsigned char c)
{
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static bool take_string(struct reader *r, const char **text, size_t *size)
{
    if (!take(r, "\"")) {
        return false;
    }
    *text = r->at;
    while (r->at < r->end && plain((unsigned char)*r->at)) {
        r->at++;
    }
    *size = (size_t)(r->at - *text);
    return take(r, "\"");
}

static bool ends_in(const char **end, const char *begin, const char *part, size_t size)
{
    if ((size_t)(*end - begin) < size || memcmp(*end - size, part, size) != 0) {
        return false;
    }
    *end -= size;
    return true;
}

/* <something>/FOLDER/<name> */
static bool lies_in(const char *path, size_t size, const char *folder, const char *name,
                    size_t name_size)
{
    const char *end = path + size;
    return size && *path == '/' && ends_in(&end, path, name, name_size) &&
           ends_in(&end, path, "/", 1) && ends_in(&end, path, folder, strlen(folder)) &&
           ends_in(&end, path, "/", 1);
}

static bool good_name(const struct rs_children *group, const char *name, size_t size)
{
    if (!size || *name == '.' || memchr(name, '/', size)) {
        return false;
    }
    for (unsigned i = 0; i < group->count; i++) {
        if (group->children[i].size == size && memcmp(group->children[i].name, name, size) == 0) {
            return false;
        }
    }
    return true;
}

static bool take_child(struct reader *r, const char *folder, struct rs_children *group)
{
    const char *name, *path;
    size_t name_size, size;
    if (group->count == RS_CHILDREN_MAX || (group->count && !take(r, ", ")) ||
        !take_string(r, &name, &name_size) || !take(r, ": ") || !take_string(r, &path, &size) ||
        !good_name(group, name, name_size) || !lies_in(path, size, folder, name, name_size)) {
        return false;
    }
    group->children[group->count].name = name;
    group->children[group->count++].size = name_size;
    return true;
}

bool rs_group_read(const char *text, size_t size, const char *folder, struct rs_children *group)
{
    struct reader r = {text, text + size};
    group->count = 0;
    if (!take(&r, opening)) {
        return false;
    }
    while (r.at < r.end && *r.at != '}') {
        if (!take_child(&r, folder, group)) {
            return false;
        }
    }
    return take(&r, closing) && r.at == r.end;
}

struct writer {
    char *at, *end;
    bool full;
};

static void put(struct writer *w, const char *text, size_t size)
{
    if (w->full || (size_t)(w->end - w->at) < size) {
        w->full = true;
        return;
    }
    memcpy(w->at, text, size);
    w->at += size;
}

size_t rs_group_write(const struct rs_children *group, const char *directory, char *out,
                      size_t room)
{
    struct writer w = {out, out + room, *directory != '/'};
    size_t length = strlen(directory);
    for (size_t i = 0; i < length; i++) {
        w.full = w.full || !plain((unsigned char)directory[i]);
    }
    put(&w, opening, sizeof(opening) - 1);
    for (unsigned i = 0; i < group->count; i++) {
        const char *name = group->children[i].name;
        size_t size = group->children[i].size;
        put(&w, ", \"", i ? 3 : 0);
        put(&w, "\"", i ? 0 : 1);
        put(&w, name, size);
        put(&w, "\": \"", 4);
        put(&w, directory, length);
        put(&w, "/", 1);
        put(&w, name, size);
        put(&w, "\"", 1);
    }
    put(&w, closing, sizeof(closing) - 1);
    return w.full ? 0 : (size_t)(w.at - out);
}
