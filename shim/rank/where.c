/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/where.h"

#include "base/dir.h"
#include "base/fd.h"
#include "base/state.h"
#include "base/sys.h"
#include "rank/count.h"
#include "rank/env.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/redirect.h"
#include "rank/root.h"

#include <stdatomic.h>
#include <string.h>

struct identity {
    uint64_t dev, ino;
};

/* Nothing here has a path buffer of its own beside that of struct rs_where: hooks run on the stack
 * of any thread, and one of 16 KiB (PTHREAD_STACK_MIN) must do. Where a shorter path is needed, the
 * caller's is cut for the time of a call. */
static bool identify(int dirfd, const char *path, struct identity *out)
{
    struct stat st;
    if (rs_sys_fstatat(dirfd, path, &st, 0) != 0 || !S_ISDIR(st.st_mode)) {
        return false;
    }
    out->dev = st.st_dev;
    out->ino = st.st_ino;
    return true;
}

/* Whether ROOT, one of the job's settings, is the directory PATH (spelled alike, or the same
 * inode). */
static bool same_directory(const char *root, const char *path, const struct identity *id)
{
    if (strcmp(root, path) == 0) {
        return true;
    }
    struct identity other;
    return identify(AT_FDCWD, root, &other) && other.dev == id->dev && other.ino == id->ino;
}

/* Directories that hold either kind of cache: those of RANKSHARE_ROOTS, and those for which a
 * private one stands in (a program that has its path from elsewhere must see there what it would
 * see without that). */
static bool extra_root(const char *path, const struct identity *id)
{
    const struct rs_redirect *r;
    for (const char *root = rs_config.roots; *root; root += strlen(root) + 1) {
        if (same_directory(root, path, id)) {
            return true;
        }
    }
    for (int i = 0; (r = rs_redirect_at(i)) != NULL; i++) {
        if (same_directory(r->from, path, id)) {
            return true;
        }
    }
    return false;
}

/* Triton's own default: $TRITON_HOME/.triton/cache, else ~/.triton/cache. */
static bool triton_default(const char *path, const struct identity *id)
{
    static const char below[] = "/.triton/cache";
    const char *home = rs_env_get(RS_ENV_TRITON_HOME);
    if (!home) {
        home = rs_env_get(RS_ENV_HOME);
    }
    if (!home) {
        return false;
    }
    size_t length = strlen(home);
    if (strncmp(path, home, length) == 0 && strcmp(path + length, below) == 0) {
        return true;
    }
    int fd = rs_sys_openat(AT_FDCWD, home, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    struct identity other;
    bool same = identify(fd, below + 1, &other) && other.dev == id->dev && other.ino == id->ino;
    rs_sys_close(fd);
    return same;
}

static bool managed_inductor(const char *path, const struct identity *id)
{
    const char *root = rs_env_get(RS_ENV_TORCHINDUCTOR_CACHE_DIR);
    return (root && same_directory(root, path, id)) || extra_root(path, id);
}

/* <inductor root>/triton/<k>: PATH without its last two components is an Inductor root. */
static bool below_inductor(char *path)
{
    size_t length = strlen(path);
    for (int i = 0; i < 2; i++) {
        while (length > 0 && path[length - 1] != '/') {
            length--;
        }
        if (length < 2) {
            return false;
        }
        length--;
    }
    if (strncmp(path + length, "/triton/", 8) != 0) {
        return false;
    }
    struct identity id;
    path[length] = '\0';
    bool inside = identify(AT_FDCWD, path, &id) && managed_inductor(path, &id);
    path[length] = '/';
    return inside;
}

static bool managed_triton(char *path, const struct identity *id)
{
    const char *root = rs_env_get(RS_ENV_TRITON_CACHE_DIR);
    return (root && same_directory(root, path, id)) || below_inductor(path) ||
           triton_default(path, id) || extra_root(path, id);
}

/* Roots in which this process looked for a key that it made canonical: whatever the settings say,
 * what lies there under such keys is canonical and must be shown so. A few, but for a program that
 * makes a fresh directory each time; the table never shrinks. */
enum { LEARNED = 256 };
static _Atomic(uint64_t) learned[LEARNED];

static bool learned_root(const struct rs_where *where, const struct identity *id)
{
    uint64_t word = (id->ino * 0x9e3779b97f4a7c15u ^ id->dev) | 1, none = 0;
    _Atomic(uint64_t) *place = learned, *end = learned + LEARNED;
    while (place < end && atomic_load_explicit(place, memory_order_relaxed) != 0) {
        if (atomic_load_explicit(place++, memory_order_relaxed) == word) {
            return true;
        }
    }
    bool canonical = rs_known_find(&where->key).treatment == RS_TREAT_CANONICAL;
    if (canonical && place < end) {
        /* Another thread may take the place first; the next look then tries the one behind it. */
        (void)atomic_compare_exchange_strong(place, &none, word);
    }
    return canonical;
}

static bool managed_root(const struct rs_where *where, char *root, const struct identity *id)
{
    switch (where->shape) {
    case RS_SHAPE_TRITON_DIR:
    case RS_SHAPE_TRITON_GROUP:
    case RS_SHAPE_TRITON_FILE:
    case RS_SHAPE_TRITON_TMP:
    case RS_SHAPE_TRITON_TUNED:
        return managed_triton(root, id);
    case RS_SHAPE_TRITON_LINK:
        return managed_inductor(root, id);
    default:
        return managed_inductor(root, id) || learned_root(where, id);
    }
}

/* Whether the root part of WHERE's path is managed; fills its identity. */
static bool managed(struct rs_where *where)
{
    struct identity id;
    if (!where->root) {
        return false; /* a cache in the root directory of the file system is nobody's */
    }
    where->path[where->root] = '\0';
    bool inside = identify(AT_FDCWD, where->path, &id) && managed_root(where, where->path, &id);
    where->path[where->root] = '/';
    if (inside) {
        where->dev = id.dev;
        where->ino = id.ino;
    }
    return inside;
}

/* Stops at the first entry. */
static bool no_entry(int fd, const char *name, void *context)
{
    (void)fd;
    bool *found = context;
    *found = rs_shape_entry_name(name);
    return !*found;
}

bool rs_where_holds_entry(const char *path)
{
    bool found = false;
    int fd = rs_sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0) {
        rs_dir_each(fd, no_entry, &found);
        rs_sys_close(fd);
    }
    return found;
}

