/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/keep.h"

#include "base/dir.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "rank/count.h"
#include "rank/keep_lease.h"
#include "rank/keep_place.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/refusal.h"
#include "rank/tuned.h"
#include "rank/tuned_map.h"
#include "rank/tuning.h"
#include "rank/view.h"

#include <string.h>

/* ---- canonical form ----------------------------------------------------------------------------
 */

/* The file that is to get the name: by its path, or by descriptor alone (linkat). */
static int open_source(const struct rs_keep_call *call, int flags)
{
    if (call->flags & AT_EMPTY_PATH && (!call->from || !*call->from)) {
        return rs_fd_reopen(call->fromfd, flags | O_NONBLOCK);
    }
    int follow = call->flags & AT_SYMLINK_FOLLOW ? 0 : O_NOFOLLOW;
    return rs_sys_openat(call->fromfd, call->from, flags | follow | O_CLOEXEC | O_NONBLOCK, 0);
}

static bool stat_source(const struct rs_keep_call *call, struct stat *out)
{
    int follow = call->flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW;
    return rs_sys_fstatat(call->fromfd, call->from, out, follow | (call->flags & AT_EMPTY_PATH)) ==
           0;
}

static void remove_source(const struct rs_keep_call *call)
{
    if (call->how != RS_KEEP_LINK) {
        rs_sys_unlinkat(call->fromfd, call->from, 0);
    }
}

/* The mark makes every process hand the entry out as it is. */
static bool mark_private(const struct rs_keep_call *call, const struct rs_known *known)
{
    char mark[RS_MARK_MAX], tail[RS_MARK_MAX];
    struct stat st;
    size_t length = rs_mark_write(known->ordinal, mark);
    int fd = open_source(call, O_RDWR | O_APPEND);
    if (fd < 0) {
        return false;
    }
    bool done = rs_sys_fstat(fd, &st) == 0;
    /* A file that is linked or renamed a second time has its mark. */
    bool marked = done && st.st_size > (off_t)length &&
                  rs_sys_pread(fd, tail, length, st.st_size - (off_t)length) == (ssize_t)length &&
                  memcmp(tail, mark, length) == 0;
    done = done && (marked || (rs_sys_file_fits((uint64_t)st.st_size + length) &&
                               rs_sys_write(fd, mark, length) == (ssize_t)length));
    return rs_sys_close(fd) == 0 && done;
}

static enum rs_keep_verdict drop(struct rs_keep *keep, const struct rs_keep_call *call,
                                 enum rs_reason reason)
{
    remove_source(call);
    rs_count(RS_C_stores_dropped, 1);
    rs_count_refusal(reason);
    rs_node_event(RS_EVENT_REFUSED, rs_where_kind(&keep->to), &keep->to.key, (uint64_t)reason);
    rs_log("not stored: %s: %s", keep->to.path, rs_reason_text(reason));
    rs_keep_failed(&keep->to);
    return RS_KEEP_ANSWERED;
}

/* The rewritten copy takes the place of what the program wanted to put there. */
static enum rs_keep_verdict replace(struct rs_keep *keep, const struct rs_keep_call *call,
                                    const struct rs_pieces *pieces, const struct stat *source)
{
    int error = rs_place(&keep->to, pieces, source,
                         call->how == RS_KEEP_RENAME ? RS_PLACE_OVER : RS_PLACE_NEW);
    if (error == 0) {
        rs_count(RS_C_stores_rewritten, 1);
        remove_source(call);
        rs_keep_stored(&keep->to);
        return RS_KEEP_ANSWERED;
    }
    bool faster = error == EEXIST && call->how != RS_KEEP_RENAME; /* somebody else was */
    if (!faster && !rs_place_native_error(error)) {
        return drop(keep, call, RS_REFUSED_not_canonical);
    }
    if (!faster) {
        rs_keep_failed(&keep->to);
    }
    keep->result = -1;
    errno = error;
    return RS_KEEP_ANSWERED;
}

