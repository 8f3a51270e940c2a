/* SPDX-License-Identifier: Apache-2.0
 *
 * open, openat, creat and their 64 and fortified variants.
 */
#include "hook/file.h"

#include <stdarg.h>

/* What to do with an open: nothing, look, or refuse (errno is set). */
enum open_plan { PLAIN, LOOK, REFUSED };

/* Whether the bytes that are there matter: not where they are gone or out of reach. O_CREAT alone
 * opens what is there. */
static bool keeps_bytes(int flags)
{
    return !(flags & (O_TRUNC | O_PATH)) && !(flags & O_CREAT && flags & O_EXCL) &&
           !(flags & O_CREAT && !(flags & O_APPEND) && (flags & O_ACCMODE) == O_WRONLY);
}

static enum open_plan plan_open(struct rs_look *look, int dirfd, const char *path, int *flags)
{
    bool writes = (*flags & O_ACCMODE) != O_RDONLY;
    if (!rs_look_begin(look, dirfd, path, writes ? RS_LOOK_WRITE : RS_LOOK_OPEN)) {
        if (rs_keep_is_link(&look->where)) {
            *flags &= ~O_NOFOLLOW; /* to its program it is a directory */
        }
        return PLAIN;
    }
    if (writes) {
        return rs_look_refuse_write(look) ? REFUSED : PLAIN;
    }
    return rs_look_blocks(look) ? REFUSED : LOOK;
}

