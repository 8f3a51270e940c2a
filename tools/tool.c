/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages, files and numbers for the verbs.
 */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No artifact comes near this; /dev/zero and a wrong file name do. */
static const size_t READ_LIMIT = (size_t)1 << 30;

bool tool_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input,
                int *status)
{
    int error = argp_parse(argp, argc, argv, flags, NULL, input);

    if (!error)
        return true;
    tool_error(NULL, "%s", strerror(error));
    *status = TOOL_USAGE;
    return false;
}

void tool_error(const char *subject, const char *format, ...)
{
    va_list args;

    fflush(stdout); /* so that messages stand where they belong when both go to one place */
    fputs("rankshare: ", stderr);
    if (subject)
        fprintf(stderr, "%s: ", subject);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

const char *tool_file_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Reads FD to its end. Returns 0 or an errno value. */
static int read_all(int fd, uint8_t **data, size_t *size)
{
    size_t room = 1 << 16, used = 0;
    uint8_t *buffer = malloc(room);
    int error = buffer ? 0 : ENOMEM;
    struct pollfd input = {.fd = fd, .events = POLLIN};

    while (!error) {
        if (used == room) {
            uint8_t *larger = room < READ_LIMIT ? realloc(buffer, room * 2) : NULL;
            if (!larger) {
                error = room < READ_LIMIT ? ENOMEM : EFBIG;
                break;
            }
            buffer = larger;
            room *= 2;
        }
        ssize_t got = read(fd, buffer + used, room - used);
        if (got == 0)
            break;
        if (got > 0)
            used += (size_t)got;
        else if (errno == EAGAIN)
            poll(&input, 1, -1); /* somebody will write, or go */
        else if (errno != EINTR)
            error = errno;
    }
    if (error) {
        free(buffer);
        return error;
    }
    *data = buffer;
    *size = used;
    return 0;
}

bool tool_read(const char *path, struct rs_bytes *bytes, void **memory)
{
    bool standard = strcmp(path, "-") == 0;
    /* Not to wait for somebody who might open the other end of a pipe one day. */
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat found = {.st_mode = 0};
    uint8_t *data = NULL;
    size_t size = 0;
    int error = fd < 0 || fstat(fd, &found) != 0 ? errno : read_all(fd, &data, &size);
    bool unwritten = !error && !standard && size == 0 && S_ISFIFO(found.st_mode);

    if (fd >= 0 && !standard)
        close(fd);
    *memory = data;
    *bytes = (struct rs_bytes){data, size};
    if (unwritten)
        tool_error(path, "a pipe that nobody writes to");
    else if (error == EFBIG)
        tool_error(tool_file_name(path), "larger than 1 GiB, which no artifact is");
    else if (error)
        tool_error(tool_file_name(path), "%s", strerror(error));
    return error == 0 && !unwritten;
}

static int write_all(int fd, const struct rs_pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        const char *at = pieces->pieces[i].iov_base;
        size_t left = pieces->pieces[i].iov_len;

        while (left > 0) {
            ssize_t done = write(fd, at, left);
            if (done < 0 && errno == EINTR)
                continue;
            if (done < 0)
                return errno;
            at += done;
            left -= (size_t)done;
        }
    }
    return 0;
}

/* Writes a temporary file beside PATH and renames it. Returns 0 or an errno value. */
static int replace_file(const char *path, const struct stat *old, const struct rs_pieces *pieces)
{
    char *temporary = tool_format("%s.%ld.tmp", path, (long)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int error = fd < 0 ? errno : write_all(fd, pieces);

    if (fd >= 0 && old)
        (void)fchmod(fd, old->st_mode & 07777);
    if (fd >= 0 && close(fd) != 0 && !error)
        error = errno;
    if (!error && rename(temporary, path) != 0)
        error = errno;
    if (fd >= 0 && error)
        unlink(temporary);
    free(temporary);
    return error;
}

/* Devices, pipes and symbolic links are written through; renaming over them would replace them. */
static int write_through(const char *path, const struct rs_pieces *pieces)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = fd < 0 ? errno : write_all(fd, pieces);

    if (fd >= 0 && close(fd) != 0 && !error)
        error = errno;
    return error;
}

bool tool_write(const char *path, const struct rs_pieces *pieces)
{
    struct stat st;
    bool there = strcmp(path, "-") != 0 && lstat(path, &st) == 0;
    int error;

    if (strcmp(path, "-") == 0) {
        error = write_all(STDOUT_FILENO, pieces);
        path = "standard output";
    } else if (there && !S_ISREG(st.st_mode)) {
        error = write_through(path, pieces);
    } else {
        error = replace_file(path, there ? &st : NULL, pieces);
    }
    if (error)
        tool_error(path, "%s", strerror(error));
    return error == 0;
}

bool tool_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    tool_error("standard output", "%s", strerror(errno));
    return false;
}

bool tool_number(const char *text, long min, long max, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= min && *number <= max;
}

void *tool_alloc(size_t size)
{
    void *memory = calloc(1, size ? size : 1);

    if (!memory) {
        tool_error(NULL, "%s", strerror(ENOMEM));
        exit(TOOL_UNREADABLE);
    }
    return memory;
}

char *tool_format(const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        tool_error(NULL, "%s", strerror(ENOMEM));
        exit(TOOL_UNREADABLE);
    }
    return text;
}

enum { BAR = 40, BAR_LINE = BAR + 48 };
static bool bar_shown;

void tool_progress(size_t done, size_t all)
{
    static const char marks[BAR + 1] = "########################################";
    int filled = all ? (int)(done * BAR / all) : BAR;

    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r[%-*.*s] %zu of %zu%s", BAR, filled, marks, done, all,
            done == all ? "\n" : "");
    bar_shown = done != all;
}

void tool_progress_over(void)
{
    if (bar_shown)
        fprintf(stderr, "\r%*s\r", BAR_LINE, "");
    bar_shown = false;
}
