/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a path lies: its shape, and whether its root is one that the library manages. Costs a few
 * system calls, so rs_shape_maybe() must have said yes first.
 */
#ifndef RS_RANK_WHERE_H
#define RS_RANK_WHERE_H

#include "route/shape.h"
#include "store/store.h"
#include <rankshare/names.h>

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct rs_where {
    enum rs_shape shape;
    struct rs_key key;
    uint64_t dev, ino;   /* of the root: <root> for FX and AOT, <triton root> for Triton shapes */
    size_t root;         /* length of the root part of PATH */
    size_t name;         /* offset of the last component in PATH */
    char path[PATH_MAX]; /* absolute; its last components are plain names */
};

/* What the entry by one of the *_FILE shapes is. */
static inline enum rs_kind rs_where_kind(const struct rs_where *where)
{
    return where->shape == RS_SHAPE_FX_FILE ? RS_KIND_fx_entry : RS_KIND_aot_entry;
}

/* What a lease would be about there: the key of an FX, AOT or Triton shape, whether file or
 * directory. */
struct rs_place rs_where_place(const struct rs_where *where);

/* Whether that is so: the other shapes are about no key's place. */
static inline bool rs_where_leased(const struct rs_where *where)
{
    switch (where->shape) {
    case RS_SHAPE_TRITON_FILE:
    case RS_SHAPE_TRITON_TMP:
    case RS_SHAPE_TRITON_LINK:
    case RS_SHAPE_TRITON_TUNED:
    case RS_SHAPE_CONFIG:
        return false;
    default:
        return true;
    }
}

/* Whether the key's directory PATH holds an entry: it may be there without one, when the producer
 * is at work or was killed. */
bool rs_where_holds_entry(const char *path);

/* Fills WHERE and returns true when PATH (relative to DIRFD) belongs to a managed cache. The root
 * need not hold anything yet, but must exist, except for RS_SHAPE_TRITON_LINK. On false only the
 * shape is set, RS_SHAPE_NONE. errno is preserved. Thread and fork safe. */
bool rs_where(int dirfd, const char *path, struct rs_where *where);

#endif
