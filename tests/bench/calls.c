/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops for tests/bench/bench.py, loaded into a Python that is a rank. Each compares two ways in
 * interleaved rounds, so that a machine that slows down slows both, and writes the nanoseconds per
 * call of each round. "direct" is libc's own function, "hooked" what the program would call.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef int open_function(const char *path, int flags, ...);
typedef int stat_function(const char *path, struct stat *out);

int bench_open(const char *path, int rounds, int calls, double *direct, double *hooked);
int bench_stat(const char *path, int rounds, int calls, double *direct, double *hooked);
int bench_view(const char *path, int rounds, double *copied, double *viewed);
int bench_noise(const char *path, int rounds, int calls, double *direct, double *again);

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

static double time_open(open_function *function, const char *path, int calls)
{
    double spent = 0;
    for (int i = 0; i < calls; i++) {
        double begin = now();
        int fd = function(path, O_RDONLY | O_CLOEXEC);
        spent += now() - begin;
        if (fd >= 0) {
            close(fd);
        }
    }
    return spent / calls;
}

static double time_stat(stat_function *function, const char *path, int calls)
{
    struct stat st;
    double begin = now();
    for (int i = 0; i < calls; i++) {
        (void)function(path, &st);
    }
    return (now() - begin) / calls;
}

static int compare_stat(stat_function *one, stat_function *other, const char *path, int rounds,
                        int calls, double *first, double *second)
{
    for (int i = 0; i < rounds; i++) {
        /* Which one comes first changes: the second finds warmer caches. */
        if (i & 1) {
            second[i] = time_stat(other, path, calls);
        }
        first[i] = time_stat(one, path, calls);
        if (!(i & 1)) {
            second[i] = time_stat(other, path, calls);
        }
    }
    return 0;
}

int bench_open(const char *path, int rounds, int calls, double *direct, double *hooked)
{
    open_function *libc = (open_function *)libc_symbol("open");
    if (!libc) {
        return -1;
    }
    for (int i = 0; i < rounds; i++) {
        if (i & 1) {
            hooked[i] = time_open(open, path, calls);
        }
        direct[i] = time_open(libc, path, calls);
        if (!(i & 1)) {
            hooked[i] = time_open(open, path, calls);
        }
    }
    return 0;
}

int bench_stat(const char *path, int rounds, int calls, double *direct, double *hooked)
{
    stat_function *libc = (stat_function *)libc_symbol("stat");
    return libc ? compare_stat(libc, stat, path, rounds, calls, direct, hooked) : -1;
}

/* What is left when nothing differs: the resolution of the above. */
int bench_noise(const char *path, int rounds, int calls, double *direct, double *again)
{
    stat_function *libc = (stat_function *)libc_symbol("stat");
    return libc ? compare_stat(libc, libc, path, rounds, calls, direct, again) : -1;
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
static double time_view(const char *path)
{
    char byte;
    double begin = now();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, &byte, 1);
    double end = now();
    close(fd);
    return got == 1 ? end - begin : -1;
}

int bench_view(const char *path, int rounds, double *copied, double *viewed)
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
        viewed[i] = time_view(path);
        result = copied[i] < 0 || viewed[i] < 0 ? -1 : result;
    }
    munmap(bytes, size);
    return result;
}
