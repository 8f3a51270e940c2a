/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs that load onto the first GPU have in common. They call the driver as any
 * program does, and know nothing of the library.
 */
#ifndef TESTS_GPU_DEVICE_H
#define TESTS_GPU_DEVICE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void *handle;

extern int cuInit(unsigned), cuDeviceGet(int *, int), cuDevicePrimaryCtxRetain(handle *, int);
extern int cuCtxSetCurrent(handle);

enum { NO_GPU = 77 };

/* The primary context of the first GPU; without one the program ends. */
static inline void start(void)
{
    int device;
    handle context;
    int result = cuInit(0);
    result = result ? result : cuDeviceGet(&device, 0);
    result = result ? result : cuDevicePrimaryCtxRetain(&context, device);
    result = result ? result : cuCtxSetCurrent(context);
    if (result) {
        fprintf(stderr, "no GPU: %d\n", result);
        exit(NO_GPU);
    }
}

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* All of a file of less than 8 MB, and a zero byte. */
static inline char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *data = calloc(1, 8 << 20);
    if (!file || !data || fread(data, 1, (8 << 20) - 1, file) == 0)
        exit(2);
    fclose(file);
    return data;
}

#endif