/* The result of an open that was looked at: FD, its view in its place, or -1. */
static int finish_open(struct rs_look *look, int fd)
{
    if (fd >= 0 && !rs_look_opened(look, fd)) {
        int error = errno;
        rs_sys_close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* The result of an open that was not looked at. A producer that can't write its entry's temporary
 * file (read-only, full, forbidden) will not store. */
static int finish_plain(int dirfd, const char *path, int flags, int fd)
{
    if (flags & O_CREAT && fd < 0) {
        rs_keep_lost(dirfd, path);
    } else if (flags & O_CREAT) {
        rs_keep_writing(dirfd, path);
    }
    return fd;
}

/* CALL is made until the look is content. Two functions: one path is on the stack at a time, for a
 * handler may run on SIGSTKSZ. */
#define WATCHED(name, declaration, arguments, dirfd, path, flags, call)                            \
    RS_SLOW int looked_##name declaration                                                          \
    {                                                                                              \
        struct rs_look look;                                                                       \
        int fd;                                                                                    \
        switch (plan_open(&look, dirfd, path, &(flags))) {                                         \
        case PLAIN:                                                                                \
            return finish_plain(dirfd, path, flags, call);                                         \
        case REFUSED:                                                                              \
            return -1;                                                                             \
        case LOOK:                                                                                 \
            break;                                                                                 \
        }                                                                                          \
        while (rs_look_again(&look, (fd = call) >= 0)) {                                           \
            if (fd >= 0) {                                                                         \
                rs_sys_close(fd);                                                                  \
            }                                                                                      \
        }                                                                                          \
        return finish_open(&look, fd);                                                             \
    }                                                                                              \
    RS_SLOW int watched_##name declaration                                                         \
    {                                                                                              \
        return keeps_bytes(flags) ? looked_##name arguments                                        \
                                  : finish_plain(dirfd, path, flags, call);                        \
    }

/* O_TMPFILE takes a mode too; its bits include O_DIRECTORY, so the whole mask counts. */
#define TAKE_MODE(mode, flags)                                                                     \
    mode_t mode = 0;                                                                               \
    if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) {                                     \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode = va_arg(arguments, mode_t);                                                          \
        va_end(arguments);                                                                         \
    }

#define OPEN_HOOK(name, large)                                                                     \
    WATCHED(name, (const char *path, int flags, mode_t mode), (path, flags, mode), AT_FDCWD, path, \
            flags, RS_NEXT(name)(path, flags, mode))                                               \
    RS_EXPORT int name(const char *path, int flags, ...)                                           \
    {                                                                                              \
        TAKE_MODE(mode, flags)                                                                     \
        if (rs_early()) {                                                                          \
            return rs_sys_openat(AT_FDCWD, path, flags | (large), mode);                           \
        }                                                                                          \
        if (!rs_watch(path)) {                                                                     \
            return RS_NEXT(name)(path, flags, mode);                                               \
        }                                                                                          \
        return watched_##name(path, flags, mode);                                                  \
    }

#define OPENAT_HOOK(name, large)                                                                   \
    WATCHED(name, (int dirfd, const char *path, int flags, mode_t mode),                           \
            (dirfd, path, flags, mode), dirfd, path, flags,                                        \
            RS_NEXT(name)(dirfd, path, flags, mode))                                               \
    RS_EXPORT int name(int dirfd, const char *path, int flags, ...)                                \
    {                                                                                              \
        TAKE_MODE(mode, flags)                                                                     \
        if (rs_early()) {                                                                          \
            return rs_sys_openat(dirfd, path, flags | (large), mode);                              \
        }                                                                                          \
        if (!rs_watch(path)) {                                                                     \
            return RS_NEXT(name)(dirfd, path, flags, mode);                                        \
        }                                                                                          \
        return watched_##name(dirfd, path, flags, mode);                                           \
    }

/* What fortified programs call: no mode, since no O_CREAT. */
#define OPEN_2_HOOK(name)                                                                          \
    WATCHED(name, (const char *path, int flags), (path, flags), AT_FDCWD, path, flags,             \
            RS_NEXT(name)(path, flags))                                                            \
    RS_EXPORT int name(const char *path, int flags)                                                \
    {                                                                                              \
        if (rs_early()) {                                                                          \
            return rs_sys_openat(AT_FDCWD, path, flags | O_LARGEFILE, 0);                          \
        }                                                                                          \
        return rs_watch(path) ? watched_##name(path, flags) : RS_NEXT(name)(path, flags);          \
    }

#define OPENAT_2_HOOK(name)                                                                        \
    WATCHED(name, (int dirfd, const char *path, int flags), (dirfd, path, flags), dirfd, path,     \
            flags, RS_NEXT(name)(dirfd, path, flags))                                              \
    RS_EXPORT int name(int dirfd, const char *path, int flags)                                     \
    {                                                                                              \
        if (rs_early()) {                                                                          \
            return rs_sys_openat(dirfd, path, flags | O_LARGEFILE, 0);                             \
        }                                                                                          \
        return rs_watch(path) ? watched_##name(dirfd, path, flags)                                 \
                              : RS_NEXT(name)(dirfd, path, flags);                                 \
    }

/* creat() makes a file anew: nothing to look at. */
#define CREAT_HOOK(name)                                                                           \
    RS_EXPORT int name(const char *path, mode_t mode)                                              \
    {                                                                                              \
        if (rs_early()) {                                                                          \
            return rs_sys_openat(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC | O_LARGEFILE,       \
                                 mode);                                                            \
        }                                                                                          \
        int fd = RS_NEXT(name)(path, mode);                                                        \
        return rs_watch(path) ? finish_plain(AT_FDCWD, path, O_CREAT, fd) : fd;                    \
    }

/* libc's headers make open64 an alias of open for some builds; the declarations here are our own.
 */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

OPEN_HOOK(open, 0)
OPEN_HOOK(open64, O_LARGEFILE)
OPENAT_HOOK(openat, 0)
OPENAT_HOOK(openat64, O_LARGEFILE)
OPEN_2_HOOK(__open_2)
OPEN_2_HOOK(__open64_2)
OPENAT_2_HOOK(__openat_2)
OPENAT_2_HOOK(__openat64_2)
CREAT_HOOK(creat)
CREAT_HOOK(creat64)
