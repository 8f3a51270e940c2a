/* SPDX-License-Identifier: Apache-2.0
 *
 * librankshare.so and the environment it wants.
 */
#ifndef RS_TOOLS_LIBRARY_H
#define RS_TOOLS_LIBRARY_H

#include <stdbool.h>

/* Absolute path of the library: GIVEN (--library), else beside the program, in ../lib, in the
 * directory named at build time. NULL, with a message, when there is none or ld.so could not take
 * its path. The caller frees it. */
char *library_find(const char *given);

/* Puts the library before what LD_PRELOAD holds and switches it on, in this process's environment.
 */
void library_enable(const char *path);

/* Why the file at PATH can't be preloaded into programs of this machine, as "is no shared object";
 * NULL: nothing was found. */
const char *library_flaw(const char *path);

#endif
