/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/keep.h"

#include "base/dir.h"
#include "base/log.h"
#include "base/sys.h"
#include "rank/count.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/view.h"
#include "rank/wait.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static enum rs_kind entry_kind(enum rs_shape shape)
{
    return shape == RS_SHAPE_FX_FILE ? RS_KIND_fx_entry : RS_KIND_aot_entry;
}

/* ---- the end of a lease ------------------------------------------------------------------------
 */

static struct rs_place place_of(const struct rs_where *where)
{
    enum rs_lease_kind kind = RS_LEASE_TRITON;
    if (where->shape == RS_SHAPE_FX_FILE || where->shape == RS_SHAPE_FX_DIR) {
        kind = RS_LEASE_FX;
    } else if (where->shape == RS_SHAPE_AOT_FILE || where->shape == RS_SHAPE_AOT_DIR) {
        kind = RS_LEASE_AOT;
    }
    return (struct rs_place){kind, where->key, where->dev, where->ino};
}

static void lease_failed(const struct rs_where *where)
{
    struct rs_node *node = rs_node();
    struct rs_place place = place_of(where);
    if (node && node->slot && rs_lease_failed(&node->store, node->slot, &place)) {
        rs_count(RS_C_unproductive, 1);
        rs_node_event(RS_EVENT_UNPRODUCTIVE, RS_KIND_other, &where->key, 0);
    }
}

/* Ends the lease; nanoseconds since it was taken, 0 when this process did not hold it. */
static uint64_t lease_stored(const struct rs_where *where)
{
    struct rs_node *node = rs_node();
    struct rs_place place = place_of(where);
    struct timespec now;
    if (!node || !node->slot) {
        return 0;
    }
    uint64_t taken = rs_lease_taken_ns(&node->store, node->slot, &place);
    if (!rs_lease_stored(&node->store, node->slot, &place)) {
        return 0;
    }
    rs_wait_produced();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return taken ? (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - taken : 0;
}

static void note_store(const struct rs_where *where)
{
    enum rs_kind kind = RS_KIND_triton_group;
    enum rs_counter counter = RS_C_stores_triton;
    if (where->shape != RS_SHAPE_TRITON_GROUP) {
        kind = entry_kind(where->shape);
        counter = kind == RS_KIND_fx_entry ? RS_C_stores_fx : RS_C_stores_aot;
    }
    rs_count(counter, 1);
    rs_node_event(RS_EVENT_STORE, kind, &where->key, lease_stored(where));
}

void rs_keep_lost(int dirfd, const char *path)
{
    struct rs_where where;
    int saved = errno;
    if (rs_where(dirfd, path, &where) && where.shape != RS_SHAPE_TRITON_TMP &&
        where.shape != RS_SHAPE_TRITON_LINK) {
        lease_failed(&where);
    }
    errno = saved;
}

/* ---- canonical form ----------------------------------------------------------------------------
 */

/* An AOT entry sends its readers to FX keys; one that is not shared would send them to another
 * device's code. A key that this process has not hashed came with a hit, and what a hit shows is
 * checked there. */
static bool inner_keys_shared(const struct rs_report *report)
{
    if (report->key_count > RS_KEYS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < report->key_count; i++) {
        struct rs_key key;
        memcpy(key.bytes, report->keys[i], sizeof(key.bytes));
        enum rs_treatment treatment = rs_known_find(&key).treatment;
        if (treatment == RS_TREAT_NATIVE || treatment == RS_TREAT_PRIVATE) {
            return false;
        }
    }
    return true;
}

/* Why the entry with REPORT can't be stored under a shared key. */
static enum rs_reason reason_to_drop(const struct rs_report *report, const struct rs_known *known)
{
    int ordinal = rs_report_ordinal(report);
    if (report->reason != RS_OK) {
        return report->reason;
    }
    if (report->collectives) {
        return RS_REFUSED_collective;
    }
    if (known->treatment == RS_TREAT_CANONICAL && ordinal >= 0 && ordinal != known->ordinal) {
        return RS_REFUSED_not_canonical;
    }
    return inner_keys_shared(report) ? RS_OK : RS_REFUSED_inner_key;
}

/* Writes the rewritten entry beside its final name, with the source's mode and times, and moves it
 * there. */
static bool put_in_place(const struct rs_where *to, const struct rs_pieces *pieces, int source,
                         enum rs_keep_how how)
{
    char path[PATH_MAX];
    struct stat st;
    uint64_t salt = 0; /* two containers on one directory may have the same pid and tid */
    if (syscall(SYS_getrandom, &salt, sizeof(salt), 0) != (long)sizeof(salt)) {
        return false;
    }
    int length = snprintf(path, sizeof(path), "%.*s.rs.%d.%d.%016llx", (int)to->name, to->path,
                          (int)getpid(), (int)rs_sys_gettid(), (unsigned long long)salt);
    if (length < 0 || (size_t)length >= sizeof(path) || rs_sys_fstat(source, &st) != 0) {
        return false;
    }
    int fd =
        rs_sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    bool done = rs_write_pieces(fd, pieces) && syscall(SYS_fchmod, fd, st.st_mode & 07777) == 0 &&
                syscall(SYS_utimensat, fd, NULL, times, 0) == 0;
    done = rs_sys_close(fd) == 0 && done;
    if (done && how != RS_KEEP_RENAME) {
        done = syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, to->path, 0) == 0;
        rs_sys_unlinkat(AT_FDCWD, path, 0);
        return done;
    }
    done = done && rs_sys_renameat(AT_FDCWD, path, AT_FDCWD, to->path) == 0;
    if (!done) {
        rs_sys_unlinkat(AT_FDCWD, path, 0);
    }
    return done;
}

