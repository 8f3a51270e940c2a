/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/keep_place.h"

#include "base/sys.h"
#include "rank/view.h"

#include <stdio.h>
#include <string.h>

struct draft {
    int fd;
    bool named; /* PATH is its name; else it has none and goes with the process */
    char path[PATH_MAX];
};

/* A name beside TO that no program reads: it begins with a dot (what torch before 2.11 reads there
 * all the same is judged by its bytes, see look.h). Two containers on one directory may have the
 * same pid and tid, hence the random part. */
static bool make_name(const struct rs_where *to, char path[PATH_MAX])
{
    uint64_t salt = 0;
    if (syscall(SYS_getrandom, &salt, sizeof(salt), 0) != (long)sizeof(salt)) {
        return false;
    }
    int length = snprintf(path, PATH_MAX, "%.*s.rs.%d.%d.%016llx", (int)to->name, to->path,
                          (int)getpid(), (int)rs_sys_gettid(), (unsigned long long)salt);
    if (length < 0 || length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}

static bool open_draft(struct draft *draft, const struct rs_where *to)
{
    memcpy(draft->path, to->path, to->name);
    draft->path[to->name] = '\0';
    draft->named = false;
    draft->fd = rs_sys_openat(AT_FDCWD, draft->path, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (draft->fd < 0 && make_name(to, draft->path)) {
        draft->named = true;
        draft->fd = rs_sys_openat(AT_FDCWD, draft->path,
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    return draft->fd >= 0;
}

/* The bytes decide; that a file system keeps no owner or mode is no reason to do without. */
static bool fill_draft(const struct draft *draft, const struct rs_pieces *pieces,
                       const struct stat *like)
{
    struct timespec times[2] = {like->st_atim, like->st_mtim};
    struct stat st;
    if (!rs_write_pieces(draft->fd, pieces)) {
        return false;
    }
    if (rs_sys_fstat(draft->fd, &st) == 0 &&
        (st.st_uid != like->st_uid || st.st_gid != like->st_gid)) {
        (void)syscall(SYS_fchown, draft->fd, like->st_uid, like->st_gid);
    }
    (void)syscall(SYS_fchmod, draft->fd, like->st_mode & 07777);
    (void)syscall(SYS_utimensat, draft->fd, NULL, times, 0);
    return true;
}

static int link_draft(const struct draft *draft, const char *path)
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", draft->fd);
    return (int)syscall(SYS_linkat, AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

static bool publish(struct draft *draft, const struct rs_where *to, enum rs_place_how how)
{
    if (!draft->named) {
        if (link_draft(draft, to->path) == 0) {
            return true;
        }
        /* Only rename() replaces a file, and it needs a name to begin with. */
        if (errno != EEXIST || how == RS_PLACE_NEW || !make_name(to, draft->path) ||
            link_draft(draft, draft->path) != 0) {
            return false;
        }
        draft->named = true;
    }
    return how == RS_PLACE_OVER ? rs_sys_renameat(AT_FDCWD, draft->path, AT_FDCWD, to->path) == 0
                                : syscall(SYS_renameat2, AT_FDCWD, draft->path, AT_FDCWD, to->path,
                                          RENAME_NOREPLACE) == 0;
}

int rs_place(const struct rs_where *to, const struct rs_pieces *pieces, const struct stat *like,
             enum rs_place_how how)
{
    struct draft draft;
    if (!open_draft(&draft, to)) {
        return errno;
    }
    /* The descriptor stays open until the end: it is the only way to a file without a name. */
    bool done = fill_draft(&draft, pieces, like) && publish(&draft, to, how);
    int error = done ? 0 : errno;
    if (!done && draft.named) {
        rs_sys_unlinkat(AT_FDCWD, draft.path, 0);
    }
    rs_sys_close(draft.fd);
    return error;
}

bool rs_place_native_error(int error)
{
    switch (error) {
    case ENOENT: /* the directory went in the meantime */
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM: /* an immutable directory, another user's file in a sticky one */
    case EROFS:
    case ELOOP:
        return true;
    default:
        return false;
    }
}
