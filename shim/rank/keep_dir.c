/* SPDX-License-Identifier: Apache-2.0
 *
 * triton/<ordinal>: one directory, "0", and links to it. Kernels hold no ordinal, only the absolute
 * paths in their group files do, and a link keeps those valid.
 */
#include "rank/keep.h"

#include "base/sys.h"
#include "rank/count.h"

#include <string.h>

/* True when WHERE is a triton/<ordinal> other than "0" itself. */
static bool is_link_place(const struct rs_where *where)
{
    return where->shape == RS_SHAPE_TRITON_LINK && strcmp(where->path + where->name, "0") != 0;
}

/* The same for PATH; slashes behind it, through which the kernel follows a link, are cut. */
static bool link_place(int dirfd, const char *path, struct rs_where *where)
{
    if (!rs_where(dirfd, path, where)) {
        return false;
    }
    size_t length = strlen(where->path);
    while (length > where->name && where->path[length - 1] == '/') {
        where->path[--length] = '\0';
    }
    return is_link_place(where);
}

/* triton/0 beside WHERE; made when it is absent. WHERE's name is changed for the time of the call:
 * a second path on a small thread's stack would be one too many. */
static bool make_target(struct rs_where *where, mode_t mode)
{
    struct stat st;
    char *name = where->path + where->name;
    char kept[2] = {name[0], name[1]};
    memcpy(name, "0", 2);
    bool made = rs_sys_mkdirat(AT_FDCWD, where->path, mode) == 0;
    if (!made && errno == EEXIST) {
        made = rs_sys_fstatat(AT_FDCWD, where->path, &st, 0) == 0 && S_ISDIR(st.st_mode);
    }
    memcpy(name, kept, 2);
    return made;
}

bool rs_keep_mkdir(int dirfd, const char *path, mode_t mode, int *result)
{
    struct rs_where where;
    struct stat st;
    int saved = errno;
    if (!link_place(dirfd, path, &where)) {
        return false;
    }
    bool there = rs_sys_fstatat(AT_FDCWD, where.path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && !S_ISLNK(st.st_mode)) {
        errno = saved;
        return false; /* a real directory of an earlier run is left alone; the real call says EEXIST
                       */
    }
    if (there && rs_sys_fstatat(AT_FDCWD, where.path, &st, 0) == 0) {
        *result = -1;
        errno = EEXIST;
        return true;
    }
    if (!make_target(&where, mode)) {
        errno = saved;
        return false;
    }
    /* A dangling link is whole again now that its target is back. */
    if (!there && rs_sys_symlinkat("0", AT_FDCWD, where.path) != 0) {
        if (errno != EEXIST) {
            errno = saved;
            return false; /* a file system without links: a directory of its own, as natively */
        }
        *result = -1;
        return true;
    }
    rs_count(RS_C_links_made, 1);
    errno = saved;
    *result = 0;
    return true;
}

bool rs_keep_mkdirs(char *path, size_t root, size_t end, bool links)
{
    for (size_t at = root + 1; at <= end; at++) {
        char was = path[at];
        int result;
        if (was != '/' && was != '\0') {
            continue;
        }
        path[at] = '\0';
        if (!links || !rs_keep_mkdir(AT_FDCWD, path, 0777, &result)) {
            result = rs_sys_mkdirat(AT_FDCWD, path, 0777);
        }
        bool there = result == 0 || errno == EEXIST;
        path[at] = was;
        if (!there) {
            return false;
        }
    }
    return true;
}

bool rs_keep_is_link(const struct rs_where *where)
{
    char target[2];
    int saved = errno;
    bool is = is_link_place(where) &&
              rs_sys_readlinkat(AT_FDCWD, where->path, target, sizeof(target)) == 1 &&
              target[0] == '0';
    errno = saved;
    return is;
}

bool rs_keep_rmdir(int dirfd, const char *path, int *result)
{
    struct rs_where where;
    struct stat st;
    int saved = errno;
    if (!link_place(dirfd, path, &where) ||
        rs_sys_fstatat(AT_FDCWD, where.path, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISLNK(st.st_mode)) {
        errno = saved;
        return false;
    }
    /* The program made a directory here and takes it away again: its name goes, the kernels of the
     * other ranks stay. */
    *result = rs_sys_unlinkat(AT_FDCWD, where.path, 0);
    if (*result == 0) {
        errno = saved;
    }
    return true;
}
