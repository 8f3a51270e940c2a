/* SPDX-License-Identifier: Apache-2.0
 *
 * The next definition of every hook, by name: rs_next.open is what open() would have been without
 * us (libc's, or another preloaded library's).
 */
#ifndef RS_HOOK_TABLE_H
#define RS_HOOK_TABLE_H

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Hooks lie together, apart from what they rarely call. */
#define RS_EXPORT __attribute__((visibility("default"), hot))

struct rs_next {
#define RS_HOOK(name, type, parameters) type(*name) parameters;
#include "hook/hooks.def"
#undef RS_HOOK
};
extern struct rs_next rs_next;

/* Looks all of them up. The constructor does; a hook that runs before it asks through RS_NEXT. */
void rs_next_init(void);

/* The next definition, looked up now if the constructor has not run yet; NULL where libc has none.
 */
#define RS_NEXT(name)                                                                              \
    (__builtin_expect(rs_next.name != NULL, 1) ? rs_next.name : (rs_next_init(), rs_next.name))

#endif
