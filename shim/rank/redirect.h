/* SPDX-License-Identifier: Apache-2.0
 *
 * A cache directory in which this process can't write is redirected whole: its variable names a
 * private directory below RANKSHARE_DIR instead, before the program has read it, and what the
 * program looks for there and lies in the other one is copied at that moment. So it finds what it
 * would have found, and can store what it has to compile. docs/directory.md has the rules.
 *
 * Thread and fork safe; errno is preserved.
 */
#ifndef RS_RANK_REDIRECT_H
#define RS_RANK_REDIRECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A variable's directory and what stands in for it. */
struct rs_redirect {
    const char *to, *from; /* without a slash behind them */
    size_t to_size, from_size;
};

/* In the constructor of a Python, before anybody has read ENVP (the process's own environment,
 * whose strings are replaced). Raw system calls and no memory but its own. */
void rs_redirect_init(char **envp);

extern _Atomic(int) rs_redirects; /* how many there are; written by the constructor */

/* The one below whose private directory PATH lies; NULL: none. */
const struct rs_redirect *rs_redirect_find(const char *path);

/* The Ith of them; NULL: no more. */
const struct rs_redirect *rs_redirect_at(int i);

/* Whether a look at PATH is to be told to rs_redirect_bring(). Stands in front of every open(). */
static inline bool rs_redirect_here(const char *path)
{
    return __builtin_expect(atomic_load_explicit(&rs_redirects, memory_order_relaxed) != 0, 0) &&
           rs_redirect_find(path) != NULL;
}

/* The program looks for PATH: if nothing lies there, and something in the directory that was
 * redirected, it is copied: a file; all entries of a key; a kernel with all its files. Paths inside
 * follow as far as they are understood; the others lead to where they have always led. */
void rs_redirect_bring(const char *path);

#endif
