/* SPDX-License-Identifier: Apache-2.0
 *
 * The linker's --wrap=getenv: libnettle's constructor asks the environment which implementation to
 * use, and bash's getenv() is not ready at that time. Inside the library getenv answers "not set";
 * who really means it calls __real_getenv.
 */
#ifndef RS_HOOK_WRAP_H
#define RS_HOOK_WRAP_H

char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);

#endif
