/* SPDX-License-Identifier: Apache-2.0
 *
 * From the store into this process's own cache directory.
 */
#include "rank/share.h"

#include "base/log.h"
#include "base/sys.h"
#include "rank/count.h"
#include "rank/keep.h"
#include "rank/keep_place.h"
#include "rank/node.h"
#include "rank/parcel.h"
#include "rank/root.h"
#include "rank/share_kernel.h"
#include "rank/view.h"

#include <stdio.h>
#include <string.h>

/* A group that is on its way. */
struct fetch {
    struct rs_arena arena;
    struct rs_node *node;
    struct rs_where *to; /* in the arena. The path of an entry's directory, with room behind it */
    size_t folder;       /* its length */
    const char *name;    /* of a result, below the root */
    struct rs_artifact artifact;
    struct rs_roots roots;
    struct rs_pieces *entries; /* one for each part */
    enum rs_reason reason;
};

static enum rs_share fetch(const struct rs_where *where);

static bool refuse(struct fetch *f, enum rs_reason reason)
{
    f->reason = reason;
    return false;
}

static bool load(struct fetch *f, unsigned i, struct rs_bytes *out)
{
    uint8_t *data = rs_arena_alloc(&f->arena, (size_t)f->artifact.parts[i].size + 1);
    if (!data || !rs_artifact_read(&f->artifact, i, data)) {
        return false;
    }
    data[f->artifact.parts[i].size] = '\0';
    *out = (struct rs_bytes){data, f->artifact.parts[i].size};
    return true;
}

static bool is_root(const struct rs_part *part)
{
    return strcmp(part->name, RS_PARCEL_ROOT) == 0;
}

/* Where the group comes from, and whether this process may have it. */
static bool from_elsewhere(struct fetch *f)
{
    struct rs_bytes from = {NULL, 0};
    for (unsigned i = 0; i < f->artifact.count; i++) {
        if (is_root(&f->artifact.parts[i]) && !load(f, i, &from)) {
            return false;
        }
    }
    f->roots = (struct rs_roots){(const char *)from.data, f->to->path, from.size, f->to->root};
    /* A directory by the same name that is another one now has been emptied. */
    return from.size &&
           !(from.size == f->to->root && memcmp(from.data, f->to->path, from.size) == 0);
}

/* FX entries that the AOT entry of REPORT names: an AOT entry whose graphs are missing is worth
 * nothing. Each KEY has a directory of its own. */
static bool graphs_there(struct fetch *f, const struct rs_report *report)
{
    struct rs_where *graph = rs_arena_alloc(&f->arena, sizeof(*graph));
    if (!graph || report->key_count > RS_KEYS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < report->key_count; i++) {
        char name[RS_NAME51 + 1];
        *graph = *f->to;
        graph->shape = RS_SHAPE_FX_DIR;
        memcpy(graph->key.bytes, report->keys[i], RS_DIGEST_SIZE);
        rs_key_name51(report->keys[i], name);
        size_t room = sizeof(graph->path) - graph->root;
        int length = snprintf(graph->path + graph->root, room, "/fxgraph/%.2s/f%s", name, name);
        if (length < 0 || (size_t)length >= room) {
            return false;
        }
        graph->name = graph->root + sizeof("/fxgraph/xx/") - 1;
        if (!rs_where_holds_entry(graph->path) && fetch(graph) != RS_SHARE_FETCHED) {
            return false;
        }
    }
    return true;
}

static bool move_entry(struct fetch *f, unsigned i, enum rs_kind kind)
{
    struct rs_report report;
    struct rs_bytes bytes;
    if (!rs_shape_entry_hash(f->artifact.parts[i].name)) {
        return refuse(f, RS_REFUSED_malformed);
    }
    if (!load(f, i, &bytes)) {
        return false;
    }
    enum rs_reason reason =
        rs_ordinal_reroot(&f->arena, bytes, kind, &f->roots, &f->entries[i], &report);
    if (reason != RS_OK) {
        return refuse(f, reason);
    }
    if (rs_report_ordinal(&report) > 0 || report.private_ordinal >= 0) {
        return refuse(f, RS_REFUSED_not_canonical);
    }
    return kind != RS_KIND_aot_entry || graphs_there(f, &report);
}

static bool place_entry(struct fetch *f, unsigned i)
{
    const char *name = f->artifact.parts[i].name;
    size_t size = strlen(name);
    if (f->folder + 1 + size >= sizeof(f->to->path)) {
        return false;
    }
    f->to->path[f->folder] = '/';
    memcpy(f->to->path + f->folder + 1, name, size + 1);
    f->to->name = f->folder + 1;
    int error = rs_place(f->to, &f->entries[i], NULL, RS_PLACE_NEW);
    return error == 0 || error == EEXIST;
}

/* The directories below the root on the way to the entry. */
static bool make_directories(struct fetch *f)
{
    return rs_keep_mkdirs(f->to->path, f->to->root, f->folder, false);
}

