/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/state.h"
#include "base/sys.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Anything but a regular file is refused: opening a FIFO waits for its reader, writing into one
 * whose reader has gone ends the job by SIGPIPE, and opening a device may do anything. */
static int open_regular(const char *path, int flags)
{
    struct stat st;
    if (rs_sys_fstatat(AT_FDCWD, path, &st, 0) == 0 && !S_ISREG(st.st_mode)) {
        return -1;
    }
    int fd = rs_sys_openat(
        AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags,
        0600);
    if (fd >= 0 && (rs_sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        rs_sys_close(fd);
        return -1;
    }
    return fd;
}

/* Opened for each line: lines are rare (refusals, timeouts), and a descriptor kept open would be
 * one that the job did not ask for. */
static int open_log(void)
{
    struct stat st;
    if (rs_sys_fstatat(AT_FDCWD, rs_config.log, &st, 0) == 0 && S_ISDIR(st.st_mode)) {
        char path[RS_TEXT_MAX + 32];
        snprintf(path, sizeof(path), "%s/rankshare.%d.log", rs_config.log, (int)getpid());
        /* The name can be guessed, and others may write to the directory (/tmp). */
        return open_regular(path, O_NOFOLLOW);
    }
    return open_regular(rs_config.log, 0);
}

/* Past the file size limit the kernel sends SIGXFSZ. */
static void append(int fd, const char *line, size_t length)
{
    struct stat st;
    if (rs_sys_fstat(fd, &st) == 0 && rs_sys_file_fits((uint64_t)st.st_size + length)) {
        (void)rs_sys_write(fd, line, length);
    }
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
            append(fd, line, length + 1);
            rs_sys_close(fd);
        }
    }
    errno = saved;
}
