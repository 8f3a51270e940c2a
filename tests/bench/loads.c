/* SPDX-License-Identifier: Apache-2.0
 *
 * loads KIND IMAGE ROUNDS CALLS: what the driver hooks cost, in interleaved rounds of CALLS calls.
 * KIND "load": cuModuleLoadData of the image in the file, by the driver's own address and by
 * dlsym's. KIND "dlsym": a look-up of a name that is no hook's, by libc's dlsym and by the
 * program's. Prints the nanoseconds per call of each round, both ways.
 */
#include "preload/cuda/fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned load_function(void **module, const void *image);
typedef void *dlsym_function(void *handle, const char *name);

#ifdef __aarch64__
#define OLDEST "GLIBC_2.17"
#else
#define OLDEST "GLIBC_2.2.5"
#endif

static void *libc, *driver;
static char *image;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double load(void *function, int calls)
{
    void *module;
    double begin = now();
    for (int i = 0; i < calls; i++)
        if (((load_function *)function)(&module, image) != 0)
            exit(1);
    return (now() - begin) / calls;
}

static double look_up(void *function, int calls)
{
    double begin = now();
    for (int i = 0; i < calls; i++)
        if (!((dlsym_function *)function)(libc, "getppid"))
            exit(1);
    return (now() - begin) / calls;
}

static char *read_image(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *data = calloc(1, 1 << 20);
    if (!file || !data || fread(data, 1, (1 << 20) - 1, file) == 0)
        exit(1);
    fclose(file);
    return data;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 1;
    int rounds = atoi(argv[3]), calls = atoi(argv[4]);
    double (*measure)(void *, int) = strcmp(argv[1], "load") == 0 ? load : look_up;
    libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!libc || !driver)
        return 1;
    image = read_image(argv[2]);
    /* dlvsym is no hook. */
    fake_function_function *own = (fake_function_function *)dlsym(driver, "fake_function");
    void *first = measure == load ? own("cuModuleLoadData") : dlvsym(libc, "dlsym", OLDEST);
    void *second = measure == load ? dlsym(driver, "cuModuleLoadData") : (void *)dlsym;
    if (!first || !second)
        return 1;
    for (int i = -1; i < rounds; i++) { /* the first one warms up */
        double one = i & 1 ? measure(second, calls) : measure(first, calls);
        double other = i & 1 ? measure(first, calls) : measure(second, calls);
        if (i >= 0)
            printf("%f %f\n", i & 1 ? other : one, i & 1 ? one : other);
    }
    return 0;
}
