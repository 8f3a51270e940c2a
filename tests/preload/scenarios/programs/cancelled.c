/* SPDX-License-Identifier: Apache-2.0
 *
 * cancelled ENTRY: a thread that is to be cancelled gives a copy of ENTRY its name. rename() is no
 * cancellation point, so the entry is there and the thread goes on.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char from[PATH_MAX], to[PATH_MAX];
static int result = -2;

static int copy(const char *path)
{
    char buffer[65536];
    ssize_t got = -1;
    int source = open(path, O_RDONLY | O_CLOEXEC);
    int target = open(from, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    while (source >= 0 && target >= 0 && (got = read(source, buffer, sizeof(buffer))) > 0 &&
           write(target, buffer, (size_t)got) == got) {
    }
    close(source);
    close(target);
    return (int)got;
}

static void *rename_it(void *nothing)
{
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    result = rename(from, to);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    return nothing;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    struct stat entry, there = {0};
    const char *slash = count == 2 ? strrchr(arguments[1], '/') : NULL;
    if (!slash) {
        return 2;
    }
    int folder = (int)(slash - arguments[1]);
    snprintf(from, sizeof(from), "%.*s/.1.2.tmp", folder, arguments[1]);
    snprintf(to, sizeof(to), "%.*s/c%.50s", folder, arguments[1], slash + 2);
    if (copy(arguments[1]) != 0 || pthread_create(&thread, NULL, rename_it, NULL) != 0) {
        return 2;
    }
    pthread_join(thread, NULL);
    int left = access(from, F_OK), found = stat(to, &there);
    printf("rename %d, entry %d of the same size %d, temporary file %d\n", result, found,
           stat(arguments[1], &entry) == 0 && entry.st_size == there.st_size, left);
    unlink(from);
    unlink(to);
    return 3;
}
