/* SPDX-License-Identifier: Apache-2.0
 *
 * What the file hooks share. They decide nothing: a cheap filter, then rank/look.h and rank/keep.h.
 *
 * Each hook is two functions, so that the one every open() of a job passes through stays small: the
 * slow one has a path buffer on its stack.
 */
#ifndef RS_HOOK_FILE_H
#define RS_HOOK_FILE_H

#include "base/state.h"
#include "base/sys.h"
#include "hook/python.h"
#include "hook/table.h"
#include "rank/keep.h"
#include "rank/look.h"
#include "rank/redirect.h"
#include "route/shape.h"

/* libc declares paths nonnull, and compilers then drop the check for NULL in our definitions of its
 * functions; programs do pass NULL and expect EFAULT (Rust's standard library asks statx so). */
#define RS_MAY_BE_NULL(pointer) __asm__("" : "+r"(pointer))

#define RS_SLOW static __attribute__((noinline))

/* Whether a path is worth a closer look: the library is on, this is a Python whose hashes we see
 * (nobody else has views or leases), and the last component could be a cache's or the path leads to
 * where another directory's files are to be found. */
static inline bool rs_watch(const char *path)
{
    RS_MAY_BE_NULL(path);
    return rs_on() && rs_python_seen() && path && (rs_shape_maybe(path) || rs_redirect_here(path));
}

static inline bool rs_watch_directory(const char *path)
{
    RS_MAY_BE_NULL(path);
    return rs_on() && rs_python_seen() && path && rs_shape_maybe_directory(path);
}

/* Before the constructor: nothing is set up, so the hook is the system call. */
static inline bool rs_early(void)
{
    return __builtin_expect(atomic_load_explicit(&rs_phase, memory_order_relaxed) == RS_EARLY, 0);
}

#endif
