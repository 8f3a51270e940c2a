/* SPDX-License-Identifier: Apache-2.0
 *
 * rename and link: how an entry gets its final name.
 */
#include "hook/file.h"

#define KEEP_HOOK(name, declaration, arguments, fromfd, tofd, how, link_flags, watch, early)       \
    RS_SLOW int watched_##name declaration                                                         \
    {                                                                                              \
        struct rs_keep keep;                                                                       \
        const struct rs_keep_call call = {how, fromfd, from, tofd, to, link_flags};                \
        if (rs_keep_begin(&keep, &call) == RS_KEEP_ANSWERED) {                                     \
            return keep.result;                                                                    \
        }                                                                                          \
        return rs_keep_done(&keep, &call, RS_NEXT(name) arguments);                                \
    }                                                                                              \
    RS_EXPORT int name declaration                                                                 \
    {                                                                                              \
        if (rs_early()) {                                                                          \
            return (int)early;                                                                     \
        }                                                                                          \
        return (watch) ? watched_##name arguments : RS_NEXT(name) arguments;                       \
    }

static enum rs_keep_how how_of(unsigned flags)
{
    if (flags & ~(unsigned)RENAME_NOREPLACE) {
        return RS_KEEP_RENAME_ODD;
    }
    return flags ? RS_KEEP_RENAME_NEW : RS_KEEP_RENAME;
}

KEEP_HOOK(rename, (const char *from, const char *to), (from, to), AT_FDCWD, AT_FDCWD,
          RS_KEEP_RENAME, 0, rs_watch(to), syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0))
KEEP_HOOK(renameat, (int fromfd, const char *from, int tofd, const char *to),
          (fromfd, from, tofd, to), fromfd, tofd, RS_KEEP_RENAME, 0, rs_watch(to),
          syscall(SYS_renameat2, fromfd, from, tofd, to, 0))

/* An exchange gives two files a name. */
static bool watch_exchange(const char *from, const char *to, unsigned flags)
{
    RS_MAY_BE_NULL(to);
    return to && flags && rs_watch(from);
}

KEEP_HOOK(renameat2, (int fromfd, const char *from, int tofd, const char *to, unsigned flags),
          (fromfd, from, tofd, to, flags), fromfd, tofd, how_of(flags), 0,
          rs_watch(to) || watch_exchange(from, to, flags),
          syscall(SYS_renameat2, fromfd, from, tofd, to, flags))
KEEP_HOOK(link, (const char *from, const char *to), (from, to), AT_FDCWD, AT_FDCWD, RS_KEEP_LINK, 0,
          rs_watch(to), syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0))
KEEP_HOOK(linkat, (int fromfd, const char *from, int tofd, const char *to, int flags),
          (fromfd, from, tofd, to, flags), fromfd, tofd, RS_KEEP_LINK, flags, rs_watch(to),
          syscall(SYS_linkat, fromfd, from, tofd, to, flags))
