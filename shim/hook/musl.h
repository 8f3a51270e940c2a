/* SPDX-License-Identifier: Apache-2.0
 *
 * Under musl the library only has to stay out of the way: it is never on there, but its names stand
 * in front of musl's, and a program that does not start because of us would be worse than useless.
 */
#ifndef RS_HOOK_MUSL_H
#define RS_HOOK_MUSL_H

#include <dlfcn.h>
#include <stdbool.h>

/* musl's loader ends the program at a name that it does not know, unless it is weak. Whoever uses
 * dlvsym includes this. */
#pragma weak dlvsym

/* Whether the libc is glibc; only there does a constructor get main()'s arguments, and only there
 * is anything switched on. May be asked at any time. */
bool rs_glibc(void);

/* The dlsym of a libc that has no dlvsym to ask for it, or NULL. May be called at any time. */
void *rs_musl_dlsym(void);

#endif
