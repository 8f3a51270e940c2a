/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/view.h"

#include "base/fd.h"
#include "base/log.h"
#include "base/state.h"
#include "base/sys.h"
#include "rank/count.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/refusal.h"
#include "rank/share.h"
#include "rank/tuned_map.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* An empty descriptor for reading and writing that lies in no directory: memfd, else a file that is
 * unlinked at once. -1 where neither can be had. */
static int scratch_file(void)
{
    int fd = (int)syscall(SYS_memfd_create, "rankshare-view", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) { /* before Linux 6.3 */
        fd = (int)syscall(SYS_memfd_create, "rankshare-view", MFD_CLOEXEC);
    }
    if (fd >= 0) {
        return fd;
    }
    static const char *const places[] = {"/dev/shm", "/tmp", "/var/tmp"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        fd = rs_sys_openat(AT_FDCWD, places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0) {
            return fd;
        }
    }
    return -1;
}

bool rs_views_work(void)
{
    static _Atomic(int) tried; /* 0 not yet, 1 they work, 2 they don't */
    int known = atomic_load_explicit(&tried, memory_order_relaxed);
    if (known) {
        return known == 1;
    }
    int saved = errno;
    char byte = 'v', back = 0;
    int fd = scratch_file();
    bool works = false;
    if (fd >= 0) {
        bool written = rs_sys_file_fits(1) && rs_sys_write(fd, &byte, 1) == 1;
        int again = written ? rs_fd_reopen(fd, O_RDONLY) : -1;
        works = again >= 0 && rs_sys_pread(again, &back, 1, 0) == 1 && back == byte;
        if (again >= 0) {
            rs_sys_close(again);
        }
        rs_sys_close(fd);
    }
    atomic_store(&tried, works ? 1 : 2);
    if (!works) {
        rs_log(
            "views do not work here (no memfd, no temporary file, or no /proc): keys stay native");
    }
    errno = saved;
    return works;
}

bool rs_read_whole(int fd, struct rs_arena *arena, struct rs_bytes *out)
{
    struct stat st;
    if (rs_sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
        (uint64_t)st.st_size > (uint64_t)1 << (RS_REWRITE_MEMORY_SHIFT - 1)) {
        return false;
    }
    size_t size = (size_t)st.st_size;
    uint8_t *data = rs_arena_alloc(arena, size + 1); /* one more: a file that has grown is seen */
    if (!data) {
        return false;
    }
    size_t have = 0;
    while (have < size) {
        ssize_t got = rs_sys_pread(fd, data + have, size + 1 - have, (off_t)have);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        have += (size_t)got;
    }
    *out = (struct rs_bytes){data, size};
    return have == size;
}

bool rs_write_pieces(int fd, const struct rs_pieces *pieces)
{
    struct iovec *next = pieces->pieces, *end = next + pieces->count;
    if (!rs_sys_file_fits(pieces->size)) {
        errno = EFBIG;
        return false;
    }
    while (next < end) {
        /* libc's writev() would be a cancellation point, which rename() is not. */
        ssize_t wrote =
            syscall(SYS_writev, fd, next, end - next < IOV_MAX ? (int)(end - next) : IOV_MAX);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return false;
        }
        size_t left = (size_t)wrote;
        while (next < end && left >= next->iov_len) {
            left -= next++->iov_len;
        }
        if (left) { /* a piece was written in part */
            next->iov_base = (char *)next->iov_base + left;
            next->iov_len -= left;
        }
    }
    return true;
}

/* Under a native or private key lies what this process stored there, whatever it is, or an entry
 * that was unpacked from a blob before the key was hashed and so became canonical: the latter needs
 * its view. */
static bool native_key(const struct rs_view_want *want)
{
    return want->treatment == RS_TREAT_NATIVE || want->treatment == RS_TREAT_PRIVATE;
}

bool rs_view_wanted(const struct rs_where *where, struct rs_view_want *want)
{
    if (where->shape != RS_SHAPE_FX_FILE && where->shape != RS_SHAPE_AOT_FILE) {
        return false;
    }
    struct rs_known known = rs_known_find(&where->key);
    want->treatment = known.treatment;
    want->flags = known.flags;
    bool unknown = known.treatment == RS_TREAT_UNKNOWN || known.treatment == RS_TREAT_FORGOTTEN;
    want->unnamed = known.treatment == RS_TREAT_CANONICAL && known.ordinal < 0;
    want->ordinal = unknown || want->unnamed ? rs_primary() : known.ordinal;
    want->behind = false;
    int ordinal;
    if (where->shape == RS_SHAPE_FX_FILE && !native_key(want) && rs_known_behind_native(&ordinal)) {
        want->behind = ordinal == RS_ORDINAL_UNSURE;
        want->ordinal = want->behind || unknown ? ordinal : want->ordinal;
    }
    /* A rank of cuda:0 needs no views, but must not be handed what another device left there. */
    return want->ordinal > 0 || want->ordinal == RS_ORDINAL_UNSURE ||
           (want->ordinal == 0 && !native_key(want));
}

