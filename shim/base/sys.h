/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw system calls. What the library does for itself goes straight to the kernel: through libc's
 * names it would meet its own hooks. They set errno as libc does; all are thread and fork safe and
 * may be used before any constructor has run.
 */
#ifndef RS_BASE_SYS_H
#define RS_BASE_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define RS_NS_PER_S UINT64_C(1000000000)

static inline int rs_sys_openat(int dirfd, const char *path, int flags, mode_t mode)
{
    return (int)syscall(SYS_openat, dirfd, path, flags, mode);
}

static inline int rs_sys_close(int fd)
{
    return (int)syscall(SYS_close, fd);
}

static inline int rs_sys_fstatat(int dirfd, const char *path, struct stat *out, int flags)
{
    return (int)syscall(SYS_newfstatat, dirfd, path, out, flags);
}

static inline int rs_sys_fstat(int fd, struct stat *out)
{
    return (int)syscall(SYS_fstat, fd, out);
}

static inline ssize_t rs_sys_readlinkat(int dirfd, const char *path, char *out, size_t size)
{
    return syscall(SYS_readlinkat, dirfd, path, out, size);
}

static inline int rs_sys_renameat(int fromfd, const char *from, int tofd, const char *to)
{
    return (int)syscall(SYS_renameat2, fromfd, from, tofd, to, 0);
}

static inline int rs_sys_unlinkat(int dirfd, const char *path, int flags)
{
    return (int)syscall(SYS_unlinkat, dirfd, path, flags);
}

static inline int rs_sys_mkdirat(int dirfd, const char *path, mode_t mode)
{
    return (int)syscall(SYS_mkdirat, dirfd, path, mode);
}

static inline int rs_sys_symlinkat(const char *target, int dirfd, const char *path)
{
    return (int)syscall(SYS_symlinkat, target, dirfd, path);
}

static inline ssize_t rs_sys_pread(int fd, void *out, size_t size, off_t at)
{
    return syscall(SYS_pread64, fd, out, size, at);
}

static inline ssize_t rs_sys_write(int fd, const void *data, size_t size)
{
    return syscall(SYS_write, fd, data, size);
}

static inline ssize_t rs_sys_getdents(int fd, void *out, size_t size)
{
    return syscall(SYS_getdents64, fd, out, size);
}

/* To the first name of a directory. */
static inline bool rs_sys_rewind(int fd)
{
    return syscall(SYS_lseek, fd, (off_t)0, SEEK_SET) == 0;
}

/* Whether a file of SIZE bytes is below the file size limit; writing beyond it raises SIGXFSZ. */
static inline bool rs_sys_file_fits(uint64_t size)
{
    struct rlimit limit;
    return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 || size <= limit.rlim_cur;
}

/* The kernel's answer: fakeroot and its kin have another. */
static inline uid_t rs_sys_geteuid(void)
{
    return (uid_t)syscall(SYS_geteuid);
}

static inline pid_t rs_sys_gettid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* The kernel's clock: a preloaded time faker must not stretch a deadline. */
static inline uint64_t rs_sys_clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    syscall(SYS_clock_gettime, clock, &now);
    return (uint64_t)now.tv_sec * RS_NS_PER_S + (uint64_t)now.tv_nsec;
}

#endif