struct rs_place rs_where_place(const struct rs_where *where)
{
    enum rs_lease_kind kind = RS_LEASE_TRITON;
    if (where->shape == RS_SHAPE_FX_FILE || where->shape == RS_SHAPE_FX_DIR) {
        kind = RS_LEASE_FX;
    } else if (where->shape == RS_SHAPE_AOT_FILE || where->shape == RS_SHAPE_AOT_DIR) {
        kind = RS_LEASE_AOT;
    }
    struct rs_place place = {.kind = kind, .key = where->key};
    rs_root_leased(where, &place.dev, &place.ino);
    return place;
}

static bool split(struct rs_where *where)
{
    struct rs_parts parts;
    rs_shape_split(where->path, &parts);
    if (parts.shape == RS_SHAPE_NONE) {
        return false;
    }
    where->shape = parts.shape;
    where->key = parts.key;
    where->root = parts.root;
    where->name = (size_t)(parts.name - where->path);
    return true;
}

/* Puts NAME behind the directory in WHERE's path, which is LENGTH bytes long. */
static bool append(struct rs_where *where, ssize_t length, const char *name, size_t name_length)
{
    size_t at = length > 0 ? (size_t)length : 0;
    if (!at || where->path[0] != '/' || at + 1 + name_length >= sizeof(where->path)) {
        return false;
    }
    if (at > 1) {
        where->path[at++] = '/';
    }
    memcpy(where->path + at, name, name_length);
    where->path[at + name_length] = '\0';
    return true;
}

/* PATH behind the working directory, as it is spelled: what is left where there is no /proc. */
static bool below_working_directory(int dirfd, const char *path, size_t length,
                                    struct rs_where *where)
{
    if (dirfd != AT_FDCWD || path[0] == '/') {
        return false;
    }
    /* The kernel counts the zero byte. */
    ssize_t got = syscall(SYS_getcwd, where->path, sizeof(where->path));
    return append(where, got - 1, path, length);
}

/* The directory of PATH as the kernel sees it (links, "..", DIRFD and the working directory
 * resolved), and the last component behind it. */
static bool resolve(int dirfd, const char *path, struct rs_where *where)
{
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof(where->path)) {
        return false;
    }
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    size_t name = length;
    while (name > 0 && path[name - 1] != '/') {
        name--;
    }
    memcpy(where->path, path, name);
    where->path[name] = '\0';
    int fd = rs_sys_openat(dirfd, name ? where->path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    ssize_t got = rs_fd_path(fd, where->path, sizeof(where->path) - 1);
    rs_sys_close(fd);
    if (append(where, got, path + name, length - name) ||
        (got <= 0 && below_working_directory(dirfd, path, length, where))) {
        return true;
    }
    rs_count(RS_C_path_errors, 1);
    return false;
}

bool rs_where(int dirfd, const char *path, struct rs_where *where)
{
    int saved = errno;
    bool inside = false;
    size_t length = strlen(path);
    /* The spelling that caches use costs nothing more; every other one asks the kernel. */
    if (path[0] == '/' && length < sizeof(where->path)) {
        memcpy(where->path, path, length + 1);
        inside = split(where) && managed(where);
    }
    if (!inside) {
        inside = resolve(dirfd, path, where) && split(where) && managed(where);
    }
    if (inside) {
        rs_node_beat();
    } else {
        where->shape = RS_SHAPE_NONE;
    }
    errno = saved;
    return inside;
}
