/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/state.h"
#include "base/sys.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Opened for each line: lines are rare (refusals, timeouts), and a descriptor kept open would be
 * one that the job did not ask for. */
static int open_log(void)
{
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY;
    struct stat st;
    if (rs_sys_fstatat(AT_FDCWD, rs_config.log, &st, 0) == 0 && S_ISDIR(st.st_mode)) {
        char path[PATH_MAX];
        int length =
            snprintf(path, sizeof(path), "%s/rankshare.%d.log", rs_config.log, (int)getpid());
        if (length < 0 || (size_t)length >= sizeof(path)) {
            return -1;
        }
        return rs_sys_openat(AT_FDCWD, path, flags, 0600);
    }
    return rs_sys_openat(AT_FDCWD, rs_config.log, flags, 0600);
}

void rs_log(const char *format, ...)
{
    if (!rs_config.log[0]) {
        return;
    }
    int saved = errno;
    char line[1024];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int at = snprintf(line, sizeof(line), "%lld.%03ld %d ", (long long)now.tv_sec,
                      now.tv_nsec / 1000000, (int)getpid());
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + at, sizeof(line) - (size_t)at - 1, format, arguments);
    va_end(arguments);
    if (more > 0) {
        size_t length = strnlen(line, sizeof(line) - 2);
        line[length] = '\n';
        int fd = open_log();
        if (fd >= 0) {
            (void)rs_sys_write(fd, line, length + 1);
            rs_sys_close(fd);
        }
    }
    errno = saved;
}
