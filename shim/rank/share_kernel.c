/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/share_kernel.h"

#include "base/dir.h"
#include "base/sys.h"
#include "rank/view.h"
#include "route/group.h"
#include "route/shape.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct kernel {
    struct rs_arena *arena;
    struct rs_artifact *artifact;
    const char *directory;
    const char *folder; /* its last component: the kernel's name */
    struct rs_children group;
    unsigned group_part;
    int root, draft; /* descriptors */
    char name[96];   /* of the draft in the root */
};

static struct rs_bytes load(struct kernel *k, unsigned i)
{
    uint32_t size = k->artifact->parts[i].size;
    uint8_t *data = rs_arena_alloc(k->arena, (size_t)size + 1);
    bool good = data && rs_artifact_read(k->artifact, i, data);
    return good ? (struct rs_bytes){data, size} : (struct rs_bytes){NULL, 0};
}

static bool is_group_file(const char *name)
{
    static const char head[] = "__grp__";
    return strncmp(name, head, sizeof(head) - 1) == 0 && !strchr(name, '/');
}

static bool part_named(const struct kernel *k, const char *name, size_t size, unsigned *part)
{
    for (unsigned i = 0; i < k->artifact->count; i++) {
        const char *own = k->artifact->parts[i].name;
        if (strlen(own) == size && memcmp(own, name, size) == 0) {
            *part = i;
            return true;
        }
    }
    return false;
}

/* The group file, and that every child it names is a part. */
static bool read_group(struct kernel *k)
{
    unsigned count = k->artifact->count, part;
    k->group_part = 0;
    while (k->group_part < count && !is_group_file(k->artifact->parts[k->group_part].name)) {
        k->group_part++;
    }
    struct rs_bytes text = k->group_part < count ? load(k, k->group_part) : (struct rs_bytes){0};
    if (!text.data || !rs_group_read((const char *)text.data, text.size, k->folder, &k->group)) {
        return false;
    }
    for (unsigned i = 0; i < k->group.count; i++) {
        if (!part_named(k, k->group.children[i].name, k->group.children[i].size, &part)) {
            return false;
        }
    }
    return true;
}

