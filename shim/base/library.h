/* SPDX-License-Identifier: Apache-2.0
 *
 * Code and constants that came with a loaded library (or the program) and not from a compiler that
 * runs in this process.
 */
#ifndef RS_BASE_LIBRARY_H
#define RS_BASE_LIBRARY_H

#include "base/hash128.h"

#include <stdbool.h>

/* Whether AT lies in a part of a loaded object that is mapped from its file and can't be written.
 * *NAME stands for that object (its build id, else its path) and the place in it: equal in every
 * process that has loaded the same file. Nothing but the object's own headers and notes is read.
 * May take the loader's lock. Thread safe; errno is preserved. */
bool rs_library_place(const void *at, struct rs_hash128 *name);

#endif
