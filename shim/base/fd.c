/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include "base/sys.h"

#include <string.h>

/* Names of a descriptor's file, by WAY. /proc/self is the main thread, which shows no descriptors
 * once it has ended while others go on; the other name is missing where /proc is only imitated. */
enum { NAME_MAX_SIZE = 64, WAYS = 2 };

/* Without snprintf(), which takes some 2 kB of stack: hooks run in signal handlers, too. */
static void name_of(char name[NAME_MAX_SIZE], int fd, int way)
{
    static const char *const directories[WAYS] = {"/proc/self/fd/", "/proc/thread-self/fd/"};
    char digits[16], *digit = digits + sizeof(digits) - 1;
    size_t length = strlen(directories[way]);
    *digit = '\0';
    for (unsigned left = (unsigned)fd; digit == digits + sizeof(digits) - 1 || left; left /= 10) {
        *--digit = (char)('0' + left % 10);
    }
    memcpy(name, directories[way], length);
    memcpy(name + length, digit, strlen(digit) + 1);
}

int rs_fd_reopen(int fd, int flags)
{
    char name[NAME_MAX_SIZE];
    int again = -1;
    for (int way = 0; again < 0 && way < WAYS; way++) {
        name_of(name, fd, way);
        again = rs_sys_openat(AT_FDCWD, name, flags | O_CLOEXEC, 0);
    }
    return again;
}

int rs_fd_link(int fd, int dirfd, const char *path)
{
    char name[NAME_MAX_SIZE];
    int result = -1;
    errno = ENOENT;
    for (int way = 0; result != 0 && errno == ENOENT && way < WAYS; way++) {
        name_of(name, fd, way);
        result = (int)syscall(SYS_linkat, AT_FDCWD, name, dirfd, path, AT_SYMLINK_FOLLOW);
    }
    if (result != 0 && errno == ENOENT && rs_fd_path(fd, name, sizeof(name)) < 0) {
        errno = EOPNOTSUPP; /* what is missing is /proc, not the target's directory */
    }
    return result;
}

ssize_t rs_fd_path(int fd, char *path, size_t size)
{
    char name[NAME_MAX_SIZE];
    ssize_t length = -1;
    for (int way = 0; length < 0 && way < WAYS; way++) {
        name_of(name, fd, way);
        length = rs_sys_readlinkat(AT_FDCWD, name, path, size);
    }
    return length;
}
