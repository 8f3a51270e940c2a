/* SPDX-License-Identifier: Apache-2.0
 *
 * How the rewritten copy of an entry gets its final name: complete or not at all, and without a
 * trace when the process is killed on the way (where the file system knows files without names).
 * Thread and fork safe.
 */
#ifndef RS_RANK_KEEP_PLACE_H
#define RS_RANK_KEEP_PLACE_H

#include "ordinal/ordinal.h"
#include "rank/where.h"

#include <sys/stat.h>

enum rs_place_how {
    RS_PLACE_OVER, /* what is there goes, as with rename() */
    RS_PLACE_NEW,  /* EEXIST when something is there, as with link() and RENAME_NOREPLACE */
};

/* Writes PIECES and moves them to TO, with the owner, mode and times of the file LIKE (extended
 * attributes are not copied: caches have none), or as a new file where that is NULL. TO's path is
 * cut for the time of the call. Returns 0 or an errno. */
int rs_place(struct rs_where *to, const struct rs_pieces *pieces, const struct stat *like,
             enum rs_place_how how);

/* The same for BYTES as a new file. */
int rs_place_bytes(struct rs_where *to, struct rs_bytes bytes, enum rs_place_how how);

/* Whether ERROR is one that the program's own rename or link would have met, too: the place can't
 * take a file of any content. */
bool rs_place_native_error(int error);

#endif
