/* SPDX-License-Identifier: Apache-2.0
 *
 * The linker's --wrap=getenv: libnettle's constructor asks the environment which implementation to
 * use, and bash's getenv() is not ready at that time. Inside the library getenv answers "not set";
 * who really means it calls __real_getenv.
 *
 * --wrap=__fprintf_chk: what that constructor would print if the environment asked it to. It never
 * does, and musl has no such function.
 */
#ifndef RS_HOOK_WRAP_H
#define RS_HOOK_WRAP_H

char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);
int __wrap___fprintf_chk(void *stream, int flag, const char *format, ...);

#endif