/* A second ordinal's entry: the mark makes every process hand it out as it is. */
static bool mark_private(int fromfd, const char *from, const struct rs_known *known)
{
    char mark[RS_MARK_MAX];
    size_t length = rs_mark_write(known->ordinal, mark);
    int fd = rs_sys_openat(fromfd, from, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    struct stat st;
    bool done = rs_sys_fstat(fd, &st) == 0 && rs_sys_file_fits((uint64_t)st.st_size + length) &&
                rs_sys_write(fd, mark, length) == (ssize_t)length;
    return rs_sys_close(fd) == 0 && done;
}

static enum rs_keep_verdict drop(struct rs_keep *keep, int fromfd, const char *from,
                                 enum rs_reason reason)
{
    if (keep->how != RS_KEEP_LINK) {
        rs_sys_unlinkat(fromfd, from, 0);
    }
    rs_count(RS_C_stores_dropped, 1);
    rs_count_refusal(reason);
    rs_node_event(RS_EVENT_REFUSED, entry_kind(keep->to.shape), &keep->to.key, (uint64_t)reason);
    rs_log("not stored: %s: %s", keep->to.path, rs_reason_text(reason));
    lease_failed(&keep->to);
    return RS_KEEP_ANSWERED;
}

/* An entry under a shared key, or one out of a blob (its key was not hashed here). */
static enum rs_keep_verdict canonicalise(struct rs_keep *keep, int fromfd, const char *from,
                                         int source, const struct rs_known *known)
{
    struct rs_arena arena;
    struct rs_bytes bytes;
    struct rs_pieces pieces;
    struct rs_report report;
    uint8_t torch_key[RS_TORCH_KEY_SIZE];
    enum rs_keep_verdict verdict;

    rs_rewrite_arena(&arena);
    if (!rs_read_whole(source, &arena, &bytes)) {
        verdict = drop(keep, fromfd, from, RS_REFUSED_limit);
        goto out;
    }
    enum rs_reason refusal =
        rs_ordinal_rewrite(&arena, bytes, entry_kind(keep->to.shape),
                           rs_torch_key(torch_key) ? torch_key : NULL, 0, &pieces, &report);
    enum rs_reason reason = reason_to_drop(&report, known);
    if (report.private_ordinal >= 0) {
        verdict = RS_KEEP_PASS;
    } else if (reason != RS_OK || refusal != RS_OK) {
        verdict = drop(keep, fromfd, from, reason ? reason : refusal);
    } else if (rs_report_ordinal(&report) <= 0) {
        verdict = RS_KEEP_PASS; /* canonical as it is */
    } else if (put_in_place(&keep->to, &pieces, source, keep->how)) {
        rs_count(RS_C_stores_rewritten, 1);
        rs_count(RS_C_kernel_names_left, report.kernels_left);
        if (keep->how != RS_KEEP_LINK) {
            rs_sys_unlinkat(fromfd, from, 0);
        }
        note_store(&keep->to);
        verdict = RS_KEEP_ANSWERED;
    } else if (errno == EEXIST && keep->how != RS_KEEP_RENAME) {
        keep->result = -1; /* somebody was faster */
        verdict = RS_KEEP_ANSWERED;
    } else {
        verdict = drop(keep, fromfd, from, RS_REFUSED_not_canonical);
    }
out:
    rs_arena_free(&arena);
    return verdict;
}

static enum rs_keep_verdict keep_entry(struct rs_keep *keep, int fromfd, const char *from)
{
    struct stat st;
    struct rs_known known = rs_known_find(&keep->to.key);
    if (known.treatment == RS_TREAT_NATIVE) {
        return RS_KEEP_PASS;
    }
    if (keep->how == RS_KEEP_EXCHANGE) {
        keep->result = -1;
        errno = EINVAL; /* what a file system says that knows no exchange */
        return RS_KEEP_ANSWERED;
    }
    if (keep->how != RS_KEEP_RENAME &&
        rs_sys_fstatat(AT_FDCWD, keep->to.path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        return RS_KEEP_PASS; /* the real call says EEXIST */
    }
    /* linkat() of a file without a name goes through a link in /proc. */
    bool follow = keep->how == RS_KEEP_LINK;
    if (rs_sys_fstatat(fromfd, from, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode)) {
        return RS_KEEP_PASS; /* and what is wrong with the source, too */
    }
    if (known.treatment == RS_TREAT_PRIVATE) {
        if (mark_private(fromfd, from, &known)) {
            rs_count(RS_C_stores_private, 1);
            return RS_KEEP_PASS;
        }
        return drop(keep, fromfd, from, RS_REFUSED_not_canonical);
    }
    int source = rs_sys_openat(fromfd, from,
                               O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW), 0);
    if (source < 0) {
        return RS_KEEP_PASS;
    }
    enum rs_keep_verdict verdict = canonicalise(keep, fromfd, from, source, &known);
    rs_sys_close(source);
    return verdict;
}

enum rs_keep_verdict rs_keep_begin(struct rs_keep *keep, int fromfd, const char *from, int tofd,
                                   const char *to, enum rs_keep_how how)
{
    int saved = errno;
    enum rs_keep_verdict verdict = RS_KEEP_PASS;
    keep->how = how;
    keep->result = 0;
    keep->ours = rs_where(tofd, to, &keep->to);
    if (keep->ours && (keep->to.shape == RS_SHAPE_FX_FILE || keep->to.shape == RS_SHAPE_AOT_FILE) &&
        rs_shape_entry_name(keep->to.path + keep->to.name)) {
        verdict = keep_entry(keep, fromfd, from);
    }
    if (keep->result == 0) {
        errno = saved;
    }
    return verdict;
}

/* ---- after the real call -----------------------------------------------------------------------
 */

static bool remove_file(int fd, const char *name, void *context)
{
    (void)context;
    rs_sys_unlinkat(fd, name, 0);
    return true;
}

/* Removes a bundle's directory: plain files, one level. */
static void remove_bundle(int dirfd, const char *path)
{
    int fd = rs_sys_openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd >= 0) {
        rs_dir_each(fd, remove_file, NULL);
        rs_sys_close(fd);
        rs_sys_unlinkat(dirfd, path, AT_REMOVEDIR);
    }
}

int rs_keep_done(struct rs_keep *keep, int fromfd, const char *from, int result)
{
    if (!keep->ours) {
        return result;
    }
    int saved = errno;
    switch (keep->to.shape) {
    case RS_SHAPE_FX_FILE:
    case RS_SHAPE_AOT_FILE:
    case RS_SHAPE_TRITON_GROUP:
        if (result == 0) {
            note_store(&keep->to);
        } else {
            lease_failed(&keep->to);
        }
        break;
    case RS_SHAPE_TRITON_DIR:
        /* Ranks that hit one FX key at once all emit its bundle. The later ones meet a filled
         * directory: torch 2.6 and 2.7 die of that, later ones leave their directory behind. */
        if (result != 0 && (saved == ENOTEMPTY || saved == EEXIST) && rs_shape_bundle(from)) {
            remove_bundle(fromfd, from);
            rs_count(RS_C_rename_races, 1);
            return 0;
        }
        break;
    default:
        break;
    }
    errno = saved;
    return result;
}
