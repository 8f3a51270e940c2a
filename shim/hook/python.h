/* SPDX-License-Identifier: Apache-2.0
 *
 * How the library gets into a Python: it takes the initialisers of the hash modules, in the
 * exported table of built-in modules or when the import machinery looks them up with dlsym, and
 * then swaps entries of their method tables (python_swap.h) for the wrappers of digest.c.
 * docs/digest.md has the whole story.
 */
#ifndef RS_HOOK_PYTHON_H
#define RS_HOOK_PYTHON_H

#include <stdatomic.h>
#include <stdbool.h>

/* Written by python.c alone. Readers ask rs_python_seen(). */
extern _Atomic(bool) rs_python_found;

/* Whether this program is a Python, or linked with one (one that is loaded later is not seen here).
 */
bool rs_python_linked(void);

/* A step of the library's constructor, when it is on: takes the built-in table of a Python that is
 * there already. Calls nothing of Python's; nothing at all happens in other programs. */
void rs_python_init(void);

/* Whether this process is a Python whose hash modules are (or are going to be) watched: a method
 * table was swapped, or an entry of the built-in table was. */
static inline bool rs_python_seen(void)
{
    return atomic_load_explicit(&rs_python_found, memory_order_relaxed);
}

/* For the dlsym hook (rs_dlsym_swap). */
void *rs_python_swap_init(void *handle, const char *name, void *found); /* PyInit_<hash module> */
void *rs_python_swap_late(void *handle, const char *name, void *found); /* Py_Initialize... */
void *rs_python_look(void *handle, const char *name, void *found);      /* any other PyInit_ */

#endif