/* An entry under a shared key, or one out of a blob (its key was not hashed here). */
static enum rs_keep_verdict canonicalise(struct rs_keep *keep, const struct rs_keep_call *call,
                                         int source, const struct rs_known *known)
{
    struct rs_arena arena;
    struct rs_bytes bytes;
    struct rs_pieces pieces;
    struct rs_report report;
    struct stat st;
    uint8_t torch_key[RS_TORCH_KEY_SIZE];
    enum rs_keep_verdict verdict;

    rs_rewrite_arena(&arena);
    if (!rs_read_whole(source, &arena, &bytes) || rs_sys_fstat(source, &st) != 0) {
        verdict = drop(keep, call, RS_REFUSED_limit);
        goto out;
    }
    enum rs_reason refusal =
        rs_ordinal_rewrite(&arena, bytes, rs_where_kind(&keep->to),
                           rs_torch_key(torch_key) ? torch_key : NULL, 0, &pieces, &report);
    enum rs_reason reason = rs_keep_refusal(&report, known);
    rs_tuning_expects(&report);
    if (report.private_ordinal >= 0) {
        verdict = RS_KEEP_PASS;
    } else if (reason != RS_OK || refusal != RS_OK) {
        verdict = drop(keep, call, reason ? reason : refusal);
    } else if (rs_report_ordinal(&report) <= 0) {
        verdict = RS_KEEP_PASS; /* canonical as it is */
    } else {
        rs_tuned_learn(&report, 0, rs_tuned_in_place(rs_torch_minor()));
        verdict = replace(keep, call, &pieces, &st);
        rs_count(RS_C_kernel_names_left, report.kernels_left);
    }
out:
    rs_arena_free(&arena);
    return verdict;
}

/* An AOT entry under a native key goes to the disk as it is or not at all. */
static enum rs_keep_verdict check_native(struct rs_keep *keep, const struct rs_keep_call *call,
                                         int source, const struct rs_known *known)
{
    struct rs_arena arena;
    struct rs_bytes bytes;
    struct rs_report report;
    enum rs_reason reason = RS_REFUSED_limit;
    rs_rewrite_arena(&arena);
    if (rs_read_whole(source, &arena, &bytes)) {
        (void)rs_ordinal_scan(&arena, bytes, rs_where_kind(&keep->to), &report);
        reason = rs_keep_refusal(&report, known);
    }
    rs_arena_free(&arena);
    return reason == RS_OK ? RS_KEEP_PASS : drop(keep, call, reason);
}

