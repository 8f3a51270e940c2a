/* SPDX-License-Identifier: Apache-2.0 */
/* libcudart.so.N: devices, properties, errors. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

static _Thread_local int last_error;

int rt_done(int code)
{
    if (code != FK_OK)
        last_error = code;
    return code;
}

int rt_fail(const char *call, int code)
{
    return rt_done(fk_fail(call, code));
}

FK_API int cudaGetLastError(void)
{
    int code = last_error;
    last_error = FK_OK;
    return code;
}

FK_API int cudaPeekAtLastError(void)
{
    return last_error;
}

FK_API const char *cudaGetErrorName(int code)
{
    return fk_error_name(code);
}

FK_API const char *cudaGetErrorString(int code)
{
    return fk_error_name(code);
}

FK_API int cudaGetDeviceCount(int *count)
{
    *count = fk_device_count();
    return rt_done(*count ? FK_OK : FK_NO_DEVICE);
}

FK_API int cudaGetDevice(int *device)
{
    *device = fk_device() < 0 ? 0 : fk_device();
    return rt_done(fk_device_count() ? FK_OK : FK_NO_DEVICE);
}

/* As since CUDA 12, this makes the primary context current at once. */
FK_API int cudaSetDevice(int device)
{
    if (fk_set_device(device) != FK_OK)
        return rt_fail("cudaSetDevice", FK_INVALID_DEVICE);
    __atomic_add_fetch(&fk_primary(device)->retained, 1, __ATOMIC_RELAXED);
    return FK_OK;
}

FK_API int cudaDeviceSynchronize(void)
{
    fk_bind();
    return FK_OK;
}

FK_API int cudaDeviceReset(void)
{
    return FK_OK;
}

FK_API int cudaDriverGetVersion(int *version)
{
    *version = FK_DRIVER_VERSION;
    return FK_OK;
}

FK_API int cudaRuntimeGetVersion(int *version)
{
    *version = RUNTIME_MAJOR == 12 ? 12080 : FK_DRIVER_VERSION;
    return FK_OK;
}

FK_API int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    if (!fk_primary(device))
        return rt_fail("cudaDeviceGetAttribute", FK_INVALID_DEVICE);
    return fk_device_attribute(attribute, value);
}

FK_API int cudaDeviceGetPCIBusId(char *text, int length, int device)
{
    if (!fk_primary(device) || length < 1)
        return rt_fail("cudaDeviceGetPCIBusId", FK_INVALID_DEVICE);
    snprintf(text, (size_t)length, "0000:%02X:00.0", (unsigned)fk_physical(device) + 1);
    return FK_OK;
}

FK_API int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return FK_OK;
}

FK_API int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = fk_primary(device) && fk_primary(peer) && device != peer;
    return FK_OK;
}

FK_API int cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)flags;
    return fk_primary(peer) ? FK_OK : rt_fail("cudaDeviceEnablePeerAccess", FK_INVALID_DEVICE);
}

FK_API int cudaProfilerStart(void)
{
    return FK_OK;
}

FK_API int cudaProfilerStop(void)
{
    return FK_OK;
}

/* Where a field of cudaDeviceProp lies: in CUDA 12, in CUDA 13 (-1: the field is gone). */
struct field {
    short in_12;
    short in_13;
    char size;
    long long value;
};

#define PROPERTIES_SIZE (RUNTIME_MAJOR == 12 ? 1032 : 1008)

static const struct field constants[] = {
    {288, 288, 8, 140LL << 30}, /* totalGlobalMem */
    {296, 296, 8, 49152},       /* sharedMemPerBlock */
    {304, 304, 4, 65536},       /* regsPerBlock */
    {308, 308, 4, 32},          /* warpSize */
    {312, 312, 8, 2147483647},  /* memPitch */
    {320, 320, 4, 1024},        /* maxThreadsPerBlock */
    {324, 324, 4, 1024},        /* maxThreadsDim */
    {328, 328, 4, 1024},        /* */
    {332, 332, 4, 64},          /* */
    {336, 336, 4, 2147483647},  /* maxGridSize */
    {340, 340, 4, 65535},       /* */
    {344, 344, 4, 65535},       /* */
    {348, -1, 4, 1980000},      /* clockRate */
    {352, 352, 8, 65536},       /* totalConstMem */
    {368, 368, 8, 512},         /* textureAlignment */
    {400, 392, 4, 1},           /* canMapHostMemory */
    {576, 560, 4, 1},           /* concurrentKernels */
    {588, 572, 4, 0},           /* pciDeviceID */
    {592, 576, 4, 0},           /* pciDomainID */
    {600, 584, 4, 3},           /* asyncEngineCount */
    {604, 588, 4, 1},           /* unifiedAddressing */
    {608, -1, 4, 3201000},      /* memoryClockRate */
    {612, 592, 4, 6144},        /* memoryBusWidth */
    {616, 596, 4, 60 << 20},    /* l2CacheSize */
    {624, 604, 4, 2048},        /* maxThreadsPerMultiProcessor */
    {640, 624, 8, 233472},      /* sharedMemPerMultiprocessor */
    {648, 632, 4, 65536},       /* regsPerMultiprocessor */
    {652, 636, 4, 1},           /* managedMemory */
    {688, 668, 4, 1},           /* cooperativeLaunch */
    {696, 672, 8, 232448},      /* sharedMemPerBlockOptin */
    {712, 688, 4, 32},          /* maxBlocksPerMultiProcessor */
    {720, 696, 8, 1024},        /* reservedSharedMemPerBlock */
    {744, 720, 4, 1},           /* memoryPoolsSupported */
    {772, 748, 4, 1},           /* clusterLaunch */
};

static void put(unsigned char *properties, const struct field *field)
{
    int offset = RUNTIME_MAJOR == 12 ? field->in_12 : field->in_13;
    if (offset >= 0)
        memcpy(properties + offset, &field->value, (size_t)field->size);
}

static int properties_of(unsigned char *properties, int device)
{
    if (!fk_primary(device))
        return rt_fail("cudaGetDeviceProperties", FK_INVALID_DEVICE);
    memset(properties, 0, PROPERTIES_SIZE);
    snprintf((char *)properties, 256, "%s", fk_device_name());
    properties[256] = 0xfa; /* uuid */
    properties[271] = (unsigned char)fk_physical(device);
    for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++)
        put(properties, &constants[i]);
    struct field own[] = {
        {360, 360, 4, fk_capability() / 10},    /* major */
        {364, 364, 4, fk_capability() % 10},    /* minor */
        {388, 384, 4, fk_multiprocessors()},    /* multiProcessorCount */
        {584, 568, 4, fk_physical(device) + 1}, /* pciBusID */
    };
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        put(properties, &own[i]);
    return FK_OK;
}

FK_API int cudaGetDeviceProperties(void *properties, int device)
{
    return properties_of(properties, device);
}

FK_API int cudaGetDeviceProperties_v2(void *properties, int device)
{
    return properties_of(properties, device);
}

FK_API int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                   int *status)
{
    (void)flags;
    *function = fk_entry_point(symbol, RUNTIME_MAJOR * 1000);
    if (status)
        *status = *function ? 0 : 1;
    return FK_OK;
}

FK_API int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                            unsigned long long flags, int *status)
{
    (void)flags;
    *function = fk_entry_point(symbol, (int)version);
    if (status)
        *status = *function ? 0 : 1;
    return FK_OK;
}
