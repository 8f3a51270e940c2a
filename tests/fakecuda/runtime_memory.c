/* SPDX-License-Identifier: Apache-2.0 */
/* libcudart.so.N: memory. */
#include "runtime.h"

#include <string.h>

FK_API int cudaMalloc(void **out, size_t size)
{
    return rt_done(fk_alloc(out, size, FK_DEVICE));
}

FK_API int cudaMallocAsync(void **out, size_t size, void *stream)
{
    (void)stream;
    return rt_done(fk_alloc(out, size, FK_DEVICE));
}

FK_API int cudaMallocManaged(void **out, size_t size, unsigned flags)
{
    (void)flags;
    return rt_done(fk_alloc(out, size, FK_MANAGED));
}

FK_API int cudaMallocHost(void **out, size_t size)
{
    return rt_done(fk_alloc(out, size, FK_HOST));
}

FK_API int cudaHostAlloc(void **out, size_t size, unsigned flags)
{
    (void)flags;
    return rt_done(fk_alloc(out, size, FK_HOST));
}

FK_API int cudaFree(void *pointer)
{
    return fk_free(pointer) == FK_OK ? FK_OK : rt_fail("cudaFree", FK_INVALID_VALUE);
}

FK_API int cudaFreeAsync(void *pointer, void *stream)
{
    (void)stream;
    return cudaFree(pointer);
}

FK_API int cudaFreeHost(void *pointer)
{
    return fk_free(pointer) == FK_OK ? FK_OK : rt_fail("cudaFreeHost", FK_INVALID_VALUE);
}

FK_API int cudaHostRegister(void *pointer, size_t size, unsigned flags)
{
    (void)flags;
    return rt_done(fk_register_host(pointer, size));
}

FK_API int cudaHostUnregister(void *pointer)
{
    int rc = fk_unregister_host(pointer);
    return rc == FK_OK ? rc : rt_fail("cudaHostUnregister", rc);
}

FK_API int cudaMemGetInfo(size_t *unused, size_t *total)
{
    fk_bind();
    *unused = (size_t)130 << 30;
    *total = (size_t)140 << 30;
    return FK_OK;
}

FK_API int cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
    (void)kind;
    fk_bind();
    memmove(to, from, size);
    return FK_OK;
}

FK_API int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
    (void)kind;
    memmove(to, from, size);
    return rt_done(fk_stream_check(stream, "cudaMemcpyAsync"));
}

FK_API int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                               size_t size, void *stream)
{
    (void)to_device;
    (void)from_device;
    memmove(to, from, size);
    return rt_done(fk_stream_check(stream, "cudaMemcpyPeerAsync"));
}

FK_API int cudaMemcpy2DAsync(char *to, size_t to_pitch, const char *from, size_t from_pitch,
                             size_t width, size_t height, int kind, void *stream)
{
    (void)kind;
    for (size_t row = 0; row < height; row++)
        memmove(to + row * to_pitch, from + row * from_pitch, width);
    return rt_done(fk_stream_check(stream, "cudaMemcpy2DAsync"));
}

FK_API int cudaMemset(void *to, int value, size_t size)
{
    fk_bind();
    memset(to, value, size);
    return FK_OK;
}

FK_API int cudaMemsetAsync(void *to, int value, size_t size, void *stream)
{
    memset(to, value, size);
    return rt_done(fk_stream_check(stream, "cudaMemsetAsync"));
}

FK_API int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
                              int kind)
{
    (void)symbol, (void)from, (void)size, (void)offset, (void)kind;
    return FK_OK;
}

FK_API int cudaGetSymbolAddress(void **out, const void *symbol)
{
    (void)symbol;
    *out = fk_global(NULL, NULL);
    return FK_OK;
}

struct pointer_attributes {
    int type;
    int device;
    void *device_pointer;
    void *host_pointer;
    long reserved[8]; /* CUDA 13 only */
};

/* Memory that CUDA does not know is no error since CUDA 11: its type is 0. */
FK_API int cudaPointerGetAttributes(struct pointer_attributes *out, void *pointer)
{
    struct fk_block block;
    memset(out, 0,
           RUNTIME_MAJOR == 12 ? offsetof(struct pointer_attributes, reserved) : sizeof(*out));
    out->device = -2;
    out->host_pointer = pointer;
    if (!fk_find(pointer, &block))
        return FK_OK;
    out->type = (int)block.type;
    out->device = block.device;
    out->device_pointer = pointer;
    out->host_pointer = block.type == FK_DEVICE ? NULL : pointer;
    return FK_OK;
}

FK_API int cudaDeviceGetDefaultMemPool(void **pool, int device)
{
    (void)device;
    return rt_done(fk_new(pool, FK_POOL));
}

FK_API int cudaDeviceGetMemPool(void **pool, int device)
{
    return cudaDeviceGetDefaultMemPool(pool, device);
}

FK_API int cudaMemPoolGetAttribute(void *pool, int attribute, uint64_t *value)
{
    (void)pool;
    (void)attribute;
    *value = 0;
    return FK_OK;
}

FK_API int cudaDeviceGetGraphMemAttribute(int device, int attribute, uint64_t *value)
{
    (void)device;
    (void)attribute;
    *value = 0;
    return FK_OK;
}

/* Handles for other processes are refused: memory of this process is not theirs. */
FK_API int cudaIpcGetMemHandle(void *handle, void *pointer)
{
    (void)handle;
    (void)pointer;
    return rt_fail("cudaIpcGetMemHandle", FK_NOT_SUPPORTED);
}

FK_API int cudaIpcOpenMemHandle(void **pointer)
{
    *pointer = NULL;
    return rt_fail("cudaIpcOpenMemHandle", FK_NOT_SUPPORTED);
}

FK_API int cudaIpcGetEventHandle(void *handle, void *event)
{
    (void)handle;
    (void)event;
    return rt_fail("cudaIpcGetEventHandle", FK_NOT_SUPPORTED);
}

FK_API int cudaIpcOpenEventHandle(void **event)
{
    *event = NULL;
    return rt_fail("cudaIpcOpenEventHandle", FK_NOT_SUPPORTED);
}
