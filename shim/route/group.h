/* SPDX-License-Identifier: Apache-2.0
 *
 * A Triton kernel's group file, `__grp__<name>.json`: it names the kernel's other files by absolute
 * path, and a kernel whose group file names a file that is not there is no kernel. Pure; thread and
 * fork safe.
 */
#ifndef RS_ROUTE_GROUP_H
#define RS_ROUTE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

enum {
    RS_CHILDREN_MAX = 32,
    RS_GROUP_SIZE_MAX = 256 * 1024, /* of the file */
};

struct rs_children {
    unsigned count;
    struct {
        const char *name; /* in the text that was read; no slash in it, and no dot in front */
        size_t size;
    } children[RS_CHILDREN_MAX];
};

/* Reads TEXT as Python's json.dumps writes it: one object with the key child_paths, whose value is
 * an object from names to paths. Each path must be <something>/FOLDER/<name>: files of the kernel's
 * own directory. False for everything else: escapes, another key, two children of one name. */
bool rs_group_read(const char *text, size_t size, const char *folder, struct rs_children *group);

/* The group file for a kernel in DIRECTORY (absolute), as json.dumps would write it. Returns its
 * size, or 0 when ROOM is too small or the path would have to be escaped. */
size_t rs_group_write(const struct rs_children *group, const char *directory, char *out,
                      size_t room);

#endif
