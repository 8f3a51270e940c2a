/* SPDX-License-Identifier: Apache-2.0
 *
 * rename and link: how an entry gets its final name.
 */
#include "hook/file.h"

#define KEEP_HOOK(name, declaration, arguments, fromfd, tofd, source_stays, early)                 \
    RS_SLOW int watched_##name declaration                                                         \
    {                                                                                              \
        struct rs_keep keep;                                                                       \
        if (rs_keep_begin(&keep, fromfd, from, tofd, to, source_stays) == RS_KEEP_ANSWERED) {      \
            return 0;                                                                              \
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

KEEP_HOOK(rename, (const char *from, const char *to), (from, to), AT_FDCWD, AT_FDCWD, false,
          syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0))
KEEP_HOOK(renameat, (int fromfd, const char *from, int tofd, const char *to),
          (fromfd, from, tofd, to), fromfd, tofd, false,
          syscall(SYS_renameat2, fromfd, from, tofd, to, 0))
KEEP_HOOK(renameat2, (int fromfd, const char *from, int tofd, const char *to, unsigned flags),
          (fromfd, from, tofd, to, flags), fromfd, tofd, false,
          syscall(SYS_renameat2, fromfd, from, tofd, to, flags))
KEEP_HOOK(link, (const char *from, const char *to), (from, to), AT_FDCWD, AT_FDCWD, true,
          syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0))
KEEP_HOOK(linkat, (int fromfd, const char *from, int tofd, const char *to, int flags),
          (fromfd, from, tofd, to, flags), fromfd, tofd, true,
          syscall(SYS_linkat, fromfd, from, tofd, to, flags))
