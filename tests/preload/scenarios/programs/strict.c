/* SPDX-License-Identifier: Apache-2.0
 *
 * strict FILE: a program that forbids itself every system call that it does not need, on pain of
 * death, and then opens and stats a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                           \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int forbid(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_openat),
        ALLOW(SYS_newfstatat),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_close),
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char **arguments)
{
    struct stat st;
    char text[64];
    if (count != 2) {
        return 2;
    }
    if (forbid() != 0) {
        return 77;
    }
    int fd = open(arguments[1], O_RDONLY);
    int gone = open("__grp__no_such_kernel.json", O_RDONLY);
    int found = stat(arguments[1], &st);
    int length =
        snprintf(text, sizeof(text), "%d %d %d %lld\n", fd, gone, found, (long long)st.st_size);
    _exit(write(1, text, (size_t)length) == length ? 3 : 1);
}
