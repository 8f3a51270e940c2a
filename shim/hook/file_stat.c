/* SPDX-License-Identifier: Apache-2.0
 *
 * stat in all its families, access. What they say agrees with what open() would give.
 */
#include "hook/file.h"

#include <string.h>

/* The result to hand on after a real call; *SIZE (if >= 0) is the size to show. MODE: what the call
 * found; only a regular file has a view (lstat finds links). */
static int finish_stat(struct rs_look *look, int result, mode_t mode, int64_t *size)
{
    bool hidden = false;
    *size = -1;
    if (result == 0 && S_ISREG(mode)) {
        int64_t shown;
        if (rs_look_size(look, &shown, &hidden)) {
            *size = shown;
        }
    }
    return hidden ? -1 : result;
}

#define BLOCKS(size) (((size) + 511) / 512)

/* NAME with DECLARATION and the arguments of CALL; RAW is the system call for the time before the
 * constructor. THROUGH is the same call that follows a link: triton/<ordinal> is a directory to its
 * program (shutil.rmtree refuses links). SIZE and BLOCK are the fields that a view changes, MODE
 * tells what was found. */
#define STAT_HOOK(name, declaration, arguments, dirfd, raw, through, MODE, SIZE, BLOCK)            \
    RS_SLOW int watched_##name declaration                                                         \
    {                                                                                              \
        struct rs_look look;                                                                       \
        int64_t size;                                                                              \
        int result;                                                                                \
        if (!rs_look_begin(&look, dirfd, path, RS_LOOK_STAT)) {                                    \
            result = real_##name arguments;                                                        \
            return result == 0 && S_ISLNK(MODE) && rs_keep_is_link(&look.where) ? through          \
                                                                                : result;          \
        }                                                                                          \
        do {                                                                                       \
            result = real_##name arguments;                                                        \
        } while (rs_look_again(&look, result == 0));                                               \
        result = finish_stat(&look, result, result ? 0 : MODE, &size);                             \
        if (size >= 0) {                                                                           \
            SIZE = (__typeof__(SIZE))size;                                                         \
            BLOCK = (__typeof__(BLOCK))BLOCKS(size);                                               \
        }                                                                                          \
        return result;                                                                             \
    }                                                                                              \
    RS_EXPORT int name declaration                                                                 \
    {                                                                                              \
        if (rs_early()) {                                                                          \
            return raw;                                                                            \
        }                                                                                          \
        return rs_watch(path) ? watched_##name arguments : real_##name arguments;                  \
    }

/* glibc before 2.33 has no stat symbol at all, and later ones may lose __xstat: where there is no
 * next definition the system call is it. On 64-bit machines struct stat, struct stat64 and the
 * kernel's are one layout, and VERSION says nothing more. */
#define REAL(name, declaration, arguments, raw)                                                    \
    static inline int real_##name declaration                                                      \
    {                                                                                              \
        return RS_NEXT(name) ? rs_next.name arguments : raw;                                       \
    }
#define RAW(dirfd, flags) rs_sys_fstatat(dirfd, path, (struct stat *)(void *)out, flags)

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "64-bit machines only");

#define STAT_FAMILY(name, declaration, arguments, dirfd, flags)                                    \
    REAL(name, declaration, arguments, RAW(dirfd, flags))                                          \
    STAT_HOOK(name, declaration, arguments, dirfd, RAW(dirfd, flags), RAW(dirfd, 0), out->st_mode, \
              out->st_size, out->st_blocks)

int __xstat(int version, const char *path, struct stat *out);
int __xstat64(int version, const char *path, struct stat64 *out);
int __lxstat(int version, const char *path, struct stat *out);
int __lxstat64(int version, const char *path, struct stat64 *out);
int __fxstatat(int version, int dirfd, const char *path, struct stat *out, int flags);
int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *out, int flags);

