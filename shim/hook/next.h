/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the functions behind our hooks. All may be used before the constructor has run, and none
 * ever meets our own dlsym. They take the loader lock and, as every dl* call does, forget a pending
 * dlerror(): ask once and keep the answer.
 */
#ifndef RS_HOOK_NEXT_H
#define RS_HOOK_NEXT_H

typedef void *rs_dlsym_fn(void *handle, const char *name);

/* libc's dlsym, or NULL when this libc has none under a version that we know. */
rs_dlsym_fn *rs_real_dlsym(void);

/* The definition of NAME that comes after this library in the search order, or NULL. */
void *rs_next_symbol(const char *name);

/* NAME as the whole program sees it (RTLD_DEFAULT), else as HANDLE does (NULL: not asked), or NULL.
 */
void *rs_find_symbol(void *handle, const char *name);

#endif
