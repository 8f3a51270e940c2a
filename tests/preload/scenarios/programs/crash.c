/* SPDX-License-Identifier: Apache-2.0
 *
 * crash DIRECTORY: what a crash handler does on a stack of SIGSTKSZ bytes: it writes a report by a
 * hidden name, looks at it and moves it. The name could be one that an entry has on its way.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char report[PATH_MAX], moved[PATH_MAX];
static volatile long long steps, size;

static void handler(int number)
{
    struct stat st = {0};
    (void)number;
    steps += open(report, O_RDONLY | O_CLOEXEC) == -1 && errno == ENOENT;
    int fd = open(report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    steps += fd >= 0 && write(fd, "report", 6) == 6 && close(fd) == 0;
    steps += stat(report, &st) == 0 && access(report, R_OK) == 0;
    size = st.st_size;
    steps += rename(report, moved) == 0 && unlink(moved) == 0;
}

/* 8192 bytes, as SIGSTKSZ was for decades, unless the kernel's frame takes most of that. */
static size_t stack_size(size_t page)
{
    long least = sysconf(_SC_MINSIGSTKSZ);
    return ((size_t)(least > 0 ? least : 2048) + 4096 + page - 1) / page * page;
}

int main(int count, char **arguments)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = stack_size(page);
    char *memory =
        mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = room};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    if (count != 2 || memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0 ||
        sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) {
        return 2;
    }
    snprintf(report, sizeof(report), "%s/.report-1234", arguments[1]);
    snprintf(moved, sizeof(moved), "%s/.report-moved", arguments[1]);
    raise(SIGUSR1);
    printf("%lld steps, %lld bytes\n", steps, size);
    return 3;
}
