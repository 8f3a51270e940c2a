/* SPDX-License-Identifier: Apache-2.0
 *
 * From a cache directory into the store.
 */
#include "rank/share.h"

#include "base/dir.h"
#include "base/state.h"
#include "base/sys.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/parcel.h"
#include "rank/reads.h"
#include "rank/root.h"

#include <string.h>

/* Only what all ranks may have. */
static bool canonical(const struct rs_where *where)
{
    return rs_known_find(&where->key).treatment == RS_TREAT_CANONICAL;
}

/* The store, if WHERE lies where this process publishes. */
static struct rs_node *store_for(const struct rs_where *where)
{
    struct rs_node *node = rs_node();
    return node && node->slot && rs_config.size != 0 && rs_root_home(where) ? node : NULL;
}

static void put(const struct rs_parcel *parcel, struct rs_node *node, const struct rs_where *where,
                const struct rs_artifact_key *key)
{
    struct rs_origin origin = rs_origin_of(&node->store, node->slot, where->dev, where->ino);
    /* Kernels come with their graphs, where graphs are kept, and so do measured ones: others are
     * worth their room only where another process has asked for them. */
    bool inner = key->kind == RS_KIND_triton_group || key->kind == RS_KIND_best_config;
    unsigned flags = rs_root_several(where) ? RS_PUT_PROMISED : inner ? RS_PUT_IF_WANTED : 0;
    (void)rs_artifact_put(&node->store, node->slot, key, &origin, flags, parcel->parts,
                          parcel->count);
}

/* The directory that the first SIZE characters of the path WHERE name, as *PATH and *FD, open for
 * FLAGS. A second path would be too much for a small thread's stack. */
static bool open_directory(const struct rs_where *where, size_t size, int flags,
                           struct rs_arena *arena, char **path, int *fd)
{
    *path = rs_arena_alloc(arena, size + 1);
    if (!*path) {
        return false;
    }
    memcpy(*path, where->path, size);
    (*path)[size] = '\0';
    *fd = rs_sys_openat(AT_FDCWD, *path, flags | O_DIRECTORY | O_CLOEXEC, 0);
    return *fd >= 0;
}

static bool note_group(int fd, const char *name, void *context)
{
    (void)fd;
    char *group = context;
    bool is = rs_shape_group_name(name);
    if (is) {
        memcpy(group, name, strlen(name) + 1);
    }
    return !is;
}

/* The kernel in DIRECTORY, open at FD, to which the file WHERE belongs. */
static bool pack_kernel(const struct rs_where *where, const char *directory, int fd,
                        struct rs_parcel *parcel)
{
    char group[NAME_MAX + 1] = "";
    const char *name = where->path + where->name;
    if (where->shape == RS_SHAPE_TRITON_FILE) {
        rs_dir_each(fd, note_group, group);
        name = group;
    }
    return *name && rs_parcel_kernel(parcel, fd, strrchr(directory, '/') + 1, name, where->path,
                                     where->root);
}

/* A key gets entry after entry (one from each rank, of a training graph's AOT key). Where reading
 * is slow, what was published of them before is not read again. */
static bool pack_entries(const struct rs_where *where, int fd, struct rs_node *node,
                         struct rs_parcel *parcel)
{
    struct rs_artifact known;
    struct rs_artifact_key key;
    struct rs_origin origin = rs_origin_of(&node->store, node->slot, where->dev, where->ino);
    bool slow = rs_reads_from_memory(fd, where->dev);
    bool found = slow && rs_share_key(where, &key) &&
                 rs_artifact_find(&node->store, node->slot, &key, &origin, 0, &known);
    bool whole = rs_parcel_entries(parcel, fd, where->path, where->root, found ? &known : NULL);
    if (found) {
        rs_artifact_release(&known);
    }
    /* Where others read it from the store, its kernels will be there, too. */
    if (whole && where->shape != RS_SHAPE_AOT_FILE && (rs_root_several(where) || slow)) {
        rs_parcel_cut(parcel);
    }
    return whole;
}

bool rs_share_pack(const struct rs_where *where, struct rs_node *node, struct rs_parcel *parcel)
{
    bool kernel = where->shape == RS_SHAPE_TRITON_GROUP || where->shape == RS_SHAPE_TRITON_FILE;
    struct rs_arena arena;
    char *directory;
    int fd;
    *parcel = (struct rs_parcel){.whole = false};
    rs_arena_init(&arena, 2 * PATH_MAX);
    bool whole = open_directory(where, where->name - 1, O_RDONLY, &arena, &directory, &fd);
    if (whole) {
        whole = kernel ? pack_kernel(where, directory, fd, parcel)
                       : pack_entries(where, fd, node, parcel);
        rs_sys_close(fd);
    }
    rs_arena_free(&arena);
    return whole;
}

static void publish(const struct rs_where *where, struct rs_node *node,
                    const struct rs_artifact_key *key)
{
    struct rs_parcel parcel;
    if (rs_share_pack(where, node, &parcel)) {
        put(&parcel, node, where, key);
    }
    rs_parcel_free(&parcel);
}

/* Ranks that store entries of one key at the same time would each read those of all. */
static void publish_in_turn(const struct rs_where *where, struct rs_node *node,
                            const struct rs_artifact_key *key)
{
    struct rs_turn turn;
    struct rs_origin origin = rs_origin_of(&node->store, node->slot, where->dev, where->ino);
    bool mine = rs_reads_take_turn(node, key, &origin, &turn);
    publish(where, node, key);
    if (mine) {
        rs_turn_end(&turn);
    }
}

static bool is_slow(const struct rs_where *where)
{
    int fd = rs_sys_openat(AT_FDCWD, where->path, O_PATH | O_CLOEXEC, 0);
    bool slow = fd >= 0 && rs_reads_from_memory(fd, where->dev);
    if (fd >= 0) {
        rs_sys_close(fd);
    }
    return slow;
}

void rs_share_publish(const struct rs_where *where)
{
    struct rs_node *node = store_for(where);
    struct rs_artifact_key key;
    int saved = errno;
    if (!node || !rs_share_key(where, &key) || !canonical(where)) {
        return;
    }
    if (is_slow(where)) {
        publish_in_turn(where, node, &key);
    } else {
        publish(where, node, &key);
    }
    errno = saved;
}

static void publish_result(const struct rs_where *where, int rootfd, const char *name,
                           const struct rs_artifact_key *key)
{
    struct rs_node *node = store_for(where);
    struct rs_parcel parcel;
    if (node && rs_parcel_result(&parcel, rootfd, name, where->path, where->root)) {
        put(&parcel, node, where, key);
    }
    if (node) {
        rs_parcel_free(&parcel);
    }
}

void rs_share_publish_result(const struct rs_where *where, int rootfd, const char *name)
{
    struct rs_artifact_key key;
    int saved = errno;
    if (rs_share_result_key(name, &key)) {
        publish_result(where, rootfd, name, &key);
    }
    errno = saved;
}

void rs_share_publish_tuned(const struct rs_where *where)
{
    struct rs_artifact_key key = {.kind = RS_KIND_best_config, .key = where->key};
    struct rs_arena arena;
    int saved = errno, fd;
    char *root;
    rs_arena_init(&arena, 2 * PATH_MAX);
    if (open_directory(where, where->root, O_PATH, &arena, &root, &fd)) {
        publish_result(where, fd, where->path + where->root + 1, &key);
        rs_sys_close(fd);
    }
    rs_arena_free(&arena);
    errno = saved;
}
