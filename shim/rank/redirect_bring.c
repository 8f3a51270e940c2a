/* SPDX-License-Identifier: Apache-2.0
 *
 * Out of a directory that takes no file into the private one that stands in for it.
 */
#include "rank/redirect.h"

#include "base/dir.h"
#include "base/log.h"
#include "base/sys.h"
#include "rank/count.h"
#include "rank/keep.h"
#include "rank/keep_place.h"
#include "rank/view.h"
#include "route/group.h"
#include "route/private.h"

#include <stdio.h>
#include <string.h>

/* What is looked for. All of it lies in the arena: a path is too much for a small thread's stack.
 */
struct bring {
    struct rs_arena arena;
    const struct rs_redirect *redirect;
    struct rs_where to;  /* where it is to lie: the path as the program spells it */
    char from[PATH_MAX]; /* where it lies */
    size_t from_name;    /* its last component */
    struct rs_report report;
    struct rs_parts parts; /* of TO */
};

/* ---- where it lies ----------------------------------------------------------------------------
 */

/* Through the link in the private directory: where the program has removed that, all is gone. */
static bool spell(struct bring *b, const char *middle, const char *suffix)
{
    int length = snprintf(b->from, sizeof(b->from), "%s/%s%s%s", b->redirect->to, RS_PRIVATE_SOURCE,
                          middle, suffix);
    bool fits = length > 0 && (size_t)length < sizeof(b->from);
    b->from_name = fits ? (size_t)(strrchr(b->from, '/') - b->from) + 1 : 0;
    return fits;
}

static bool is_there(const char *path, mode_t *mode)
{
    struct stat st;
    bool there = rs_sys_fstatat(AT_FDCWD, path, &st, 0) == 0;
    *mode = there ? st.st_mode & S_IFMT : 0;
    return there;
}

/* Other ranks' kernels are this one's, too (triton/<ordinal> is one directory here; there it need
 * not be). */
static bool find(struct bring *b, const char *suffix, mode_t *mode)
{
    const char *kernel = rs_private_kernel(suffix);
    return (spell(b, "", suffix) && is_there(b->from, mode)) ||
           (kernel && spell(b, "/triton/0", kernel) && is_there(b->from, mode));
}

/* ---- its copy ---------------------------------------------------------------------------------
 */

/* The directories above TO. Who makes triton/<ordinal> a link needs a path on the stack; elsewhere
 * none lies, and an entry's rewriting needs that stack. */
static bool make_directories(struct bring *b)
{
    size_t root = b->redirect->to_size;
    bool links = rs_private_kernel(b->to.path + root) != NULL;
    return rs_keep_mkdirs(b->to.path, root, b->to.name - 1, links);
}

/* Whoever opens a pipe, and be it for a moment, lets its writers in. */
static bool load(struct bring *b, struct rs_bytes *bytes)
{
    mode_t mode;
    int fd = is_there(b->from, &mode) && S_ISREG(mode)
                 ? rs_sys_openat(AT_FDCWD, b->from, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0)
                 : -1;
    bool done = fd >= 0 && rs_read_whole(fd, &b->arena, bytes);
    if (fd >= 0) {
        rs_sys_close(fd);
    }
    return done;
}

static bool place(struct bring *b, const struct rs_pieces *pieces)
{
    int error = make_directories(b) ? rs_place(&b->to, pieces, NULL, RS_PLACE_NEW) : errno;
    return error == 0 || error == EEXIST;
}

static bool place_bytes(struct bring *b, struct rs_bytes bytes)
{
    int error = make_directories(b) ? rs_place_bytes(&b->to, bytes, RS_PLACE_NEW) : errno;
    return error == 0 || error == EEXIST;
}

static bool bring_file(struct bring *b)
{
    struct rs_bytes bytes;
    return load(b, &bytes) && place_bytes(b, bytes);
}

