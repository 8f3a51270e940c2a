/* SPDX-License-Identifier: Apache-2.0
 *
 * Swapping one function pointer in a table of CPython's for a wrapper of ours, with every check of
 * the table's layout first. The tables are static data of the modules, outlive every interpreter
 * and are shared by all subinterpreters, so a swap is made once and never undone.
 *
 * Thread safe without a lock: the old pointer is read once, kept as the wrapper's original, and
 * replaced by compare-and-swap. Reading it twice could keep the wrapper as its own original.
 */
#ifndef RS_HOOK_PYTHON_SWAP_H
#define RS_HOOK_PYTHON_SWAP_H

#include "hook/python_api.h"

#include <stdatomic.h>

enum {
    RS_METH_O = 0x08,
    RS_METH_FASTCALL_KEYWORDS = 0x82,
};

/* A wrapper and the one function that it stands for. Never two: a second table with another
 * function is left alone. */
struct rs_swap {
    void *wrapper;
    _Atomic(void *) original;
};

/* In order of what a module's result is when its parts differ. */
enum rs_swapped { RS_SWAPPED_ALREADY, RS_SWAPPED, RS_SWAP_REFUSED };

static inline enum rs_swapped rs_swapped_both(enum rs_swapped a, enum rs_swapped b)
{
    return a > b ? a : b;
}

/* Swaps the function pointer in *SLOT, which the caller knows to be writable. */
enum rs_swapped rs_swap_slot(struct rs_swap *swap, void **slot);

/* One wanted entry of a module's method table. */
struct rs_method {
    const char *name;
    struct rs_swap *swap;
};

/* Swaps COUNT entries, each METH_FASTCALL|METH_KEYWORDS, in the method table of the module NAME,
 * all of them or (but for a race with somebody else's writes) none. DEF: its PyModuleDef. */
enum rs_swapped rs_swap_methods(const struct rs_python *py, rs_py *def, const char *name,
                                const struct rs_method *methods, size_t count);

/* Swaps the METH_O method NAME of TYPE. Called without an error set, leaves none. */
enum rs_swapped rs_swap_method_of_type(const struct rs_python *py, rs_py *type, const char *name,
                                       struct rs_swap *swap);

/* The PyModuleDef of what an initialiser returned (itself, or that of a finished module), or NULL.
 * Called without an error set, leaves none. */
rs_py *rs_module_def(const struct rs_python *py, rs_py *result);

#endif