/* Puts the pieces into a descriptor that looks like the entry. -1 on failure. */
static int fill_view(int fd, const struct rs_pieces *pieces)
{
    struct stat st;
    int scratch = scratch_file();
    if (scratch < 0) {
        return -1;
    }
    int view = -1;
    if (rs_write_pieces(scratch, pieces) && rs_sys_fstat(fd, &st) == 0) {
        struct timespec times[2] = {st.st_atim, st.st_mtim};
        /* The name is ours, so the mode may be set before the read-only descriptor is opened. */
        if (syscall(SYS_fchmod, scratch, (st.st_mode & 0666) | 0400) == 0) {
            (void)syscall(SYS_utimensat, scratch, NULL, times, 0);
            /* At offset 0: what a reader of the entry would have been given. */
            view = rs_fd_reopen(scratch, O_RDONLY);
        }
    }
    rs_sys_close(scratch);
    return view;
}

static void refuse(const struct rs_where *where, enum rs_kind kind, enum rs_reason reason)
{
    rs_count(RS_C_views_failed, 1);
    rs_count_refusal(reason);
    rs_node_event(RS_EVENT_REFUSED, kind, &where->key, (uint64_t)reason);
    rs_log("no view of %s: %s", where->path, rs_reason_text(reason));
}

static bool names(const struct rs_report *report, int ordinal)
{
    return report->ordinals[ordinal / 64] >> (ordinal % 64) & 1;
}

/* Only under a native or private key may there be an entry of another device than this process's
 * own or cuda:0. Anywhere else it is somebody's mistake (a file written in place, a copied view, a
 * blob unpacked without the library): a miss costs a compilation, the bytes would be wrong. */
static bool third_device(const struct rs_view_want *want, const struct rs_report *report)
{
    bool marked = report->private_ordinal >= 0 && want->treatment != RS_TREAT_CANONICAL;
    return !marked && !native_key(want) && (report->ordinals[0] || report->ordinals[1]) &&
           !names(report, 0) && !names(report, want->ordinal);
}

/* Nobody knows for which device the reader asks. Behind a native AOT entry (a graph on two devices)
 * an FX graph on one device may be a native one or the canonical one of another device; what names
 * two, or is marked, can only be native. */
static enum rs_view judge_unsure(const struct rs_view_want *want, const struct rs_report *report,
                                 enum rs_reason *reason)
{
    int ordinal = rs_report_ordinal(report);
    bool native = want->behind && (ordinal == -2 || report->private_ordinal >= 0);
    *reason = want->behind ? RS_REFUSED_not_canonical : RS_REFUSED_second_ordinal;
    return native || (report->reason == RS_OK && ordinal == -1) ? RS_VIEW_RAW : RS_VIEW_FAILED;
}

/* What a reader gets of the entry that REPORT describes. *REASON: why it can't be rewritten, and on
 * RS_VIEW_FAILED why the reader gets nothing. */
static enum rs_view judge(const struct rs_view_want *want, const struct rs_report *report,
                          enum rs_reason *reason)
{
    int ordinal = rs_report_ordinal(report);
    if (want->ordinal == RS_ORDINAL_UNSURE) {
        return judge_unsure(want, report, reason);
    }
    if (third_device(want, report)) {
        *reason = RS_REFUSED_not_canonical;
        return RS_VIEW_FAILED;
    }
    if (report->private_ordinal >= 0) {
        rs_count(RS_C_raw_private, 1);
        return RS_VIEW_RAW;
    }
    if (want->ordinal == 0) {
        /* Unpickling ignores what follows the pickle's end, so "malformed" may still be loaded, and
         * nothing is known of its device then. */
        return report->reason == RS_REFUSED_malformed ? RS_VIEW_FAILED : RS_VIEW_RAW;
    }
    if (report->reason == RS_OK && ordinal != 0) {
        rs_count(RS_C_raw_foreign, ordinal > 0);
        return RS_VIEW_RAW;
    }
    if (*reason != RS_OK) {
        return native_key(want) ? RS_VIEW_RAW : RS_VIEW_FAILED;
    }
    if (want->treatment == RS_TREAT_FORGOTTEN || want->unnamed) {
        /* cuda:0's own under a native key, or canonical: nobody can tell. And a key that names no
         * device (CPU inputs, a device without an index inside) leads every rank to what one of
         * them compiled: without the library torch would run it on that one's device. */
        *reason = RS_REFUSED_not_canonical;
        return RS_VIEW_FAILED;
    }
    *reason = rs_comms_refusal(report, want->treatment, want->flags);
    return *reason == RS_OK ? RS_VIEW_MADE : RS_VIEW_FAILED;
}

