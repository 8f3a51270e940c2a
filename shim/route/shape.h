/* SPDX-License-Identifier: Apache-2.0
 *
 * What a path looks like. Inductor's and Triton's caches are recognised by the shape of a path's
 * last components, before anything is paid for: this runs at every open() and stat() of a job.
 * Pure; thread and fork safe. Layouts: docs/formats.md.
 */
#ifndef RS_ROUTE_SHAPE_H
#define RS_ROUTE_SHAPE_H

#include "route/key.h"

#include <stdbool.h>
#include <stddef.h>

enum rs_shape {
    RS_SHAPE_NONE,
    RS_SHAPE_FX_DIR,       /* <root>/fxgraph/<xx>/<key> */
    RS_SHAPE_FX_FILE,      /* <root>/fxgraph/<xx>/<key>/<hash of the content> */
    RS_SHAPE_AOT_DIR,      /* <root>/aotautograd/<key> */
    RS_SHAPE_AOT_FILE,     /* <root>/aotautograd/<key>/<hash of the content>, or /entry up to 2.7 */
    RS_SHAPE_TRITON_DIR,   /* <triton root>/<key> */
    RS_SHAPE_TRITON_GROUP, /* <triton root>/<key>/__grp__<name>.json */
    RS_SHAPE_TRITON_FILE,  /* <triton root>/<key>/<any other name>: a file of the kernel */
    RS_SHAPE_TRITON_TMP,   /* <triton root>/tmp.<uuid>: a bundle on its way to <key> */
    RS_SHAPE_TRITON_LINK,  /* <root>/triton/<ordinal or None> */
    RS_SHAPE_TRITON_TUNED, /* <triton root>/<key>/<name>.autotune.json */
    RS_SHAPE_CONFIG,       /* <root>/<xx>/<key>.best_config: an autotuning result; in torch 2.4 and
                              2.5 <root>/<xx>/<kernel>.best_config */
};

struct rs_parts {
    enum rs_shape shape;
    size_t root;       /* length of the <root> or <triton root> part, without the slash behind it */
    const char *name;  /* the last component: points into the path */
    struct rs_key key; /* where the shape has one */
};

/* Whether the last component could belong to a cache at all: a length and a few characters. False
 * means RS_SHAPE_NONE; true means nothing yet. PATH must not be NULL. */
__attribute__((hot)) bool rs_shape_maybe(const char *path);

/* The same for directories, where a bare ordinal behind a descriptor counts, too: mkdirat(triton,
 * "3"). */
bool rs_shape_maybe_directory(const char *path);

/* A directory above the keys: <...>/fxgraph or <...>/fxgraph/<xx> is RS_SHAPE_FX_DIR,
 * <...>/aotautograd is RS_SHAPE_AOT_DIR; anything else RS_SHAPE_NONE. */
enum rs_shape rs_shape_above(const char *path);

/* Whether the last component of PATH is "tmp." and a uuid: a kernel's bundle on its way to its key.
 */
bool rs_shape_bundle(const char *path);

/* Whether NAME is that of a kernel's group file. */
bool rs_shape_group_name(const char *name);

/* Splits an absolute PATH whose last components are plain names. RS_SHAPE_NONE when they do not
 * look like a cache, or when "." or ".." or an empty name is among them: then the caller resolves
 * the path's directory and asks again. */
void rs_shape_split(const char *path, struct rs_parts *parts);

/* Whether NAME is a file that a cache shows to readers, not one on its way (".<pid>.<tid>.tmp"). */
bool rs_shape_entry_name(const char *name);

/* Whether NAME is one that torch itself gives to entries: 51 characters of base32, or "entry". */
bool rs_shape_entry_hash(const char *name);

#endif
