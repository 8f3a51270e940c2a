/* SPDX-License-Identifier: Apache-2.0
 *
 * Views: the canonical entry on disk, shown with this rank's own ordinal.
 * Thread and fork safe; memory comes from an arena and is gone on return.
 */
#ifndef RS_RANK_VIEW_H
#define RS_RANK_VIEW_H

#include "ordinal/ordinal.h"
#include "rank/known.h"
#include "rank/where.h"

#include <stdbool.h>
#include <sys/stat.h>

enum rs_view {
    RS_VIEW_RAW,    /* hand out what is on disk */
    RS_VIEW_MADE,   /* this rank's own bytes */
    RS_VIEW_FAILED, /* neither: the entry must look as if it were not there */
};

/* What a process would be shown of an entry. */
struct rs_view_want {
    int ordinal;                 /* the one to show; RS_ORDINAL_UNSURE: none */
    enum rs_treatment treatment; /* of the key in this process */
    bool unnamed;                /* the key's details name no device */
    bool behind;                 /* named by a native AOT entry whose details name no one device */
    unsigned flags;              /* enum rs_flags of ordinal/flags.h, of the key, likewise */
};

/* Whether an entry at WHERE may need a view in this process: an FX or AOT entry, looked at by an
 * ordinal above 0: that of the key's details, else the primary one. */
bool rs_view_wanted(const struct rs_where *where, struct rs_view_want *want);

/* Looks at the entry open for reading at FD and makes its view. RS_VIEW_MADE: *SIZE is its size and
 * *VIEW a read-only descriptor at offset 0, close-on-exec, with the entry's mode and times. VIEW
 * may be NULL: then only the size is found out. FD stays open and its offset unchanged. */
enum rs_view rs_view_make(int fd, const struct rs_where *where, const struct rs_view_want *want,
                          int *view, int64_t *size);

/* A descriptor like that of a view, which shows BYTES and otherwise looks like the file at FD. -1
 * on failure. errno is not preserved. */
int rs_view_of(int fd, struct rs_bytes bytes);

/* Whether views can be made at all in this process; tried once. */
bool rs_views_work(void);

/* Reads the whole file at FD into the arena. False on any error or when it is too large or changes.
 */
bool rs_read_whole(int fd, struct rs_arena *arena, struct rs_bytes *out);

/* Writes all pieces at FD's offset; they are used up then. False on any error (errno says which).
 */
bool rs_write_pieces(int fd, const struct rs_pieces *pieces);

/* Most memory that one entry may take while it is rewritten. */
enum { RS_REWRITE_MEMORY_SHIFT = 31 };
static inline void rs_rewrite_arena(struct rs_arena *arena)
{
    rs_arena_init(arena, (size_t)1 << RS_REWRITE_MEMORY_SHIFT);
}

#endif
