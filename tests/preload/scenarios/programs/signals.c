/* SPDX-License-Identifier: Apache-2.0
 *
 * signals ENTRY: a handler on a small signal stack opens and stats while the interrupted code does
 * the same. errno must come through, sizes must be right every time.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { ROUNDS = 300, SIGNALS = 40 };
static char entry[PATH_MAX];
static const char strange[] = "__grp__no_such_kernel.json";
static volatile sig_atomic_t signals, wrong;
static volatile long long size_in_handler;

static long long size_of(const char *path)
{
    struct stat st = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        st.st_size = -1;
    }
    close(fd);
    return st.st_size;
}

static void handler(int number)
{
    int saved = errno;
    struct stat st;
    (void)number;
    long long size = stat(entry, &st) == 0 ? (long long)st.st_size : -1;
    if (size != size_of(entry) || stat(strange, &st) == 0 || access(entry, R_OK) != 0) {
        wrong++;
    }
    size_in_handler = size;
    signals++;
    errno = saved;
}

/* The kernel's frame takes most of a small one on machines with wide registers. */
static size_t stack_size(void)
{
    long least = sysconf(_SC_MINSIGSTKSZ);
    return (size_t)(least > 0 ? least : 2048) + 8192;
}

static int prepare(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (stack_size() + page - 1) / page * page;
    char *memory =
        mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) {
        return 1;
    }
    stack_t stack = {.ss_sp = memory + page, .ss_size = size};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    return sigaltstack(&stack, NULL) != 0 || sigaction(SIGALRM, &action, NULL) != 0;
}

int main(int count, char **arguments)
{
    if (count != 2 || prepare() != 0) {
        return 2;
    }
    snprintf(entry, sizeof(entry), "%s", arguments[1]);
    long long size = size_of(entry);
    struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < ROUNDS || signals < SIGNALS; i++) {
        errno = 0;
        if (size_of(entry) != size || size_of(strange) != -1 || errno != EBADF) {
            wrong++;
        }
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("size %lld, in the handler %lld, wrong %d\n", size, size_in_handler, (int)wrong);
    return 3;
}
