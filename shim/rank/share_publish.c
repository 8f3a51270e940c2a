/* SPDX-License-Identifier: Apache-2.0
 *
 * From a cache directory into the store.
 */
#include "rank/share.h"

#include "base/state.h"
#include "base/sys.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/parcel.h"
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

/* The directory of the file WHERE as *PATH and *FD. A second path would be too much for a small
 * thread's stack. */
static bool open_directory(const struct rs_where *where, struct rs_arena *arena, char **path,
                           int *fd)
{
    *path = rs_arena_alloc(arena, where->name);
    if (!*path) {
        return false;
    }
    memcpy(*path, where->path, where->name - 1);
    (*path)[where->name - 1] = '\0';
    *fd = rs_sys_openat(AT_FDCWD, *path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    return *fd >= 0;
}

void rs_share_publish(const struct rs_where *where)
{
    struct rs_node *node = store_for(where);
    struct rs_artifact_key key;
    struct rs_parcel parcel;
    struct rs_arena arena;
    int saved = errno, fd;
    char *directory;
    if (!node || !rs_share_key(where, &key) || !canonical(where)) {
        return;
    }
    rs_arena_init(&arena, 2 * PATH_MAX);
    if (open_directory(where, &arena, &directory, &fd)) {
        const char *name = where->path + where->name;
        bool whole = key.kind == RS_KIND_triton_group
                         ? rs_parcel_kernel(&parcel, fd, strrchr(directory, '/') + 1, name,
                                            where->path, where->root)
                         : rs_parcel_entries(&parcel, fd, where->path, where->root);
        if (whole) {
            put(&parcel, node, where, &key);
        }
        rs_parcel_free(&parcel);
        rs_sys_close(fd);
    }
    rs_arena_free(&arena);
    errno = saved;
}

void rs_share_publish_result(const struct rs_where *where, int rootfd, const char *name)
{
    struct rs_node *node = store_for(where);
    struct rs_artifact_key key;
    struct rs_parcel parcel;
    int saved = errno;
    if (!node || !rs_share_result_key(name, &key)) {
        return;
    }
    if (rs_parcel_result(&parcel, rootfd, name, where->path, where->root)) {
        put(&parcel, node, where, &key);
    }
    rs_parcel_free(&parcel);
    errno = saved;
}
