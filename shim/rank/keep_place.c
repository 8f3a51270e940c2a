/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/keep_place.h"

#include "base/fd.h"
#include "base/sys.h"
#include "rank/view.h"

#include <stdio.h>
#include <string.h>

/* Its name is relative to the directory: a second path would be more than the stack of a small
 * thread holds. */
struct draft {
    int fd;
    int directory; /* of NAME; open only when there is one, since descriptors may be short */
    bool named;    /* NAME is its name; else it has none and goes with the process */
    char name[96];
};

/* Opens the directory of TO, which is cut for the time of the call, or a file without a name in it.
 */
static int open_directory(struct rs_where *to, int flags, mode_t mode)
{
    char *slash = to->path + to->name - 1;
    *slash = '\0';
    int fd = rs_sys_openat(AT_FDCWD, to->path, flags | O_CLOEXEC, mode);
    *slash = '/';
    return fd;
}

/* A name beside TO that no program reads: it begins with a dot (what torch before 2.11 reads there
 * all the same is judged by its bytes, see look.h). Two containers on one directory may have the
 * same pid and tid, hence the random part. */
static bool make_name(struct draft *draft, struct rs_where *to)
{
    uint64_t salt = 0;
    if (syscall(SYS_getrandom, &salt, sizeof(salt), 0) != (long)sizeof(salt)) {
        return false;
    }
    snprintf(draft->name, sizeof(draft->name), ".rs.%d.%d.%016llx", (int)getpid(),
             (int)rs_sys_gettid(), (unsigned long long)salt);
    draft->directory = open_directory(to, O_PATH | O_DIRECTORY, 0);
    return draft->directory >= 0;
}

static bool open_draft(struct draft *draft, struct rs_where *to, mode_t mode)
{
    draft->fd = open_directory(to, O_TMPFILE | O_WRONLY, mode);
    if (draft->fd < 0 && make_name(draft, to)) {
        draft->fd = rs_sys_openat(draft->directory, draft->name,
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        draft->named = draft->fd >= 0;
    }
    return draft->fd >= 0;
}

static void close_draft(struct draft *draft)
{
    if (draft->fd >= 0) {
        rs_sys_close(draft->fd);
    }
    if (draft->directory >= 0) {
        rs_sys_close(draft->directory);
    }
}

/* A new file, as the program would have made it. */
enum { NEW_MODE = 0666, COPY_MODE = 0600 };

/* The bytes decide; that a file system keeps no owner or mode is no reason to do without. */
static bool fill_draft(const struct draft *draft, const struct rs_pieces *pieces,
                       const struct stat *like)
{
    struct stat st;
    if (!rs_write_pieces(draft->fd, pieces)) {
        return false;
    }
    if (!like) {
        return true;
    }
    struct timespec times[2] = {like->st_atim, like->st_mtim};
    if (rs_sys_fstat(draft->fd, &st) == 0 &&
        (st.st_uid != like->st_uid || st.st_gid != like->st_gid)) {
        (void)syscall(SYS_fchown, draft->fd, like->st_uid, like->st_gid);
    }
    (void)syscall(SYS_fchmod, draft->fd, like->st_mode & 07777);
    (void)syscall(SYS_utimensat, draft->fd, NULL, times, 0);
    return true;
}

static bool publish(struct draft *draft, struct rs_where *to, enum rs_place_how how)
{
    if (!draft->named) {
        if (rs_fd_link(draft->fd, AT_FDCWD, to->path) == 0) {
            return true;
        }
        /* Only rename() replaces a file, and it needs a name to begin with. */
        if (errno != EEXIST || how == RS_PLACE_NEW || !make_name(draft, to) ||
            rs_fd_link(draft->fd, draft->directory, draft->name) != 0) {
            return false;
        }
        draft->named = true;
    }
    return how == RS_PLACE_OVER
               ? rs_sys_renameat(draft->directory, draft->name, AT_FDCWD, to->path) == 0
               : syscall(SYS_renameat2, draft->directory, draft->name, AT_FDCWD, to->path,
                         RENAME_NOREPLACE) == 0;
}

int rs_place(struct rs_where *to, const struct rs_pieces *pieces, const struct stat *like,
             enum rs_place_how how)
{
    struct draft draft = {.fd = -1, .directory = -1};
    /* The descriptor stays open until the end: it is the only way to a file without a name. */
    bool done = open_draft(&draft, to, like ? COPY_MODE : NEW_MODE) &&
                fill_draft(&draft, pieces, like) && publish(&draft, to, how);
    int error = done ? 0 : errno;
    if (!done && draft.named) {
        rs_sys_unlinkat(draft.directory, draft.name, 0);
    }
    close_draft(&draft);
    return error;
}

int rs_place_bytes(struct rs_where *to, struct rs_bytes bytes, enum rs_place_how how)
{
    struct iovec piece = {(void *)(uintptr_t)bytes.data, bytes.size};
    struct rs_pieces pieces = {&piece, 1, bytes.size};
    return rs_place(to, &pieces, NULL, how);
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
    case ENAMETOOLONG:
        return true;
    default:
        return false;
    }
}
