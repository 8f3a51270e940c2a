/* SPDX-License-Identifier: Apache-2.0
 *
 * A look at a managed path: stat, open for reading, opendir, access. The hook makes the real call,
 * as often as it is told to:
 *
 *     if (rs_look_begin(&look, dirfd, path, op)) {
 *         do {
 *             result = next(...);
 *         } while (rs_look_again(&look, result is good));
 *     }
 *
 * The first look at a key's place by the thread that hashed the key is where one rank becomes the
 * producer (and sees what is there: nothing) and the others wait and then look again.
 * errno of the last real call is preserved.
 */
#ifndef RS_RANK_LOOK_H
#define RS_RANK_LOOK_H

#include "rank/known.h"
#include "rank/where.h"
#include "store/store.h"

#include <stdbool.h>

enum rs_look_op {
    RS_LOOK_STAT,  /* stat, access: does it exist, how large */
    RS_LOOK_OPEN,  /* open for reading */
    RS_LOOK_WRITE, /* open of an existing file for writing, too */
    RS_LOOK_LIST,  /* opendir, scandir */
};

struct rs_look {
    enum rs_look_op op;
    struct rs_where where;
    bool first;   /* the first look of the thread that hashed the key */
    bool fetched; /* what the store has was put there, or can't be */
    struct rs_known known;
    struct rs_place place;
    enum {
        RS_LOOK_FRESH,
        RS_LOOK_PRODUCER,
        RS_LOOK_WAITED,
        RS_LOOK_PROMISED, /* waited until it was stored */
    } stage;
};

/* False: not ours; make the real call and no more. Then look->where is what rs_where() said of a
 * path that is no entry. */
bool rs_look_begin(struct rs_look *look, int dirfd, const char *path, enum rs_look_op op);

/* FOUND: whether the real call succeeded. True: make it again. */
bool rs_look_again(struct rs_look *look, bool found);

/* Before an open for reading: true when a pipe, a socket or a device stands in the place of an
 * entry (errno is ENOENT): opening it might wait for ever, and no entry can come out of it. */
bool rs_look_blocks(struct rs_look *look);

/* After a successful open for reading: puts the entry's view in FD's place (the same number and the
 * same close-on-exec flag) where one is due. False with errno set when the entry must look absent:
 * the caller closes FD. */
bool rs_look_opened(struct rs_look *look, int fd);

/* After a successful stat: true when the entry's view has another size (*SIZE); *HIDDEN when the
 * entry must look absent (then errno is ENOENT). */
bool rs_look_size(struct rs_look *look, int64_t *size, bool *hidden);

/* Before an open for writing of an existing entry: true when it must be refused (errno is EACCES):
 * the bytes on disk are not the ones this process would see. */
bool rs_look_refuse_write(struct rs_look *look);

#endif
