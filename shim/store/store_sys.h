/* SPDX-License-Identifier: Apache-2.0
 *
 * The store's own raw system calls, beside those of base/sys.h.
 */
#ifndef RS_STORE_STORE_SYS_H
#define RS_STORE_STORE_SYS_H

#include "base/sys.h"

#include <linux/falloc.h>
#include <linux/futex.h>
#include <sys/mman.h>

/* tmpfs gives up, and back what it has taken, when any signal waits for the thread; the handler has
 * run once the call is back. */
static inline int rs_sys_fallocate(int fd, off_t offset, off_t size)
{
    int result, tries = 100;
    do {
        result = (int)syscall(SYS_fallocate, fd, 0, offset, size);
    } while (result != 0 && errno == EINTR && --tries > 0);
    return result;
}

/* Gives the memory of a range back; the file keeps its size. */
static inline int rs_sys_punch(int fd, off_t offset, off_t size)
{
    return (int)syscall(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                        size);
}

static inline int rs_sys_fchmod(int fd, mode_t mode)
{
    return (int)syscall(SYS_fchmod, fd, mode);
}

static inline int rs_sys_link(const char *from, const char *to)
{
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* The offset travels on the stack: a plain 0 would leave its upper half undefined. */
static inline void *rs_sys_mmap(size_t size, int protection, int fd)
{
    return (void *)syscall(SYS_mmap, NULL, size, protection, MAP_SHARED, fd, (off_t)0);
}

static inline void *rs_sys_mmap_at(size_t size, int protection, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, NULL, size, protection, MAP_SHARED, fd, offset);
}

static inline ssize_t rs_sys_pwrite(int fd, const void *data, size_t size, off_t at)
{
    return syscall(SYS_pwrite64, fd, data, size, at);
}

static inline int rs_sys_munmap(void *at, size_t size)
{
    return (int)syscall(SYS_munmap, at, size);
}

/* Whether the process, or the thread of it, exists: 0, or -1 with errno. */
static inline int rs_sys_kill0(pid_t pid)
{
    return (int)syscall(SYS_kill, pid, 0);
}

static inline int rs_sys_tgkill0(pid_t pid, pid_t tid)
{
    return (int)syscall(SYS_tgkill, pid, tid, 0);
}

static inline pid_t rs_sys_getpid(void)
{
    return (pid_t)syscall(SYS_getpid);
}

static inline pid_t rs_sys_getpgid(void)
{
    return (pid_t)syscall(SYS_getpgid, 0);
}

/* False: a signal handler has run. */
static inline bool rs_sys_pause_us(unsigned microseconds)
{
    struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)microseconds * 1000};
    return syscall(SYS_nanosleep, &pause, NULL) == 0 || errno != EINTR;
}

/* Sleeps while *WORD is VALUE, until UNTIL (CLOCK_MONOTONIC). 0, or -1 with errno. */
static inline int rs_sys_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
    struct timespec until = {
        .tv_sec = (time_t)(until_ns / RS_NS_PER_S),
        .tv_nsec = (long)(until_ns % RS_NS_PER_S),
    };
    return (int)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &until, NULL,
                        FUTEX_BITSET_MATCH_ANY);
}

static inline void rs_sys_futex_wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

#endif
