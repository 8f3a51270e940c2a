/* SPDX-License-Identifier: Apache-2.0
 *
 * descriptors ENTRY: which descriptors are open and which numbers come next, at the start, after
 * everything was closed, and in children that close everything.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char said[8192];
static size_t length;

/* Collected here, since standard output is closed for a while. */
static void say(const char *what, long value)
{
    length += (size_t)snprintf(said + length, sizeof(said) - length, "%s %ld%s\n", what, value,
                               value < 0 ? strerror(errno) : "");
}

static void list(const char *what)
{
    long mask = 0;
    for (int fd = 0; fd < 60; fd++) {
        mask |= fcntl(fd, F_GETFD) >= 0 ? 1L << fd : 0;
    }
    say(what, mask);
}

static void look(const char *entry)
{
    struct stat st;
    say("stat", stat(entry, &st));
    int fd = open(entry, O_RDONLY);
    say("open", fd);
    say("size of it", fstat(fd, &st) ? -1 : (long)st.st_size);
    int second = open(entry, O_RDONLY | O_CLOEXEC);
    say("second open", second);
    close(fd);
    FILE *stream = fopen(entry, "r");
    say("fopen", stream ? fileno(stream) : -1);
    close(second);
    list("descriptors");
    if (stream) {
        fclose(stream);
    }
}

static void children(const char *entry)
{
    for (int way = 0; way < 2; way++) {
        int ends[2];
        char answer[32] = {0};
        if (pipe(ends) != 0) {
            return;
        }
        pid_t child = fork();
        if (child == 0) {
            dup2(ends[1], 0); /* the only one that stays */
            if (way == 0) {
                syscall(SYS_close_range, 1U, ~0U, 0U);
            } else {
                for (int fd = 1; fd < 1024; fd++) {
                    close(fd);
                }
            }
            struct stat st = {0};
            int fd = open(entry, O_RDONLY);
            int got = fstat(fd, &st);
            int size =
                snprintf(answer, sizeof(answer), "%d %d %lld", fd, got, (long long)st.st_size);
            _exit(write(0, answer, (size_t)size) == size ? 0 : 1);
        }
        close(ends[1]);
        say("child", read(ends[0], answer, sizeof(answer) - 1));
        close(ends[0]);
        int status = -1;
        waitpid(child, &status, 0);
        say(answer, status);
    }
}

int main(int count, char **arguments)
{
    if (count != 2) {
        return 2;
    }
    list("at the start");
    look(arguments[1]);
    children(arguments[1]);
    int kept = fcntl(1, F_DUPFD_CLOEXEC, 50);
    for (int fd = 0; fd < 50; fd++) {
        close(fd);
    }
    list("after closing all");
    look(arguments[1]);
    dup2(kept, 1);
    dup2(kept, 2);
    return write(1, said, length) == (ssize_t)length ? 3 : 1;
}