/* All entries of the key, or none where one can't be moved. */
static bool fetch_entries(struct fetch *f, enum rs_kind kind)
{
    const struct rs_artifact *a = &f->artifact;
    f->entries = rs_arena_alloc(&f->arena, a->count * sizeof(*f->entries));
    bool good = f->entries != NULL && a->count > 1;
    for (unsigned i = 0; good && i < a->count; i++) {
        good = is_root(&a->parts[i]) || move_entry(f, i, kind);
    }
    good = good && make_directories(f);
    for (unsigned i = 0; good && i < a->count; i++) {
        good = is_root(&a->parts[i]) || place_entry(f, i);
    }
    return good;
}

/* TO is WHERE with the path of the key's directory. */
static bool target(struct fetch *f, const struct rs_where *where)
{
    bool file = where->shape == RS_SHAPE_AOT_FILE || where->shape == RS_SHAPE_FX_FILE ||
                where->shape == RS_SHAPE_TRITON_GROUP;
    f->to = rs_arena_alloc(&f->arena, sizeof(*f->to));
    if (!f->to) {
        return false;
    }
    *f->to = *where;
    f->folder = file ? where->name - 1 : strlen(where->path);
    while (f->folder > where->root + 1 && f->to->path[f->folder - 1] == '/') {
        f->folder--;
    }
    f->to->path[f->folder] = '\0';
    return true;
}

static bool bring(struct fetch *f, const struct rs_artifact_key *key)
{
    if (key->kind == RS_KIND_triton_group) {
        return rs_kernel_place(&f->arena, &f->artifact, f->to->path, &f->reason);
    }
    return fetch_entries(f, key->kind);
}

/* A result holds no path. TO's path becomes <root>/<name>. */
static bool bring_result(struct fetch *f, const struct rs_artifact_key *key)
{
    struct rs_bytes bytes;
    size_t size = strlen(f->name);
    unsigned part = is_root(&f->artifact.parts[0]);
    (void)key;
    if (f->artifact.count != 2 || strcmp(f->artifact.parts[part].name, f->name) != 0 ||
        !load(f, part, &bytes) || f->to->root + 1 + size >= sizeof(f->to->path)) {
        return false;
    }
    memcpy(f->to->path + f->to->root + 1, f->name, size + 1);
    f->to->name = (size_t)(strrchr(f->to->path, '/') - f->to->path) + 1;
    f->folder = f->to->name - 1;
    int error = make_directories(f) ? rs_place_bytes(f->to, bytes, RS_PLACE_NEW) : errno;
    return error == 0 || error == EEXIST;
}

static void tell(const struct fetch *f, bool done)
{
    rs_count(RS_C_groups_fetched, done);
    rs_count(RS_C_groups_not_fetched, !done);
    if (f->to) {
        f->to->path[f->folder] = '\0';
    }
    if (!done && f->reason != RS_OK) {
        rs_count_refusal(f->reason);
        rs_log("not taken from %.*s: %s: %s", (int)f->roots.from_size, f->roots.from, f->to->path,
               rs_reason_text(f->reason));
    }
}

/* Finds KEY for the root of WHERE and lets PUT bring it there. */
static enum rs_share find(struct fetch *f, const struct rs_where *where,
                          const struct rs_artifact_key *key,
                          bool (*put)(struct fetch *f, const struct rs_artifact_key *key))
{
    enum rs_share result = RS_SHARE_NOTHING;
    f->node = rs_node();
    if (!f->node || !f->node->slot) {
        return result;
    }
    struct rs_origin origin = rs_origin_of(&f->node->store, f->node->slot, where->dev, where->ino);
    if (!rs_artifact_find(&f->node->store, f->node->slot, key, &origin, RS_FIND_ANYWHERE,
                          &f->artifact)) {
        return result;
    }
    /* What was published from here and is gone was removed by somebody: that must stay so. */
    if (f->artifact.match != RS_MATCH_ROOT) {
        rs_rewrite_arena(&f->arena);
        bool done = target(f, where) && from_elsewhere(f) && put(f, key);
        tell(f, done);
        result = done ? RS_SHARE_FETCHED : RS_SHARE_REFUSED;
        rs_arena_free(&f->arena);
    }
    rs_artifact_release(&f->artifact);
    return result;
}

static enum rs_share fetch(const struct rs_where *where)
{
    struct fetch f = {.reason = RS_OK};
    struct rs_artifact_key key;
    return rs_share_key(where, &key) ? find(&f, where, &key, bring) : RS_SHARE_NOTHING;
}

enum rs_share rs_share_fetch(const struct rs_where *where)
{
    int saved = errno;
    enum rs_share result = rs_root_home(where) ? fetch(where) : RS_SHARE_NOTHING;
    errno = saved;
    return result;
}

bool rs_share_fetch_result(const struct rs_where *where, const char *name)
{
    struct fetch f = {.reason = RS_OK, .name = name};
    struct rs_artifact_key key;
    int saved = errno;
    bool done = rs_root_home(where) && rs_share_result_key(name, &key) &&
                find(&f, where, &key, bring_result) == RS_SHARE_FETCHED;
    errno = saved;
    return done;
}

bool rs_share_fetch_tuned(const struct rs_where *where)
{
    struct fetch f = {.reason = RS_OK, .name = where->path + where->root + 1};
    struct rs_artifact_key key = {.kind = RS_KIND_best_config, .key = where->key};
    int saved = errno;
    bool done = rs_root_home(where) && find(&f, where, &key, bring_result) == RS_SHARE_FETCHED;
    errno = saved;
    return done;
}