static bool write_file(const struct kernel *k, const char *name, struct rs_bytes bytes)
{
    struct iovec piece = {(void *)(uintptr_t)bytes.data, bytes.size};
    struct rs_pieces pieces = {&piece, 1, bytes.size};
    int fd =
        rs_sys_openat(k->draft, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool done = fd >= 0 && rs_write_pieces(fd, &pieces);
    return (fd < 0 || rs_sys_close(fd) == 0) && done;
}

static bool write_children(struct kernel *k)
{
    for (unsigned i = 0; i < k->group.count; i++) {
        unsigned part = 0;
        (void)part_named(k, k->group.children[i].name, k->group.children[i].size, &part);
        struct rs_bytes bytes = load(k, part);
        if (!bytes.data || !write_file(k, k->artifact->parts[part].name, bytes)) {
            return false;
        }
    }
    return true;
}

static bool write_group(struct kernel *k, enum rs_reason *reason)
{
    char *text = rs_arena_alloc(k->arena, RS_GROUP_SIZE_MAX);
    size_t size = text ? rs_group_write(&k->group, k->directory, text, RS_GROUP_SIZE_MAX) : 0;
    if (!size) {
        *reason = text ? RS_REFUSED_other_root : RS_REFUSED_limit;
        return false;
    }
    return write_file(k, k->artifact->parts[k->group_part].name,
                      (struct rs_bytes){(uint8_t *)text, size});
}

static bool open_draft(struct kernel *k)
{
    size_t root = (size_t)(k->folder - k->directory) - 1;
    char *path = rs_arena_alloc(k->arena, root + 1);
    uint64_t salt;
    if (!path || syscall(SYS_getrandom, &salt, sizeof(salt), 0) != (long)sizeof(salt)) {
        return false;
    }
    memcpy(path, k->directory, root);
    path[root] = '\0';
    k->root = rs_sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    snprintf(k->name, sizeof(k->name), ".rs.%d.%d.%016llx", (int)getpid(), (int)rs_sys_gettid(),
             (unsigned long long)salt);
    if (k->root < 0 || rs_sys_mkdirat(k->root, k->name, 0777) != 0) {
        return false;
    }
    k->draft = rs_sys_openat(k->root, k->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    return k->draft >= 0;
}

static bool remove_file(int fd, const char *name, void *context)
{
    (void)context;
    rs_sys_unlinkat(fd, name, 0);
    return true;
}

static void close_draft(struct kernel *k, bool moved)
{
    if (k->draft >= 0) {
        if (!moved) {
            rs_dir_each(k->draft, remove_file, NULL);
        }
        rs_sys_close(k->draft);
    }
    if (k->root >= 0) {
        if (!moved) {
            rs_sys_unlinkat(k->root, k->name, AT_REMOVEDIR);
        }
        rs_sys_close(k->root);
    }
}

/* ---- drafts of the dead ------------------------------------------------------------------------
 */

/* A kernel is put in place in milliseconds. */
enum { STALE_S = 3600, STALE_MAX = 64 };

struct stale {
    time_t before;
    char name[96];
};

/* Stops at the first one. Whose it is, and that it is a directory, keeps others' files safe. */
static bool note_stale(int fd, const char *name, void *context)
{
    struct stale *stale = context;
    struct stat st;
    bool found = strncmp(name, ".rs.", 4) == 0 && strlen(name) < sizeof(stale->name) &&
                 rs_sys_fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
                 st.st_uid == rs_sys_geteuid() && st.st_mtim.tv_sec < stale->before;
    snprintf(stale->name, sizeof(stale->name), "%s", found ? name : "");
    return !found;
}

static bool remove_draft(int root, const char *name)
{
    int fd = rs_sys_openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    rs_dir_each(fd, remove_file, NULL);
    rs_sys_close(fd);
    return rs_sys_unlinkat(root, name, AT_REMOVEDIR) == 0;
}

/* What killed processes have left beside the draft of K, by the file system's own clock. Once in a
 * process: the root may hold thousands of kernels. */
static void sweep(const struct kernel *k)
{
    static _Atomic bool swept;
    struct stale stale;
    struct stat st;
    if (atomic_exchange(&swept, true) || rs_sys_fstat(k->draft, &st) != 0) {
        return;
    }
    stale.before = st.st_mtim.tv_sec - STALE_S;
    for (int i = 0; i < STALE_MAX && rs_sys_rewind(k->root); i++) {
        stale.name[0] = '\0';
        rs_dir_each(k->root, note_stale, &stale);
        if (!stale.name[0] || !remove_draft(k->root, stale.name)) {
            break;
        }
    }
}

/* Into a directory that holds something: a kernel without its group file, or a lone cubin that a
 * static launcher has written there. */
static bool move_files(const struct kernel *k)
{
    int there = rs_sys_openat(k->root, k->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    bool done = there >= 0;
    for (unsigned i = 0; done && i < k->group.count; i++) {
        unsigned part = 0;
        (void)part_named(k, k->group.children[i].name, k->group.children[i].size, &part);
        const char *name = k->artifact->parts[part].name;
        done = rs_sys_renameat(k->draft, name, there, name) == 0;
    }
    const char *group = k->artifact->parts[k->group_part].name;
    done = done && rs_sys_renameat(k->draft, group, there, group) == 0;
    if (there >= 0) {
        rs_sys_close(there);
    }
    return done;
}

bool rs_kernel_place(struct rs_arena *arena, struct rs_artifact *artifact, const char *directory,
                     enum rs_reason *reason)
{
    struct kernel k = {
        .arena = arena, .artifact = artifact, .directory = directory, .root = -1, .draft = -1};
    const char *slash = strrchr(directory, '/');
    k.folder = slash + 1;
    if (!read_group(&k)) {
        *reason = RS_REFUSED_malformed;
        return false;
    }
    bool done = open_draft(&k) && write_children(&k) && write_group(&k, reason);
    bool whole = done && rs_sys_renameat(k.root, k.name, k.root, k.folder) == 0;
    if (done && !whole) {
        done = (errno == ENOTEMPTY || errno == EEXIST) && move_files(&k);
    }
    if (done) {
        sweep(&k);
    }
    close_draft(&k, whole);
    return done;
}
