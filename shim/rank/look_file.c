/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of a look that concerns an entry's bytes: descriptors and sizes of views.
 */
#include "rank/look.h"

#include "base/sys.h"
#include "rank/count.h"
#include "rank/driver.h"
#include "rank/share.h"
#include "rank/tuning.h"
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

/* The results of a graph's kernels are looked up after the graph was read. */
static void note_graph(const struct rs_look *look)
{
    if (look->where.shape == RS_SHAPE_FX_FILE) {
        rs_tuning_reads(&look->where);
    }
}

/* A kernel's file is the same for all ranks: only where its bytes come from is to be decided. The
 * driver, which is named a file by its path, reads the disk. */
static void show_file(const struct rs_look *look, int fd)
{
    if (rs_driver_inside()) {
        return;
    }
    struct rs_arena arena;
    struct rs_bytes bytes;
    int saved = errno;
    rs_rewrite_arena(&arena);
    int view = rs_share_read(fd, &look->where, &arena, &bytes) ? rs_view_of(fd, bytes) : -1;
    if (view >= 0) {
        (void)take_place(fd, view);
    }
    rs_arena_free(&arena);
    errno = saved;
}

bool rs_look_opened(struct rs_look *look, int fd)
{
    struct rs_view_want want;
    int view;
    int64_t size;
    if (look->where.shape == RS_SHAPE_TRITON_GROUP || look->where.shape == RS_SHAPE_TRITON_FILE) {
        show_file(look, fd);
        return true;
    }
    if (!rs_view_wanted(&look->where, &want)) {
        return true;
    }
    switch (rs_view_make(fd, &look->where, &want, &view, &size)) {
    case RS_VIEW_RAW:
        note_graph(look);
        return true;
    case RS_VIEW_MADE:
        if (take_place(fd, view) >= 0) {
            note_graph(look);
            return true;
        }
        break;
    case RS_VIEW_FAILED:
        break;
    }
    errno = stat_said_exists == path_hash(look->where.path) ? EIO : ENOENT;
    return false;
}

bool rs_look_blocks(struct rs_look *look)
{
    struct rs_view_want want;
    struct stat st;
    int saved = errno;
    if (rs_view_wanted(&look->where, &want) &&
        rs_sys_fstatat(AT_FDCWD, look->where.path, &st, 0) == 0 && !S_ISREG(st.st_mode) &&
        !S_ISDIR(st.st_mode)) {
        rs_count(RS_C_views_failed, 1);
        rs_count_refusal(RS_REFUSED_malformed);
        errno = ENOENT;
        return true;
    }
    errno = saved;
    return false;
}

/* What an open of the entry would give, and its view's size; RS_VIEW_RAW also where it can't be
 * opened: open() will say the same to the program. errno is preserved. *LOOKED: whether the entry
 * was read. */
static enum rs_view inspect(const struct rs_look *look, int64_t *size, bool *looked)
{
    struct rs_view_want want;
    int saved = errno;
    enum rs_view verdict = RS_VIEW_RAW;
    *looked = false;
    if (!rs_view_wanted(&look->where, &want)) {
        return verdict;
    }
    int fd = rs_sys_openat(AT_FDCWD, look->where.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd >= 0) {
        *looked = true;
        verdict = rs_view_make(fd, &look->where, &want, NULL, size);
        rs_sys_close(fd);
    }
    errno = saved;
    return verdict;
}

/* A file on its way to its name belongs to who writes it: only what is read from it is judged
 * (torch before 2.11 takes every name in a key's directory for an entry). */
static bool on_its_way(const struct rs_look *look)
{
    return !rs_shape_entry_name(look->where.path + look->where.name);
}

bool rs_look_size(struct rs_look *look, int64_t *size, bool *hidden)
{
    bool looked;
    *hidden = false;
    if (on_its_way(look)) {
        return false;
    }
    enum rs_view verdict = inspect(look, size, &looked);
    *hidden = verdict == RS_VIEW_FAILED;
    if (looked) {
        stat_said_exists = *hidden ? 0 : path_hash(look->where.path);
    }
    if (*hidden) {
        errno = ENOENT;
    }
    return verdict == RS_VIEW_MADE;
}

bool rs_look_refuse_write(struct rs_look *look)
{
    bool looked;
    int64_t size;
    if (on_its_way(look) || inspect(look, &size, &looked) == RS_VIEW_RAW) {
        return false;
    }
    errno = EACCES;
    return true;
}