/* Things that are no entry, or change nothing: the real call says what there is to say. */
static bool nothing_to_do(const struct rs_keep *keep, const struct rs_keep_call *call)
{
    struct stat from, to;
    if (!stat_source(call, &from) || !S_ISREG(from.st_mode)) {
        return true;
    }
    if (rs_sys_fstatat(AT_FDCWD, keep->to.path, &to, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    /* Two names of one file: rename() does nothing then. The others say EEXIST. */
    return call->how != RS_KEEP_RENAME || (from.st_dev == to.st_dev && from.st_ino == to.st_ino);
}

/* Another tool may keep files of its own beside the entries. */
static bool may_be_entry(const struct rs_keep *keep, int source)
{
    uint8_t head[2] = {0, 0};
    return rs_shape_entry_hash(keep->to.path + keep->to.name) ||
           (rs_sys_pread(source, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
            rs_pickle_begins((struct rs_bytes){head, sizeof(head)}));
}

static enum rs_keep_verdict keep_entry(struct rs_keep *keep, const struct rs_keep_call *call)
{
    struct rs_known known = rs_known_find(&keep->to.key);
    bool native = known.treatment == RS_TREAT_NATIVE;
    if (native && (keep->to.shape != RS_SHAPE_AOT_FILE || !rs_known_moved())) {
        return RS_KEEP_PASS;
    }
    if (call->how == RS_KEEP_RENAME_ODD && call->from) {
        keep->result = -1;
        errno = EINVAL; /* what a file system says that knows no exchange */
        return RS_KEEP_ANSWERED;
    }
    if (nothing_to_do(keep, call)) {
        return RS_KEEP_PASS;
    }
    int source = open_source(call, O_RDONLY);
    if (source < 0) {
        /* It was there a moment ago: unreadable, or no descriptor is left. Unseen, it is not
         * stored.
         */
        return errno == ENOENT ? RS_KEEP_PASS : drop(keep, call, RS_REFUSED_not_canonical);
    }
    enum rs_keep_verdict verdict = RS_KEEP_PASS;
    if (!may_be_entry(keep, source)) {
        keep->ours = false;
    } else if (native) {
        verdict = check_native(keep, call, source, &known);
    } else if (known.treatment != RS_TREAT_PRIVATE) {
        verdict = canonicalise(keep, call, source, &known);
    } else if (mark_private(call, &known)) {
        rs_count(RS_C_stores_private, 1);
    } else {
        verdict = drop(keep, call, RS_REFUSED_not_canonical);
    }
    rs_sys_close(source);
    return verdict;
}

/* Whether PATH is the name of an entry in a managed cache. With a slash behind it no file can have
 * it: the kernel knows what to say. */
static bool entry_place(int dirfd, const char *path, struct rs_where *where, bool *managed)
{
    *managed = rs_where(dirfd, path, where);
    return *managed && path[strlen(path) - 1] != '/' &&
           (where->shape == RS_SHAPE_FX_FILE || where->shape == RS_SHAPE_AOT_FILE) &&
           rs_shape_entry_name(where->path + where->name);
}

enum rs_keep_verdict rs_keep_begin(struct rs_keep *keep, const struct rs_keep_call *call)
{
    int saved = errno;
    enum rs_keep_verdict verdict = RS_KEEP_PASS;
    bool entry = entry_place(call->tofd, call->to, &keep->to, &keep->ours);
    keep->result = 0;
    if (keep->ours && keep->to.shape == RS_SHAPE_CONFIG && rs_primary() >= 0 &&
        rs_tuned_save(&keep->to, call)) {
        rs_tuning_saved(&keep->to);
        verdict = RS_KEEP_ANSWERED;
    }
    if (!entry && call->how == RS_KEEP_RENAME_ODD && call->from) {
        entry = entry_place(call->fromfd, call->from, &keep->to, &keep->ours);
    }
    if (entry) {
        verdict = keep_entry(keep, call);
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

int rs_keep_done(struct rs_keep *keep, const struct rs_keep_call *call, int result)
{
    if (!keep->ours) {
        return result;
    }
    int saved = errno;
    switch (keep->to.shape) {
    case RS_SHAPE_FX_FILE:
    case RS_SHAPE_AOT_FILE:
    case RS_SHAPE_TRITON_GROUP:
        if (!rs_shape_entry_name(keep->to.path + keep->to.name)) {
            break; /* on its way still */
        }
        if (result == 0) {
            rs_keep_stored(&keep->to);
        } else {
            rs_keep_failed(&keep->to);
        }
        break;
    case RS_SHAPE_CONFIG:
        if (result == 0 && rs_primary() >= 0) {
            rs_tuned_saved(&keep->to);
            rs_tuning_saved(&keep->to);
        }
        break;
    case RS_SHAPE_TRITON_TUNED:
        if (result == 0) {
            rs_tuning_saved(&keep->to);
        }
        break;
    case RS_SHAPE_TRITON_DIR:
        /* Ranks that hit one FX key at once all emit its bundle. The later ones meet a filled
         * directory: torch 2.6 and 2.7 die of that, later ones leave their directory behind. */
        if (result != 0 && (saved == ENOTEMPTY || saved == EEXIST) && rs_shape_bundle(call->from)) {
            remove_bundle(call->fromfd, call->from);
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
