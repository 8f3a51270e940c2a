/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores: what happens when a file or a directory gets its final name in a managed cache. An FX or
 * AOT entry reaches the disk in canonical form or not at all; a kernel's bundle that comes second
 * is thanked and put away; triton/<ordinal> is one directory for all ordinals. Thread and fork
 * safe. errno is set as the real call would set it.
 */
#ifndef RS_RANK_KEEP_H
#define RS_RANK_KEEP_H

#include "rank/where.h"

#include <stdbool.h>
#include <sys/types.h>

enum rs_keep_verdict {
    RS_KEEP_PASS,     /* make the real call, then rs_keep_done() */
    RS_KEEP_ANSWERED, /* no real call: keep->result is the answer, with errno */
};

/* What kind of call gives the name. */
enum rs_keep_how {
    RS_KEEP_RENAME,
    RS_KEEP_RENAME_NEW, /* RENAME_NOREPLACE */
    RS_KEEP_RENAME_ODD, /* RENAME_EXCHANGE, RENAME_WHITEOUT: not for entries that might have to be
                           rewritten */
    RS_KEEP_LINK,       /* the source stays, and the target must not exist */
};

/* The call as the program made it. FROM may be NULL or anything else that the kernel refuses. */
struct rs_keep_call {
    enum rs_keep_how how;
    int fromfd;
    const char *from;
    int tofd;
    const char *to;
    int flags; /* linkat's: AT_EMPTY_PATH, AT_SYMLINK_FOLLOW */
};

struct rs_keep {
    struct rs_where to;
    int result;
    bool ours; /* TO lies in a managed cache, and what it names concerns us */
};

/* Before FROM gets the name TO. An entry that must be rewritten is put in place here. */
enum rs_keep_verdict rs_keep_begin(struct rs_keep *keep, const struct rs_keep_call *call);

/* After the real call; RESULT is its result. Returns the result to hand on. */
int rs_keep_done(struct rs_keep *keep, const struct rs_keep_call *call, int result);

/* A file or directory of a key, or one above the keys, could not be made (errno says why, and is
 * preserved): if this process is the key's producer, nobody must wait for it any longer. */
void rs_keep_lost(int dirfd, const char *path);

/* The program has opened PATH, a file beside an entry, to write what will become the entry: if this
 * process is the key's producer, its waiters watch from now on whether the store gets ahead. */
void rs_keep_writing(int dirfd, const char *path);

/* mkdir of triton/<ordinal>: true when it was answered (*RESULT, errno). */
bool rs_keep_mkdir(int dirfd, const char *path, mode_t mode, int *result);

/* Makes the directories of PATH behind its first ROOT bytes and down to END bytes, as the program
 * would: LINKS where triton/<ordinal> may be one of them. PATH is as it was on return. False, and
 * errno, at the first that is neither there nor can be made. */
bool rs_keep_mkdirs(char *path, size_t root, size_t end, bool links);

/* Whether WHERE (rs_where() filled it) is such a link: to a program that made a directory there,
 * lstat says directory. readlink is left alone, since a directory's listing calls it a link, and
 * shutil.copytree then reads where it leads. errno is preserved. */
bool rs_keep_is_link(const struct rs_where *where);

/* rmdir of such a link: true when it was answered. */
bool rs_keep_rmdir(int dirfd, const char *path, int *result);

#endif
