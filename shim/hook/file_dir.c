/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories: opendir and scandir are look-ups (torch 2.15 makes no other), mkdir and rmdir meet
 * the links of triton/<ordinal>.
 */
#include "hook/file.h"

#include <stdlib.h>

RS_SLOW DIR *watched_opendir(const char *path)
{
    struct rs_look look;
    DIR *directory;
    if (!rs_look_begin(&look, AT_FDCWD, path, RS_LOOK_LIST)) {
        return RS_NEXT(opendir)(path);
    }
    while (rs_look_again(&look, (directory = RS_NEXT(opendir)(path)) != NULL)) {
        if (directory) {
            closedir(directory);
        }
    }
    return directory;
}

RS_EXPORT DIR *opendir(const char *path)
{
    return rs_watch(path) ? watched_opendir(path) : RS_NEXT(opendir)(path);
}

#define SCANDIR_HOOK(name, entry)                                                                  \
    RS_SLOW int watched_##name(const char *path, struct entry ***list,                             \
                               int (*filter)(const struct entry *),                                \
                               int (*order)(const struct entry **, const struct entry **))         \
    {                                                                                              \
        struct rs_look look;                                                                       \
        int count;                                                                                 \
        if (!rs_look_begin(&look, AT_FDCWD, path, RS_LOOK_LIST)) {                                 \
            return RS_NEXT(name)(path, list, filter, order);                                       \
        }                                                                                          \
        while (rs_look_again(&look, (count = RS_NEXT(name)(path, list, filter, order)) >= 0)) {    \
            for (int i = 0; i < count; i++) {                                                      \
                free((*list)[i]);                                                                  \
            }                                                                                      \
            if (count >= 0) {                                                                      \
                free(*list);                                                                       \
            }                                                                                      \
        }                                                                                          \
        return count;                                                                              \
    }                                                                                              \
    RS_EXPORT int name(const char *path, struct entry ***list,                                     \
                       int (*filter)(const struct entry *),                                        \
                       int (*order)(const struct entry **, const struct entry **))                 \
    {                                                                                              \
        return rs_watch(path) ? watched_##name(path, list, filter, order)                          \
                              : RS_NEXT(name)(path, list, filter, order);                          \
    }

SCANDIR_HOOK(scandir, dirent)
SCANDIR_HOOK(scandir64, dirent64)

/* A producer that can't make its key's directory will not store. One whose parent is missing is
 * made afterwards. */
static int finish_mkdir(int dirfd, const char *path, int result)
{
    if (result != 0 && errno != EEXIST && errno != ENOENT) {
        rs_keep_lost(dirfd, path);
    }
    return result;
}

RS_EXPORT int mkdir(const char *path, mode_t mode)
{
    int result;
    if (rs_early()) {
        return rs_sys_mkdirat(AT_FDCWD, path, mode);
    }
    if (!rs_watch_directory(path)) {
        return RS_NEXT(mkdir)(path, mode);
    }
    if (!rs_keep_mkdir(AT_FDCWD, path, mode, &result)) {
        result = finish_mkdir(AT_FDCWD, path, RS_NEXT(mkdir)(path, mode));
    }
    return result;
}

RS_EXPORT int mkdirat(int dirfd, const char *path, mode_t mode)
{
    int result;
    if (rs_early()) {
        return rs_sys_mkdirat(dirfd, path, mode);
    }
    if (!rs_watch_directory(path)) {
        return RS_NEXT(mkdirat)(dirfd, path, mode);
    }
    if (!rs_keep_mkdir(dirfd, path, mode, &result)) {
        result = finish_mkdir(dirfd, path, RS_NEXT(mkdirat)(dirfd, path, mode));
    }
    return result;
}

RS_EXPORT int rmdir(const char *path)
{
    int result;
    if (rs_early()) {
        return rs_sys_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
    }
    if (rs_watch_directory(path) && rs_keep_rmdir(AT_FDCWD, path, &result)) {
        return result;
    }
    return RS_NEXT(rmdir)(path);
}

RS_EXPORT int unlinkat(int dirfd, const char *path, int flags)
{
    int result;
    if (rs_early()) {
        return rs_sys_unlinkat(dirfd, path, flags);
    }
    if (flags & AT_REMOVEDIR && rs_watch_directory(path) && rs_keep_rmdir(dirfd, path, &result)) {
        return result;
    }
    return RS_NEXT(unlinkat)(dirfd, path, flags);
}
