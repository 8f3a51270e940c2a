/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops for tests/bench/bench.py, loaded into a Python that is a rank. Each compares two ways in
 * interleaved rounds, so that a machine that slows down slows both, and writes the nanoseconds per
 * call of each round. "direct" is libc's own function, "hooked" what the program would call.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int bench_call(const char *path, const char *name, int rounds, int calls, double *direct,
               double *hooked);
int bench_noise(const char *path, const char *name, int rounds, int calls, double *direct,
                double *again);
int bench_view(const char *path, int rounds, double *copied, double *viewed);
int bench_plain(const char *path, int rounds, double *copied, double *opened);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* libc's definition: a search in libc alone does not meet the preloaded one. */
static void *libc_symbol(const char *name)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return libc ? dlsym(libc, name) : NULL;
}

/* How each function is called; what it opens is closed when the clock stands still. */
typedef int open_function(const char *path, int flags, ...);
typedef int openat_function(int dirfd, const char *path, int flags, ...);
typedef int stat_function(const char *path, struct stat *out);
typedef int access_function(const char *path, int mode);
typedef FILE *fopen_function(const char *path, const char *mode);

#define TIMED(name, call, undo)                                                                    \
    static double time_##name(void *symbol, const char *path, int calls)                           \
    {                                                                                              \
        name##_function *function = (name##_function *)symbol;                                     \
        double spent = 0;                                                                          \
        for (int i = 0; i < calls; i++) {                                                          \
            double begin = now();                                                                  \
            __typeof__(call) result = call;                                                        \
            spent += now() - begin;                                                                \
            undo;                                                                                  \
        }                                                                                          \
        return spent / calls;                                                                      \
    }

/* Without undoing there is no need to look at the clock each time. */
#define TIMED_TOGETHER(name, call)                                                                 \
    static double time_##name(void *symbol, const char *path, int calls)                           \
    {                                                                                              \
        name##_function *function = (name##_function *)symbol;                                     \
        struct stat st;                                                                            \
        (void)st;                                                                                  \
        double begin = now();                                                                      \
        for (int i = 0; i < calls; i++) {                                                          \
            (void)call;                                                                            \
        }                                                                                          \
        return (now() - begin) / calls;                                                            \
    }

TIMED(open, function(path, O_RDONLY | O_CLOEXEC), result >= 0 ? close(result) : 0)
TIMED(openat, function(AT_FDCWD, path, O_RDONLY | O_CLOEXEC), result >= 0 ? close(result) : 0)
TIMED(fopen, function(path, "re"), result ? fclose(result) : 0)
TIMED_TOGETHER(stat, function(path, &st))
TIMED_TOGETHER(access, function(path, R_OK))

struct call {
    const char *name;
    double (*time)(void *symbol, const char *path, int calls);
};

static const struct call calls_known[] = {{"open", time_open},
                                          {"openat", time_openat},
                                          {"fopen", time_fopen},
                                          {"stat", time_stat},
                                          {"access", time_access}};

static int compare(const char *path, const char *name, int rounds, int calls, double *first,
                   double *second, bool same)
{
    const struct call *call = calls_known;
    while (strcmp(call->name, name) != 0) {
        call++;
    }
    void *libc = libc_symbol(name), *program = same ? libc : dlsym(RTLD_DEFAULT, name);
    if (!libc || !program) {
        return -1;
    }
    for (int i = 0; i < rounds; i++) {
        /* Which one comes first changes: the second finds warmer caches. */
        if (i & 1) {
            second[i] = call->time(program, path, calls);
        }
        first[i] = call->time(libc, path, calls);
        if (!(i & 1)) {
            second[i] = call->time(program, path, calls);
        }
    }
    return 0;
}

int bench_call(const char *path, const char *name, int rounds, int calls, double *direct,
               double *hooked)
{
    return compare(path, name, rounds, calls, direct, hooked, false);
}

/* What is left when nothing differs: the resolution of the above. */
int bench_noise(const char *path, const char *name, int rounds, int calls, double *direct,
                double *again)
{
    return compare(path, name, rounds, calls, direct, again, true);
}

/* The least that a view can cost: the entry's bytes into memory, from there into a memfd. */
static double time_copy(const char *bytes, size_t size)
{
    double begin = now();
    char *copy = malloc(size);
    int fd = (int)memfd_create("bench", MFD_CLOEXEC);
    memcpy(copy, bytes, size);
    ssize_t wrote = write(fd, copy, size);
    close(fd);
    free(copy);
    return wrote == (ssize_t)size ? now() - begin : -1;
}

/* From the call of open() to the first byte. */
static double time_first_byte(open_function *function, const char *path)
{
    char byte;
    double begin = now();
    int fd = function(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, &byte, 1);
    double end = now();
    close(fd);
    return got == 1 ? end - begin : -1;
}

static int first_byte(const char *path, int rounds, double *copied, double *opened, bool hooked)
{
    open_function *libc = (open_function *)libc_symbol("open");
    struct stat st;
    int fd = libc ? libc(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) {
        return -1;
    }
    size_t size = (size_t)st.st_size;
    char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) {
        return -1;
    }
    int result = 0;
    for (int i = 0; i < rounds; i++) {
        copied[i] = time_copy(bytes, size);
        opened[i] = time_first_byte(hooked ? open : libc, path);
        result = copied[i] < 0 || opened[i] < 0 ? -1 : result;
    }
    munmap(bytes, size);
    return result;
}

int bench_view(const char *path, int rounds, double *copied, double *viewed)
{
    return first_byte(path, rounds, copied, viewed, true);
}

int bench_plain(const char *path, int rounds, double *copied, double *opened)
{
    return first_byte(path, rounds, copied, opened, false);
}
