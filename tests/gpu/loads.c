/* SPDX-License-Identifier: Apache-2.0
 *
 * loads ROAD FILE [TIMES]: loads the kernel `scale` of tests/image/kernels.cu onto the first GPU by
 * every load function of the driver on ROAD (linked, dlsym, query), runs it, unloads it, and prints
 * what came back. FILE is PTX or a cubin. With TIMES it only loads and unloads it from memory that
 * often, and prints the microseconds of one load, and of one unload. Needs a driver, no toolkit.
 */
#include "device.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* The functions that are looked at, and what else it takes to run a kernel. */
#define LOADS(X)                                                                                   \
    X(cuModuleLoad, 2000, (handle * module, const char *path))                                     \
    X(cuModuleLoadData, 2000, (handle * module, const void *image))                                \
    X(cuModuleLoadDataEx, 2010,                                                                    \
      (handle * module, const void *image, unsigned count, int *options, void **values))           \
    X(cuModuleLoadFatBinary, 2000, (handle * module, const void *image))                           \
    X(cuModuleUnload, 2000, (handle module))                                                       \
    X(cuModuleGetFunction, 2000, (handle * function, handle module, const char *name))             \
    X(cuLibraryLoadData, 12000,                                                                    \
      (handle * library, const void *image, int *options, void **values, unsigned count,           \
       int *library_options, void **library_values, unsigned library_count))                       \
    X(cuLibraryGetModule, 12000, (handle * module, handle library))                                \
    X(cuLibraryUnload, 12000, (handle library))

#define DECLARE(name, since, parameters)                                                           \
    extern int name parameters;                                                                    \
    static __typeof__(&name) its_##name;
LOADS(DECLARE)

extern int cuMemAlloc_v2(uint64_t *, size_t), cuCtxSynchronize(void);
extern int cuMemcpyDtoH_v2(void *, uint64_t, size_t),
    cuMemcpyHtoD_v2(uint64_t, const void *, size_t);
extern int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, handle, void **, void **);
extern int cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);

enum { COUNT = 256 };

static void *find(const char *road, void *driver, const char *name, int since, void *linked)
{
    void *found = NULL;
    if (strcmp(road, "linked") == 0)
        return linked;
    if (strcmp(road, "dlsym") == 0)
        return dlsym(driver, name);
    typedef int query(const char *, void **, int, uint64_t, int *);
    query *ask = (query *)dlsym(driver, "cuGetProcAddress_v2");
    if (ask)
        ask(name, &found, since, 0, NULL);
    return found;
}

/* Each of 256 floats becomes one of 1, 2, 3, 0. */
static void run(const char *how, handle module)
{
    float values[COUNT], factor = 2;
    int n = COUNT, wrong = 0;
    uint64_t memory = 0;
    handle function = NULL;
    void *parameters[] = {&memory, &factor, &n};
    for (int i = 0; i < n; i++)
        values[i] = (float)i;
    int found = its_cuModuleGetFunction(&function, module, "scale");
    int missing = its_cuModuleGetFunction(&function, module, "no such kernel");
    found = found ? found : its_cuModuleGetFunction(&function, module, "scale");
    int ran = cuMemAlloc_v2(&memory, sizeof values);
    ran = ran ? ran : cuMemcpyHtoD_v2(memory, values, sizeof values);
    ran = ran ? ran : cuLaunchKernel(function, 1, 1, 1, COUNT, 1, 1, 0, NULL, parameters, NULL);
    ran = ran ? ran : cuCtxSynchronize();
    ran = ran ? ran : cuMemcpyDtoH_v2(values, memory, sizeof values);
    for (int i = 0; i < n; i++)
        wrong += values[i] != (float)(i % 4 == 3 ? 0 : i % 4 + 1);
    printf("%s: found %d, missing %d, ran %d, %d wrong\n", how, found, missing, ran, wrong);
}

static void module(const char *how, int result, const handle *loaded)
{
    printf("%s: %d\n", how, result);
    if (result)
        return;
    run(how, *loaded);
    printf("%s: unloaded %d\n", how, its_cuModuleUnload(*loaded));
}

static void library(const char *image)
{
    handle loaded = NULL, inner = NULL;
    int result = its_cuLibraryLoadData(&loaded, image, NULL, NULL, 0, NULL, NULL, 0);
    printf("library: %d\n", result);
    if (result)
        return;
    result = its_cuLibraryGetModule(&inner, loaded);
    printf("library's module: %d\n", result);
    if (result == 0)
        run("library", inner);
    printf("library: unloaded %d\n", its_cuLibraryUnload(loaded));
}

static int compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Medians: a load waits for the device now and then. */
static int time_loads(const char *image, int times)
{
    double *loads = calloc((size_t)times, sizeof *loads);
    double *unloads = calloc((size_t)times, sizeof *unloads);
    if (!loads || !unloads)
        return 2;
    for (int i = 0; i < times; i++) {
        handle loaded = NULL;
        double begin = now_us();
        if (its_cuModuleLoadData(&loaded, image) != 0)
            return 4;
        loads[i] = now_us() - begin;
        begin = now_us();
        its_cuModuleUnload(loaded);
        unloads[i] = now_us() - begin;
    }
    qsort(loads, (size_t)times, sizeof *loads, compare);
    qsort(unloads, (size_t)times, sizeof *unloads, compare);
    printf("%.2f %.2f\n", loads[times / 2], unloads[times / 2]);
    return 0;
}

int main(int argc, char **argv)
{
    static const char garbage[64] = "neither ELF nor fatbin nor PTX";
    if (argc != 3 && argc != 4)
        return 2;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    char *image = read_file(argv[2]);
    handle loaded = NULL;
    start();
#define FIND(name, since, parameters)                                                              \
    its_##name = (__typeof__(&name))find(argv[1], driver, #name, since, (void *)name);             \
    if (!its_##name)                                                                               \
        return 3;
    LOADS(FIND)
    if (argc == 4)
        return time_loads(image, atoi(argv[3]));
    module("path", its_cuModuleLoad(&loaded, argv[2]), &loaded);
    module("data", its_cuModuleLoadData(&loaded, image), &loaded);
    module("data with options", its_cuModuleLoadDataEx(&loaded, image, 0, NULL, NULL), &loaded);
    module("fat binary", its_cuModuleLoadFatBinary(&loaded, image), &loaded);
    library(image);
    module("no file", its_cuModuleLoad(&loaded, "/no/such/file"), &loaded);
    module("garbage", its_cuModuleLoadData(&loaded, garbage), &loaded);
    return fflush(stdout) != 0;
}