STAT_FAMILY(stat, (const char *path, struct stat *out), (path, out), AT_FDCWD, 0)
STAT_FAMILY(stat64, (const char *path, struct stat64 *out), (path, out), AT_FDCWD, 0)
STAT_FAMILY(lstat, (const char *path, struct stat *out), (path, out), AT_FDCWD, AT_SYMLINK_NOFOLLOW)
STAT_FAMILY(lstat64, (const char *path, struct stat64 *out), (path, out), AT_FDCWD,
            AT_SYMLINK_NOFOLLOW)
STAT_FAMILY(fstatat, (int dirfd, const char *path, struct stat *out, int flags),
            (dirfd, path, out, flags), dirfd, flags)
STAT_FAMILY(fstatat64, (int dirfd, const char *path, struct stat64 *out, int flags),
            (dirfd, path, out, flags), dirfd, flags)
STAT_FAMILY(__xstat, (int version, const char *path, struct stat *out), (version, path, out),
            AT_FDCWD, 0)
STAT_FAMILY(__xstat64, (int version, const char *path, struct stat64 *out), (version, path, out),
            AT_FDCWD, 0)
STAT_FAMILY(__lxstat, (int version, const char *path, struct stat *out), (version, path, out),
            AT_FDCWD, AT_SYMLINK_NOFOLLOW)
STAT_FAMILY(__lxstat64, (int version, const char *path, struct stat64 *out), (version, path, out),
            AT_FDCWD, AT_SYMLINK_NOFOLLOW)
STAT_FAMILY(__fxstatat, (int version, int dirfd, const char *path, struct stat *out, int flags),
            (version, dirfd, path, out, flags), dirfd, flags)
STAT_FAMILY(__fxstatat64, (int version, int dirfd, const char *path, struct stat64 *out, int flags),
            (version, dirfd, path, out, flags), dirfd, flags)

#define STATX_RAW     (int)syscall(SYS_statx, dirfd, path, flags, mask, out)
#define STATX_THROUGH (int)syscall(SYS_statx, dirfd, path, flags & ~AT_SYMLINK_NOFOLLOW, mask, out)
REAL(statx, (int dirfd, const char *path, int flags, unsigned mask, struct statx *out),
     (dirfd, path, flags, mask, out), STATX_RAW)
STAT_HOOK(statx, (int dirfd, const char *path, int flags, unsigned mask, struct statx *out),
          (dirfd, path, flags, mask, out), dirfd, STATX_RAW, STATX_THROUGH, out->stx_mode,
          out->stx_size, out->stx_blocks)

#define ACCESS_HOOK(name, declaration, arguments, dirfd)                                           \
    RS_SLOW int watched_##name declaration                                                         \
    {                                                                                              \
        struct rs_look look;                                                                       \
        struct stat st; /* a pipe by an entry's name is not opened */                              \
        int64_t size;                                                                              \
        int result;                                                                                \
        if (!rs_look_begin(&look, dirfd, path, RS_LOOK_STAT)) {                                    \
            return RS_NEXT(name) arguments;                                                        \
        }                                                                                          \
        do {                                                                                       \
            result = RS_NEXT(name) arguments;                                                      \
        } while (rs_look_again(&look, result == 0));                                               \
        bool there = result == 0 && rs_sys_fstatat(dirfd, path, &st, 0) == 0;                      \
        result = finish_stat(&look, result, there ? st.st_mode : 0, &size);                        \
        return result == 0 && mode & W_OK && rs_look_refuse_write(&look) ? -1 : result;            \
    }                                                                                              \
    RS_EXPORT int name declaration                                                                 \
    {                                                                                              \
        if (rs_early()) {                                                                          \
            return (int)syscall(SYS_faccessat, dirfd, path, mode);                                 \
        }                                                                                          \
        return rs_watch(path) ? watched_##name arguments : RS_NEXT(name) arguments;                \
    }

ACCESS_HOOK(access, (const char *path, int mode), (path, mode), AT_FDCWD)
ACCESS_HOOK(faccessat, (int dirfd, const char *path, int mode, int flags),
            (dirfd, path, mode, flags), dirfd)
