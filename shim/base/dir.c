/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"

#include "base/sys.h"

#include <string.h>

void rs_dir_each(int fd, bool (*visit)(int fd, const char *name, void *context), void *context)
{
    enum { RECLEN = 16, NAME = 19 }; /* struct linux_dirent64 */
    _Alignas(8) char buffer[2048];   /* on the stack of any thread */
    ssize_t got;
    while ((got = rs_sys_getdents(fd, buffer, sizeof(buffer))) > 0) {
        for (ssize_t at = 0; at < got;) {
            uint16_t length;
            memcpy(&length, buffer + at + RECLEN, sizeof(length));
            const char *name = buffer + at + NAME;
            bool itself = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
            if (!itself && !visit(fd, name, context)) {
                return;
            }
            at += length;
        }
    }
}
