/* SPDX-License-Identifier: Apache-2.0
 *
 * The dlsym hook. The exported entry is assembly (dlsym_entry.S): for RTLD_DEFAULT, RTLD_NEXT and
 * while the library is off it jumps to libc's dlsym, which then sees the real caller; a frame of
 * ours in between would change what "next" means. Only lookups on a real handle come to C.
 */
#ifndef RS_HOOK_DLSYM_H
#define RS_HOOK_DLSYM_H

#include "hook/next.h"

/* Gets what libc found (never NULL) and says what the caller gets. errno and the state of dlerror()
 * are put right by the hook afterwards. */
typedef void *rs_dlsym_swap(void *handle, const char *name, void *found);

/* Exact names that are swapped: X(name, rs_dlsym_swap function). Never by prefix: libraries other
 * than the one meant use the same prefixes. */
#define RS_DLSYM_NAMES(X)                                                                          \
    X(PyInit__hashlib, rs_python_swap_init)                                                        \
    X(PyInit__sha2, rs_python_swap_init)                                                           \
    X(PyInit__sha256, rs_python_swap_init)                                                         \
    X(Py_Initialize, rs_python_swap_late)                                                          \
    X(Py_InitializeEx, rs_python_swap_late)                                                        \
    X(Py_InitializeFromConfig, rs_python_swap_late)                                                \
    X(Py_InitializeFromInitConfig, rs_python_swap_late)                                            \
    X(Py_Main, rs_python_swap_late)                                                                \
    X(Py_BytesMain, rs_python_swap_late)

/* Called by the assembly entry: a lookup on a real handle; libc's dlsym when it isn't known yet. */
void *rs_dlsym_on_handle(void *handle, const char *name);
rs_dlsym_fn *rs_dlsym_resolve(void);

#endif
