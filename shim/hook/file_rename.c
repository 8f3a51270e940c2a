/* SPDX-License-Identifier: Apache-2.0
 *
 * rename and link: how an entry gets its final name.
 */
#include "hook/file.h"

#define KEEP_HOOK(name, declaration, arguments, fromfd, tofd, how, early)                          \
    RS_SLOW int watched_##name declaration                                                         \
    {                                                                                              \
        struct rs_keep keep;                                                                       \
        if (rs_keep_begin(&keep, fromfd, from, tofd, to, how) == RS_KEEP_ANSWERED) {               \
            return keep.result;                                                                    \
        }                                                                                          \
        return rs_keep_done(&keep, fromfd, from, RS_NEXT(name) arguments);                         \
    }                                                                                              \
    RS_EXPORT int name declaration                                                                 \
    {                                                                                              \
        if (rs_early()) {                                                                          \
            return (int)early;                                                                     \
        }                                                                                          \
        return rs_watch(to) ? watched_##name arguments : RS_NEXT(name) arguments;                  \
    }

static enum rs_keep_how how_of(unsigned flags)
{
    if (flags & RENAME_EXCHANGE) {
        return RS_KEEP_EXCHANGE;
    }
    return flags & RENAME_NOREPLACE ? RS_KEEP_RENAME_NEW : RS_KEEP_RENAME;
}

KEEP_HOOK(rename, (const char *from, const char *to), (from, to), AT_FDCWD, AT_FDCWD,
          RS_KEEP_RENAME, syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0))
KEEP_HOOK(renameat, (int fromfd, const char *from, int tofd, const char *to),
          (fromfd, from, tofd, to), fromfd, tofd, RS_KEEP_RENAME,
          syscall(SYS_renameat2, fromfd, from, tofd, to, 0))
KEEP_HOOK(renameat2, (int fromfd, const char *from, int tofd, const char *to, unsigned flags),
          (fromfd, from, tofd, to, flags), fromfd, tofd, how_of(flags),
          syscall(SYS_renameat2, fromfd, from, tofd, to, flags))
KEEP_HOOK(link, (const char *from, const char *to), (from, to), AT_FDCWD, AT_FDCWD, RS_KEEP_LINK,
          syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0))
KEEP_HOOK(linkat, (int fromfd, const char *from, int tofd, const char *to, int flags),
          (fromfd, from, tofd, to, flags), fromfd, tofd, RS_KEEP_LINK,
          syscall(SYS_linkat, fromfd, from, tofd, to, flags))