/* A file that programs only read, once it is there: a link to it. Its owner may be writing it at
 * this moment (a compiler writes in place), and a copy of half of it would stay. */
static bool bring_other(struct bring *b)
{
    return make_directories(b) &&
           (rs_sys_symlinkat(b->from, AT_FDCWD, b->to.path) == 0 || errno == EEXIST);
}

/* Lock files are written to, and say nothing. */
static bool is_lock(const char *path)
{
    static const char tail[] = ".lock";
    size_t size = strlen(path);
    return size >= sizeof(tail) - 1 && strcmp(path + size - (sizeof(tail) - 1), tail) == 0;
}

/* A path that is not understood leads where it led: what lies there can be read. */
static bool bring_entry(struct bring *b, enum rs_kind kind)
{
    const struct rs_redirect *r = b->redirect;
    struct rs_roots roots = {r->from, r->to, r->from_size, r->to_size};
    struct rs_pieces pieces;
    struct rs_bytes bytes;
    if (!load(b, &bytes)) {
        return false;
    }
    return rs_ordinal_reroot(&b->arena, bytes, kind, &roots, &pieces, &b->report) == RS_OK
               ? place(b, &pieces)
               : place_bytes(b, bytes);
}

/* ---- several files ----------------------------------------------------------------------------
 */

/* NAME in the place of the last components of FROM and TO. */
static bool beside(struct bring *b, const char *name, size_t size)
{
    if (b->to.name + size >= sizeof(b->to.path) || b->from_name + size >= sizeof(b->from)) {
        return false;
    }
    memcpy(b->to.path + b->to.name, name, size);
    b->to.path[b->to.name + size] = '\0';
    memcpy(b->from + b->from_name, name, size);
    b->from[b->from_name + size] = '\0';
    return true;
}

struct entries {
    struct bring *bring;
    enum rs_kind kind;
    bool good;
};

static bool bring_named(int fd, const char *name, void *context)
{
    struct entries *e = context;
    mode_t mode;
    (void)fd;
    if (rs_shape_entry_name(name) && beside(e->bring, name, strlen(name)) &&
        is_there(e->bring->from, &mode) && S_ISREG(mode)) {
        e->good = bring_entry(e->bring, e->kind) && e->good;
    }
    return true;
}

/* FROM and TO are a key's directory. What may lie in TO already are entries of this very key. */
static bool bring_entries(struct bring *b, enum rs_kind kind)
{
    struct entries entries = {b, kind, true};
    size_t to = strlen(b->to.path), from = strlen(b->from);
    int fd = rs_sys_openat(AT_FDCWD, b->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0 || to + 1 >= sizeof(b->to.path) || from + 1 >= sizeof(b->from)) {
        return false;
    }
    memcpy(b->to.path + to, "/", 2);
    memcpy(b->from + from, "/", 2);
    b->to.name = to + 1;
    b->from_name = from + 1;
    rs_dir_each(fd, bring_named, &entries);
    rs_sys_close(fd);
    return entries.good;
}

/* The kernel's files, those that are there, then the group file, which makes them a kernel and
 * names them by path. */
static bool bring_kernel(struct bring *b)
{
    struct rs_children *group = rs_arena_alloc(&b->arena, sizeof(*group));
    char *text = rs_arena_alloc(&b->arena, RS_GROUP_SIZE_MAX);
    size_t own_size = strlen(b->to.path + b->to.name);
    char *own = rs_arena_alloc(&b->arena, own_size + 1);
    char *slash = b->to.path + b->to.name - 1, *folder = slash;
    struct rs_bytes bytes;
    if (!group || !text || !own || !load(b, &bytes)) {
        return false;
    }
    memcpy(own, b->to.path + b->to.name, own_size + 1);
    *slash = '\0';
    while (folder[-1] != '/') {
        folder--;
    }
    size_t size = rs_group_read((const char *)bytes.data, bytes.size, folder, group)
                      ? rs_group_write(group, b->to.path, text, RS_GROUP_SIZE_MAX)
                      : 0;
    *slash = '/';
    for (unsigned i = 0; size && i < group->count; i++) {
        mode_t mode;
        if (!beside(b, group->children[i].name, group->children[i].size) ||
            (is_there(b->from, &mode) && !bring_file(b))) {
            return false;
        }
    }
    return beside(b, own, own_size) &&
           place_bytes(b, size ? (struct rs_bytes){(const uint8_t *)text, size} : bytes);
}

