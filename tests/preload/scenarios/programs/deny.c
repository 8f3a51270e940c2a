/* SPDX-License-Identifier: Apache-2.0
 *
 * deny NUMBER ERROR COMMAND [ARGUMENT ...]: COMMAND without the system call NUMBER, which fails
 * with ERROR, as a container's filter or vm.memfd_noexec has it. Exit status 77: no such filters
 * here.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    if (count < 4) {
        return 2;
    }
    unsigned number = (unsigned)atoi(arguments[1]), error = (unsigned)atoi(arguments[2]);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        return 77;
    }
    execvp(arguments[3], arguments + 3);
    return 127;
}
