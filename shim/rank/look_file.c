/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of a look that concerns an entry's bytes: descriptors and sizes of views.
 */
#include "rank/look.h"

#include "base/sys.h"
#include "rank/view.h"

#include <string.h>

/* The entry that this thread's last stat() called existing: if its view fails after that, "no such
 * file" would contradict us, and EIO is the truth. */
static __thread uint64_t stat_said_exists;

/* FNV-1a; never 0. */
static uint64_t path_hash(const char *path)
{
    uint64_t hash = 14695981039346656037u;
    for (; *path; path++) {
        hash = (hash ^ (uint8_t)*path) * 1099511628211u;
    }
    return hash | 1;
}

/* VIEW takes FD's number and flags, so that the program gets the descriptor it would have got. */
static int take_place(int fd, int view)
{
    int flags = fcntl(fd, F_GETFD);
    int result = (int)syscall(SYS_dup3, view, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
    rs_sys_close(view);
    return result;
}

bool rs_look_opened(struct rs_look *look, int fd)
{
    int ordinal, view;
    if (!rs_view_wanted(&look->where, &ordinal)) {
        return true;
    }
    switch (rs_view_make(fd, &look->where, ordinal, &view)) {
    case RS_VIEW_RAW:
        return true;
    case RS_VIEW_MADE:
        if (take_place(fd, view) >= 0) {
            return true;
        }
        break;
    case RS_VIEW_FAILED:
        break;
    }
    errno = stat_said_exists == path_hash(look->where.path) ? EIO : ENOENT;
    return false;
}

bool rs_look_size(struct rs_look *look, int64_t *size, bool *hidden)
{
    int ordinal, view, saved = errno;
    struct stat st;
    bool changed = false;
    *hidden = false;
    if (!rs_view_wanted(&look->where, &ordinal)) {
        return false;
    }
    int fd = rs_sys_openat(AT_FDCWD, look->where.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) {
        errno = saved;
        return false; /* open() will say the same to the program */
    }
    switch (rs_view_make(fd, &look->where, ordinal, &view)) {
    case RS_VIEW_MADE:
        changed = rs_sys_fstat(view, &st) == 0;
        *size = changed ? st.st_size : 0;
        rs_sys_close(view);
        break;
    case RS_VIEW_FAILED:
        *hidden = true;
        break;
    case RS_VIEW_RAW:
        break;
    }
    rs_sys_close(fd);
    stat_said_exists = *hidden ? 0 : path_hash(look->where.path);
    errno = *hidden ? ENOENT : saved;
    return changed;
}

bool rs_look_refuse_write(struct rs_look *look)
{
    int ordinal, view, saved = errno;
    if (!rs_view_wanted(&look->where, &ordinal)) {
        return false;
    }
    int fd = rs_sys_openat(AT_FDCWD, look->where.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) {
        errno = saved;
        return false;
    }
    enum rs_view verdict = rs_view_make(fd, &look->where, ordinal, &view);
    if (verdict == RS_VIEW_MADE) {
        rs_sys_close(view);
    }
    rs_sys_close(fd);
    errno = verdict == RS_VIEW_RAW ? saved : EACCES;
    return verdict != RS_VIEW_RAW;
}