static bool copy(struct bring *b, mode_t mode)
{
    switch (b->parts.shape) {
    case RS_SHAPE_FX_DIR:
        return S_ISDIR(mode) && bring_entries(b, RS_KIND_fx_entry);
    case RS_SHAPE_AOT_DIR:
        return S_ISDIR(mode) && bring_entries(b, RS_KIND_aot_entry);
    case RS_SHAPE_FX_FILE:
        return bring_entry(b, RS_KIND_fx_entry);
    case RS_SHAPE_AOT_FILE:
        return bring_entry(b, RS_KIND_aot_entry);
    case RS_SHAPE_TRITON_GROUP:
        return bring_kernel(b);
    case RS_SHAPE_CONFIG: /* written in place by old versions */
    case RS_SHAPE_TRITON_TUNED:
        return bring_file(b);
    default:
        return bring_other(b);
    }
}

/* ---- a look -----------------------------------------------------------------------------------
 */

/* A key's directory without an entry is as good as none: a process may have been killed there. */
static bool has(const char *path, enum rs_shape shape)
{
    mode_t mode;
    bool directory = shape == RS_SHAPE_FX_DIR || shape == RS_SHAPE_AOT_DIR;
    return directory ? rs_where_holds_entry(path) : is_there(path, &mode);
}

/* Directories are the program's to make, but for those that hold a key's entries. */
static bool wanted(const struct bring *b, mode_t mode)
{
    bool directory = b->parts.shape == RS_SHAPE_FX_DIR || b->parts.shape == RS_SHAPE_AOT_DIR;
    return directory ? S_ISDIR(mode) : S_ISREG(mode) && !is_lock(b->from);
}

static void look(struct bring *b, const char *path)
{
    size_t size = strlen(path);
    mode_t mode;
    memcpy(b->to.path, path, size + 1);
    b->to.name = (size_t)(strrchr(b->to.path, '/') - b->to.path) + 1;
    b->parts.shape = RS_SHAPE_NONE;
    rs_shape_split(b->to.path, &b->parts);
    if (!has(path, b->parts.shape) && find(b, path + b->redirect->to_size, &mode) &&
        wanted(b, mode)) {
        bool done = copy(b, mode);
        rs_count(RS_C_redirect_copies, done);
        rs_count(RS_C_redirect_failed, !done);
    }
}

/* Once for each process, when it has something to do with caches. */
static void tell(void)
{
    static _Atomic(bool) told;
    const struct rs_redirect *r;
    if (atomic_exchange(&told, true)) {
        return;
    }
    for (int i = 0; (r = rs_redirect_at(i)) != NULL; i++) {
        rs_log("nothing can be written in %s: %s stands in for it", r->from, r->to);
    }
}

void rs_redirect_bring(const char *path)
{
    const struct rs_redirect *redirect = rs_redirect_find(path);
    struct rs_arena arena;
    int saved = errno;
    if (redirect) {
        tell();
    }
    if (redirect && strlen(path) < PATH_MAX && rs_private_suffix(path + redirect->to_size)) {
        rs_rewrite_arena(&arena);
        struct bring *b = rs_arena_alloc(&arena, sizeof(*b));
        if (b) {
            b->arena = arena;
            b->redirect = redirect;
            look(b, path);
            arena = b->arena;
        }
        rs_arena_free(&arena);
    }
    errno = saved;
}