/* What can be said without reading all of FD: RS_VIEW_MADE where it must be read. */
static enum rs_view glance(int fd, const struct rs_where *where, const struct rs_view_want *want)
{
    uint8_t head[2] = {0, 0};
    struct stat st;
    if (rs_sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return RS_VIEW_RAW; /* a directory or a pipe by an entry's name holds no entry */
    }
    if (rs_sys_pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
        rs_pickle_begins((struct rs_bytes){head, sizeof(head)})) {
        return RS_VIEW_MADE;
    }
    /* Nothing wrong can be unpickled from it. By an entry's own name it is a damaged one, and a
     * miss is quieter than torch's complaint; by any other name it is somebody else's file. */
    return want->ordinal > 0 && rs_shape_entry_hash(where->path + where->name) ? RS_VIEW_FAILED
                                                                               : RS_VIEW_RAW;
}

int rs_view_of(int fd, struct rs_bytes bytes)
{
    struct iovec piece = {(void *)(uintptr_t)bytes.data, bytes.size};
    struct rs_pieces pieces = {&piece, 1, bytes.size};
    return fill_view(fd, &pieces);
}

/* The entry as it is, out of memory: its file need not be read. */
static enum rs_view show_raw(int fd, struct rs_bytes bytes, int *view, int64_t *size)
{
    *view = rs_view_of(fd, bytes);
    *size = (int64_t)bytes.size;
    return *view >= 0 ? RS_VIEW_MADE : RS_VIEW_RAW;
}

enum rs_view rs_view_make(int fd, const struct rs_where *where, const struct rs_view_want *want,
                          int *view, int64_t *size)
{
    struct rs_arena arena;
    struct rs_bytes bytes;
    struct rs_pieces pieces;
    struct rs_report report;
    uint8_t key[RS_TORCH_KEY_SIZE];
    int saved = errno;
    enum rs_reason reason = RS_REFUSED_malformed;
    enum rs_kind kind = rs_where_kind(where);

    rs_rewrite_arena(&arena);
    bool served = rs_share_read(fd, where, &arena, &bytes);
    enum rs_view result = served ? RS_VIEW_MADE : glance(fd, where, want);
    if (result == RS_VIEW_MADE && !served && !rs_read_whole(fd, &arena, &bytes)) {
        reason = RS_REFUSED_limit;
        result = RS_VIEW_FAILED;
    } else if (result == RS_VIEW_MADE) {
        reason = rs_ordinal_rewrite(&arena, bytes, kind, rs_torch_key(key) ? key : NULL,
                                    want->ordinal > 0 ? want->ordinal : 0, &pieces, &report);
        result = judge(want, &report, &reason);
    }
    if (result == RS_VIEW_MADE && view && (*view = fill_view(fd, &pieces)) < 0) {
        result = RS_VIEW_FAILED;
        reason = RS_REFUSED_views;
    }
    if (result == RS_VIEW_MADE) {
        rs_count(RS_C_views, 1);
        rs_count(RS_C_view_bytes, pieces.size);
        rs_count(RS_C_kernel_names_left, report.kernels_left);
        rs_tuned_learn(&report, want->ordinal, rs_tuned_in_place(rs_torch_minor()));
        rs_node_event(RS_EVENT_VIEW, kind, &where->key, pieces.size);
        *size = (int64_t)pieces.size;
    } else if (result == RS_VIEW_FAILED) {
        refuse(where, kind, reason);
    } else if (result == RS_VIEW_RAW && served && view) {
        result = show_raw(fd, bytes, view, size);
    }
    rs_arena_free(&arena);
    errno = saved;
    return result;
}
