/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, their properties and the current context of each thread. */
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT_MAGIC 0x66436f6eu

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int device_count;
static int physical[FK_MAX_DEVICES];
static int capability;
static int multiprocessors;
static char name[128];
static struct fk_context primary[FK_MAX_DEVICES];
static _Thread_local struct fk_context *current;

static int number(const char *variable, int fallback)
{
    const char *text = getenv(variable);
    return text && *text ? atoi(text) : fallback;
}

/* A list ends at the first entry that is no device, as the real driver reads it. */
static int visible(const char *list, int total)
{
    int count = 0;
    while (*list && count < FK_MAX_DEVICES) {
        char *end;
        long device = strtol(list, &end, 10);
        if (end == list || device < 0 || device >= total)
            break;
        physical[count++] = (int)device;
        if (*end != ',')
            break;
        list = end + 1;
    }
    return count;
}

static void read_environment(void)
{
    int total = number("FAKECUDA_DEVICES", 1);
    if (total < 0 || total > FK_MAX_DEVICES)
        total = 1;
    for (int i = 0; i < FK_MAX_DEVICES; i++) {
        physical[i] = i;
        primary[i].magic = CONTEXT_MAGIC;
        primary[i].device = i;
    }
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    device_count = list ? visible(list, total) : total;
    capability = number("FAKECUDA_CC", 90);
    multiprocessors = number("FAKECUDA_SMS", 132);
    const char *text = getenv("FAKECUDA_NAME");
    strncpy(name, text && *text ? text : "NVIDIA H200", sizeof(name) - 1);
}

static void ready(void)
{
    pthread_once(&once, read_environment);
}

int fk_device_count(void)
{
    ready();
    return device_count;
}

int fk_capability(void)
{
    ready();
    return capability;
}

int fk_multiprocessors(void)
{
    ready();
    return multiprocessors;
}

const char *fk_device_name(void)
{
    ready();
    return name;
}

int fk_physical(int device)
{
    ready();
    return device >= 0 && device < device_count ? physical[device] : -1;
}

struct fk_context *fk_primary(int device)
{
    ready();
    return device >= 0 && device < device_count ? &primary[device] : NULL;
}

struct fk_context *fk_context(void)
{
    return current;
}

int fk_set_context(struct fk_context *context)
{
    if (context && context->magic != CONTEXT_MAGIC)
        return fk_fail("cuCtxSetCurrent", FK_INVALID_CONTEXT);
    current = context;
    return FK_OK;
}

int fk_device(void)
{
    return current ? current->device : -1;
}

int fk_bind(void)
{
    if (!current)
        current = fk_primary(0);
    return current ? current->device : 0;
}

int fk_set_device(int device)
{
    struct fk_context *context = fk_primary(device);
    if (!context)
        return FK_INVALID_DEVICE;
    current = context;
    return FK_OK;
}

struct attribute {
    int number;
    int value;
};

/* CUdevice_attribute numbers; the runtime's cudaDeviceAttr has the same ones. */
static const struct attribute attributes[] = {
    {1, 1024},              /* threads per block */
    {2, 1024},              /* block x, y, z */
    {3, 1024},              /* */
    {4, 64},                /* */
    {5, 2147483647},        /* grid x, y, z */
    {6, 65535},             /* */
    {7, 65535},             /* */
    {8, 49152},             /* shared memory per block */
    {9, 65536},             /* constant memory */
    {10, 32},               /* warp */
    {11, 2147483647},       /* pitch */
    {12, 65536},            /* registers per block */
    {13, 1980000},          /* clock, kHz */
    {14, 512},              /* texture alignment */
    {19, 1},                /* can map host memory */
    {31, 1},                /* concurrent kernels */
    {36, 3201000},          /* memory clock, kHz */
    {37, 6144},             /* memory bus */
    {38, 60 * 1024 * 1024}, /* level 2 cache */
    {39, 2048},             /* threads per multiprocessor */
    {40, 3},                /* copy engines */
    {41, 1},                /* unified addressing */
    {78, 1},                /* stream priorities */
    {81, 233472},           /* shared memory per multiprocessor */
    {82, 65536},            /* registers per multiprocessor */
    {83, 1},                /* managed memory */
    {89, 1},                /* concurrent managed access */
    {95, 1},                /* cooperative launch */
    {97, 232448},           /* shared memory per block, opt-in */
    {106, 32},              /* blocks per multiprocessor */
    {111, 1024},            /* shared memory kept back per block */
    {115, 1},               /* memory pools */
    {120, 1},               /* cluster launch */
};

int fk_device_attribute(int number, int *value)
{
    ready();
    *value = 0;
    if (number == 16)
        *value = multiprocessors;
    else if (number == 75)
        *value = capability / 10;
    else if (number == 76)
        *value = capability % 10;
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
        if (attributes[i].number == number)
            *value = attributes[i].value;
    return FK_OK;
}
