/* SPDX-License-Identifier: Apache-2.0
 *
 * smallstack ENTRY: threads with the smallest stack that glibc gives (16 KiB on x86-64) use the
 * calls that we stand in front of, on ENTRY and on names that only look like a cache's. A guard
 * page lies below the stack, so whoever needs more than is left ends the program. Prints what they
 * saw.
 */
#include "small.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 20 };
static char entry[PATH_MAX], directory[PATH_MAX], temporary[PATH_MAX + 16];
static const char strange[] = "__grp__no_such_kernel.json";
static long seen[LINES];
static int errors[LINES];

static void note(int line, long result)
{
    seen[line] = result;
    errors[line] = result < 0 ? errno : 0;
}

static void *stats(void *unused)
{
    struct stat st;
    (void)unused;
    note(0, stat(entry, &st) ? -1 : (long)st.st_size);
    note(1, lstat(entry, &st) ? -1 : (long)st.st_size);
    note(2, fstatat(AT_FDCWD, entry, &st, 0) ? -1 : (long)st.st_size);
    note(3, access(entry, R_OK));
    note(4, stat(strange, &st));
    note(5, stat(".profile_of_nobody", &st));
    return NULL;
}

static long first_bytes(int fd)
{
    uint32_t bytes = 0;
    long got = fd < 0 ? -1 : read(fd, &bytes, sizeof(bytes));
    if (fd >= 0) {
        close(fd);
    }
    return got < 0 ? -1 : (long)bytes;
}

static void *opens(void *unused)
{
    (void)unused;
    note(6, first_bytes(open(entry, O_RDONLY | O_CLOEXEC)));
    note(7, first_bytes(openat(AT_FDCWD, entry, O_RDONLY | O_CLOEXEC)));
    note(8, first_bytes(open(strange, O_RDONLY)));
    note(9, open("nowhere/.temporary_file", O_WRONLY | O_CREAT, 0600));
    return NULL;
}

static void *directories(void *unused)
{
    (void)unused;
    DIR *open = opendir(directory);
    note(10, open ? 1 : -1);
    if (open) {
        closedir(open);
    }
    note(11, mkdir("triton/12", 0700));
    note(12, mkdir("nowhere/triton/12", 0700));
    note(13, rmdir("triton/12"));
    note(14, rename(strange, entry));
    note(15, link(strange, entry));
    return NULL;
}

/* What a rank does with an entry of its own. */
static void copy_entry(void)
{
    static char bytes[1 << 20];
    int from = open(entry, O_RDONLY), to = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    long got = read(from, bytes, sizeof(bytes));
    note(16, got > 0 && write(to, bytes, (size_t)got) == got ? got : -1);
    close(from);
    close(to);
}

static void *stores(void *unused)
{
    struct stat st;
    (void)unused;
    note(17, rename(temporary, entry));
    note(18, stat(entry, &st) ? -1 : (long)st.st_size);
    note(19, first_bytes(open(entry, O_RDONLY)));
    return NULL;
}

int main(int count, char **arguments)
{
    if (count != 2) {
        return 2;
    }
    snprintf(entry, sizeof(entry), "%s", arguments[1]);
    snprintf(directory, sizeof(directory), "%s", arguments[1]);
    *strrchr(directory, '/') = '\0';
    snprintf(temporary, sizeof(temporary), "%s/.1.2.tmp", directory);
    mkdir("triton", 0700);
    copy_entry();
    size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    if (run_small(stats, size) || run_small(opens, size) || run_small(directories, size) ||
        run_small(stores, size)) {
        return 4;
    }
    for (int i = 0; i < LINES; i++) {
        printf("%d: %ld %s\n", i, seen[i], strerror(errors[i]));
    }
    rmdir("triton/12");
    rmdir("triton");
    return 3;
}
