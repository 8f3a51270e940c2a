/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/tuned.h"

#include "base/sys.h"
#include "rank/count.h"
#include "rank/keep_place.h"
#include "rank/known.h"
#include "rank/redirect.h"
#include "rank/share.h"
#include "rank/tuned_map.h"
#include "rank/tuned_text.h"
#include "rank/view.h"

#include <stdio.h>
#include <string.h>

enum { RESULT_MAX = 1 << 16 }; /* bytes; torch writes some 300 */

/* A result's two names, relative to the cache's root. */
struct names {
    int root;
    const char *own;
    char shared[RS_TUNED_NAME + 1];
    bool one;      /* both are the same: on cuda:0, or where no other is known */
    bool in_place; /* torch writes the file itself: no two names may be one file */
};

/* WHERE's path is cut for the time of a call: a second one would be too much for a small thread's
 * stack. */
static bool open_names(struct names *names, struct rs_where *where)
{
    names->own = where->path + where->root + 1;
    names->one = !rs_tuned_shared(&where->key, names->shared);
    if (names->one) {
        snprintf(names->shared, sizeof(names->shared), "%s", names->own);
    }
    names->one = names->one || strcmp(names->own, names->shared) == 0;
    names->in_place = rs_tuned_in_place(rs_torch_minor());
    where->path[where->root] = '\0';
    names->root = rs_sys_openat(AT_FDCWD, where->path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    where->path[where->root] = '/';
    return names->root >= 0;
}

/* WHERE's name becomes that of all ranks (of the same length), or again its own, OWN. */
static bool rename_to_shared(struct rs_where *where, const struct names *names,
                             char own[RS_TUNED_NAME + 1])
{
    char *name = where->path + where->root + 1;
    size_t size = strlen(name);
    if (size > RS_TUNED_NAME || size != strlen(names->shared)) {
        return false;
    }
    memcpy(own, name, size + 1);
    memcpy(name, names->shared, size);
    return true;
}

static void rename_back(struct rs_where *where, const char *own)
{
    memcpy(where->path + where->root + 1, own, strlen(own));
}

/* What the program looks for is brought already: by the name that all share it may lie there, too.
 */
static void bring_shared(struct rs_where *where, const struct names *names)
{
    char own[RS_TUNED_NAME + 1];
    if (!names->one && rs_redirect_here(where->path) && rename_to_shared(where, names, own)) {
        rs_redirect_bring(where->path);
        rename_back(where, own);
    }
}

struct result {
    struct rs_arena arena;
    struct rs_bytes bytes;
    struct rs_tuned_text text;
    uint64_t dev, ino;
};

/* Reads the result NAME; true when it is a good one. The arena must be freed in any case. */
static bool read_result(int dirfd, const char *name, struct result *result)
{
    struct stat st;
    *result = (struct result){.dev = 0};
    rs_arena_init(&result->arena, 4 * RESULT_MAX);
    int fd = rs_sys_openat(dirfd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    bool good = rs_sys_fstat(fd, &st) == 0 && st.st_size <= RESULT_MAX &&
                rs_read_whole(fd, &result->arena, &result->bytes) &&
                rs_tuned_read(result->bytes, &result->text);
    rs_sys_close(fd);
    if (good) {
        result->dev = st.st_dev;
        result->ino = st.st_ino;
    }
    return good;
}

/* A name beside NAME that no program reads. Containers may share pids, hence the random part. */
static bool temporary_name(const char *name, char *out, size_t size)
{
    uint64_t salt;
    int length;
    if (syscall(SYS_getrandom, &salt, sizeof(salt), 0) != (long)sizeof(salt)) {
        return false;
    }
    length = snprintf(out, size, "%.3s.rs.%d.%016llx", name, (int)rs_sys_gettid(),
                      (unsigned long long)salt);
    return length > 0 && (size_t)length < size;
}

/* The file FROM gets the name TO, too, over whatever has it with OVER. */
static bool link_as(const struct names *names, int fromfd, const char *from, const char *to,
                    bool over)
{
    char draft[64];
    if (syscall(SYS_linkat, fromfd, from, names->root, to, 0) == 0) {
        return true;
    }
    if (errno == ENOENT) {
        char folder[4] = {to[0], to[1], '\0'};
        return (rs_sys_mkdirat(names->root, folder, 0777) == 0 || errno == EEXIST) &&
               syscall(SYS_linkat, fromfd, from, names->root, to, 0) == 0;
    }
    if (errno != EEXIST || !over || !temporary_name(to, draft, sizeof(draft)) ||
        syscall(SYS_linkat, fromfd, from, names->root, draft, 0) != 0) {
        return false;
    }
    bool done = rs_sys_renameat(names->root, draft, names->root, to) == 0;
    rs_sys_unlinkat(names->root, draft, 0); /* still there where both were names of one file */
    return done;
}

/* A copy of RESULT by the name WHERE, over whatever has it with OVER. */
static bool copy_as(const struct names *names, struct rs_where *where, const struct result *result,
                    bool over)
{
    const char *name = where->path + where->root + 1;
    char folder[4] = {name[0], name[1], '\0'};
    return (rs_sys_mkdirat(names->root, folder, 0777) == 0 || errno == EEXIST) &&
           rs_place_bytes(where, result->bytes, over ? RS_PLACE_OVER : RS_PLACE_NEW) == 0;
}

/* The shared RESULT gets this rank's name, too. */
static bool give_own(struct rs_where *where, const struct names *names, const struct result *result)
{
    return names->in_place ? copy_as(names, where, result, true)
                           : link_as(names, names->root, names->shared, names->own, true);
}

/* This rank's RESULT gets the shared name, too, if nothing has it, or OVER what has. */
static bool give_shared(struct rs_where *where, const struct names *names,
                        const struct result *result, bool over)
{
    char own[RS_TUNED_NAME + 1];
    if (!names->in_place) {
        return link_as(names, names->root, names->own, names->shared, over);
    }
    bool done = rename_to_shared(where, names, own);
    if (done) {
        done = copy_as(names, where, result, over);
        rename_back(where, own);
    }
    return done;
}

static bool is_same(const struct names *names, const struct result *a, const struct result *b)
{
    return names->in_place ? a->bytes.size == b->bytes.size &&
                                 memcmp(a->bytes.data, b->bytes.data, a->bytes.size) == 0
                           : a->dev == b->dev && a->ino == b->ino;
}

/* Gives what all share this rank's name, unless the rank has a result of its own for other
 * configurations: jobs with different settings on different devices would take turns. */
static void take_shared(struct rs_where *where, const struct names *names,
                        const struct result *shared)
{
    struct result own;
    bool good = read_result(names->root, names->own, &own);
    bool same = good && is_same(names, &own, shared);
    if (good && names->in_place && own.text.refined && !shared->text.refined &&
        rs_tuned_alike(&own.text, &shared->text)) {
        (void)give_shared(where, names, &own, true); /* later versions do so at the save */
    } else if (!same && (!good || rs_tuned_alike(&own.text, &shared->text)) &&
               give_own(where, names, shared)) {
        rs_count(RS_C_configs_taken, 1);
    }
    rs_arena_free(&own.arena);
}

bool rs_tuned_look(struct rs_where *where)
{
    struct names names;
    struct result result;
    int saved = errno;
    bool found = false;
    if (open_names(&names, where)) {
        bring_shared(where, &names);
        found = read_result(names.root, names.shared, &result);
        if (!found && rs_share_fetch_result(where, names.shared)) {
            rs_arena_free(&result.arena);
            found = read_result(names.root, names.shared, &result);
        }
        if (found && !names.one) {
            take_shared(where, &names, &result);
        }
        rs_arena_free(&result.arena);
        if (!found && !names.one) {
            found = read_result(names.root, names.own, &result) &&
                    give_shared(where, &names, &result, false);
            rs_arena_free(&result.arena);
        }
        rs_sys_close(names.root);
    }
    errno = saved;
    return found;
}

bool rs_tuned_is_there(struct rs_where *where)
{
    struct names names;
    struct stat st;
    int saved = errno;
    bool there = false;
    if (open_names(&names, where)) {
        there = rs_sys_fstatat(names.root, names.shared, &st, 0) == 0 ||
                rs_share_fetch_result(where, names.shared);
        rs_sys_close(names.root);
    }
    errno = saved;
    return there;
}

/* Whether NEW must not take the place of what is SHARED: that was measured by another process, and
 * ranks that read it before and after would differ. A refined result replaces an unrefined one. */
static bool first_stays(const struct rs_where *where, const struct result *shared,
                        const struct result *new)
{
    return rs_tuned_alike(&shared->text, &new->text) && !rs_tuned_is_ours(&where->key) &&
           (shared->text.refined || !new->text.refined);
}

/* SHARED and NEW are good. True: answered. */
static bool settle(const struct rs_where *where, const struct names *names,
                   const struct rs_keep_call *call, const struct result *shared,
                   const struct result *new)
{
    if (first_stays(where, shared, new)) {
        bool answered = names->one || link_as(names, names->root, names->shared, names->own, true);
        if (answered) {
            rs_sys_unlinkat(call->fromfd, call->from, 0);
            rs_count(RS_C_configs_second, 1);
        }
        return answered;
    }
    if (!names->one && rs_tuned_alike(&shared->text, &new->text)) {
        (void)link_as(names, call->fromfd, call->from, names->shared, true);
    }
    return false;
}

bool rs_tuned_save(struct rs_where *where, const struct rs_keep_call *call)
{
    struct names names;
    struct result new, shared;
    int saved = errno;
    bool answered = false;
    if (call->how != RS_KEEP_RENAME || !call->from || !open_names(&names, where)) {
        errno = saved;
        return false;
    }
    if (read_result(call->fromfd, call->from, &new)) {
        bool late = read_result(names.root, names.shared, &shared);
        if (!late && !names.one &&
            !link_as(&names, call->fromfd, call->from, names.shared, false)) {
            /* Somebody was faster, or something else lies there. */
            rs_arena_free(&shared.arena);
            late = read_result(names.root, names.shared, &shared);
            if (!late) {
                (void)link_as(&names, call->fromfd, call->from, names.shared, true);
            }
        }
        answered = late && settle(where, &names, call, &shared, &new);
        rs_arena_free(&shared.arena);
    }
    rs_arena_free(&new.arena);
    rs_sys_close(names.root);
    errno = saved;
    return answered;
}

void rs_tuned_saved(struct rs_where *where)
{
    struct names names;
    int saved = errno;
    if (open_names(&names, where)) {
        rs_share_publish_result(where, names.root, names.shared);
        rs_sys_close(names.root);
    }
    errno = saved;
    rs_count(RS_C_configs_stored, 1);
    rs_tuned_saved_here(&where->key);
}
