/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1: initialisation, devices, contexts. Signatures follow the driver's documentation. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

FK_API int cuInit(unsigned flags)
{
    (void)flags;
    return fk_device_count() ? FK_OK : FK_NO_DEVICE;
}

FK_API int cuDriverGetVersion(int *version)
{
    *version = FK_DRIVER_VERSION;
    return FK_OK;
}

FK_API int cuDeviceGetCount(int *count)
{
    *count = fk_device_count();
    return FK_OK;
}

FK_API int cuDeviceGet(int *device, int ordinal)
{
    if (ordinal < 0 || ordinal >= fk_device_count())
        return fk_fail("cuDeviceGet", FK_INVALID_DEVICE);
    *device = ordinal;
    return FK_OK;
}

FK_API int cuDeviceGetName(char *name, int length, int device)
{
    if (!fk_primary(device) || length < 1)
        return fk_fail("cuDeviceGetName", FK_INVALID_DEVICE);
    snprintf(name, (size_t)length, "%s", fk_device_name());
    return FK_OK;
}

FK_API int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    if (!fk_primary(device))
        return fk_fail("cuDeviceGetUuid", FK_INVALID_DEVICE);
    memset(uuid, 0, 16);
    uuid[0] = 0xfa;
    uuid[15] = (unsigned char)fk_physical(device);
    return FK_OK;
}

FK_API int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    return cuDeviceGetUuid(uuid, device);
}

FK_API int cuDeviceGetPCIBusId(char *text, int length, int device)
{
    if (!fk_primary(device) || length < 1)
        return fk_fail("cuDeviceGetPCIBusId", FK_INVALID_DEVICE);
    snprintf(text, (size_t)length, "0000:%02X:00.0", (unsigned)fk_physical(device) + 1);
    return FK_OK;
}

FK_API int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    if (!fk_primary(device))
        return fk_fail("cuDeviceTotalMem", FK_INVALID_DEVICE);
    *bytes = (size_t)140 << 30;
    return FK_OK;
}

FK_API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    if (!fk_primary(device))
        return fk_fail("cuDeviceGetAttribute", FK_INVALID_DEVICE);
    return fk_device_attribute(attribute, value);
}

FK_API int cuDeviceComputeCapability(int *major, int *minor, int device)
{
    if (!fk_primary(device))
        return fk_fail("cuDeviceComputeCapability", FK_INVALID_DEVICE);
    *major = fk_capability() / 10;
    *minor = fk_capability() % 10;
    return FK_OK;
}

FK_API int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = fk_primary(device) && fk_primary(peer) && device != peer;
    return FK_OK;
}

FK_API int cuDevicePrimaryCtxRetain(struct fk_context **context, int device)
{
    *context = fk_primary(device);
    if (!*context)
        return fk_fail("cuDevicePrimaryCtxRetain", FK_INVALID_DEVICE);
    __atomic_add_fetch(&(*context)->retained, 1, __ATOMIC_RELAXED);
    return FK_OK;
}

FK_API int cuDevicePrimaryCtxRelease_v2(int device)
{
    struct fk_context *context = fk_primary(device);
    if (!context)
        return fk_fail("cuDevicePrimaryCtxRelease", FK_INVALID_DEVICE);
    __atomic_sub_fetch(&context->retained, 1, __ATOMIC_RELAXED);
    return FK_OK;
}

FK_API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    struct fk_context *context = fk_primary(device);
    if (!context)
        return fk_fail("cuDevicePrimaryCtxGetState", FK_INVALID_DEVICE);
    *flags = 0;
    *active = __atomic_load_n(&context->retained, __ATOMIC_RELAXED) > 0;
    return FK_OK;
}

FK_API int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    (void)flags;
    return fk_primary(device) ? FK_OK : FK_INVALID_DEVICE;
}

/* A context of one's own is the primary one here: nothing depends on the difference. */
FK_API int cuCtxCreate_v2(struct fk_context **context, unsigned flags, int device)
{
    (void)flags;
    int rc = cuDevicePrimaryCtxRetain(context, device);
    return rc == FK_OK ? fk_set_context(*context) : rc;
}

FK_API int cuCtxCreate_v4(struct fk_context **context, void *parameters, unsigned flags, int device)
{
    (void)parameters;
    return cuCtxCreate_v2(context, flags, device);
}

FK_API int cuCtxDestroy_v2(struct fk_context *context)
{
    if (context && context == fk_context())
        fk_set_context(NULL);
    return FK_OK;
}

FK_API int cuCtxGetCurrent(struct fk_context **context)
{
    *context = fk_context();
    return FK_OK;
}

FK_API int cuCtxSetCurrent(struct fk_context *context)
{
    return fk_set_context(context);
}

/* The stack of one thread; deeper than any program pushes. */
static _Thread_local struct fk_context *pushed[16];
static _Thread_local unsigned depth;

FK_API int cuCtxPushCurrent_v2(struct fk_context *context)
{
    if (depth == sizeof(pushed) / sizeof(*pushed))
        return fk_fail("cuCtxPushCurrent", FK_INVALID_VALUE);
    pushed[depth++] = fk_context();
    return fk_set_context(context);
}

FK_API int cuCtxPopCurrent_v2(struct fk_context **context)
{
    if (depth == 0)
        return fk_fail("cuCtxPopCurrent", FK_INVALID_CONTEXT);
    if (context)
        *context = fk_context();
    return fk_set_context(pushed[--depth]);
}

FK_API int cuCtxGetDevice(int *device)
{
    *device = fk_device();
    return *device < 0 ? fk_fail("cuCtxGetDevice", FK_INVALID_CONTEXT) : FK_OK;
}

FK_API int cuCtxGetFlags(unsigned *flags)
{
    *flags = 0;
    return FK_OK;
}

FK_API int cuCtxGetApiVersion(struct fk_context *context, unsigned *version)
{
    (void)context;
    *version = 3020;
    return FK_OK;
}

FK_API int cuCtxGetLimit(size_t *value, int limit)
{
    (void)limit;
    *value = 1024;
    return FK_OK;
}

FK_API int cuCtxSetLimit(int limit, size_t value)
{
    (void)limit;
    (void)value;
    return FK_OK;
}

FK_API int cuCtxSynchronize(void)
{
    return FK_OK;
}

FK_API int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return FK_OK;
}

FK_API int cuGetErrorName(int code, const char **text)
{
    *text = fk_error_name(code);
    return FK_OK;
}

FK_API int cuGetErrorString(int code, const char **text)
{
    *text = fk_error_name(code);
    return FK_OK;
}
