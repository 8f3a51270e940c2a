/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1: memory, streams, events, graphs. */
#include "fake.h"

#include <string.h>

static const float constant_milliseconds = 0.01f;

FK_API int cuMemAlloc_v2(void **out, size_t size)
{
    return size ? fk_alloc(out, size, FK_DEVICE) : fk_fail("cuMemAlloc", FK_INVALID_VALUE);
}

FK_API int cuMemAllocManaged(void **out, size_t size, unsigned flags)
{
    (void)flags;
    return fk_alloc(out, size, FK_MANAGED);
}

FK_API int cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
    (void)flags;
    return fk_alloc(out, size, FK_HOST);
}

FK_API int cuMemAllocHost_v2(void **out, size_t size)
{
    return fk_alloc(out, size, FK_HOST);
}

FK_API int cuMemFree_v2(void *pointer)
{
    return fk_free(pointer) == FK_OK ? FK_OK : fk_fail("cuMemFree", FK_INVALID_VALUE);
}

FK_API int cuMemFreeHost(void *pointer)
{
    return fk_free(pointer) == FK_OK ? FK_OK : fk_fail("cuMemFreeHost", FK_INVALID_VALUE);
}

FK_API int cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    *unused = (size_t)130 << 30;
    *total = (size_t)140 << 30;
    return FK_OK;
}

FK_API int cuMemGetAddressRange_v2(void **base, size_t *size, void *pointer)
{
    struct fk_block block;
    if (!fk_find(pointer, &block))
        return fk_fail("cuMemGetAddressRange", FK_NOT_FOUND);
    if (base)
        *base = (void *)block.start;
    if (size)
        *size = block.size;
    return FK_OK;
}

FK_API int cuMemcpy(void *to, const void *from, size_t size)
{
    memmove(to, from, size);
    return FK_OK;
}

FK_API int cuMemcpyAsync(void *to, const void *from, size_t size, void *stream)
{
    memmove(to, from, size);
    return fk_stream_check(stream, "cuMemcpyAsync");
}

FK_API int cuMemcpyHtoD_v2(void *to, const void *from, size_t size)
{
    return cuMemcpy(to, from, size);
}

FK_API int cuMemcpyDtoH_v2(void *to, const void *from, size_t size)
{
    return cuMemcpy(to, from, size);
}

FK_API int cuMemcpyDtoD_v2(void *to, const void *from, size_t size)
{
    return cuMemcpy(to, from, size);
}

FK_API int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t size, void *stream)
{
    return cuMemcpyAsync(to, from, size, stream);
}

FK_API int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t size, void *stream)
{
    return cuMemcpyAsync(to, from, size, stream);
}

FK_API int cuMemsetD8_v2(void *to, unsigned char value, size_t count)
{
    memset(to, value, count);
    return FK_OK;
}

FK_API int cuMemsetD8Async(void *to, unsigned char value, size_t count, void *stream)
{
    memset(to, value, count);
    return fk_stream_check(stream, "cuMemsetD8Async");
}

FK_API int cuMemsetD32_v2(void *to, unsigned value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy((char *)to + i * sizeof(value), &value, sizeof(value));
    return FK_OK;
}

FK_API int cuMemsetD32Async(void *to, unsigned value, size_t count, void *stream)
{
    cuMemsetD32_v2(to, value, count);
    return fk_stream_check(stream, "cuMemsetD32Async");
}

/* CU_POINTER_ATTRIBUTE_*: 1 context, 2 memory type, 3 device pointer, 4 host pointer, 9 ordinal */
FK_API int cuPointerGetAttribute(void *out, int attribute, void *pointer)
{
    struct fk_block block;
    if (!fk_find(pointer, &block))
        return FK_INVALID_VALUE; /* plain host memory: programs ask, this is no error of theirs */
    struct fk_context *context = fk_primary(block.device);
    unsigned type = block.type == FK_HOST ? 1 : 2;
    switch (attribute) {
    case 1:
        memcpy(out, &context, sizeof(context));
        return FK_OK;
    case 2:
        memcpy(out, &type, sizeof(type));
        return FK_OK;
    case 3:
    case 4:
        memcpy(out, &pointer, sizeof(pointer));
        return FK_OK;
    case 9:
        memcpy(out, &block.device, sizeof(block.device));
        return FK_OK;
    default:
        return fk_fail("cuPointerGetAttribute", FK_NOT_SUPPORTED);
    }
}

FK_API int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    return fk_new(stream, FK_STREAM);
}

FK_API int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    int rc = cuStreamCreate(stream, flags);
    if (rc == FK_OK)
        fk_object(*stream, FK_STREAM)->value = priority;
    return rc;
}

FK_API int cuStreamDestroy_v2(void *stream)
{
    return fk_drop(stream, FK_STREAM, "cuStreamDestroy");
}

FK_API int cuStreamSynchronize(void *stream)
{
    (void)stream;
    return FK_OK;
}

FK_API int cuStreamQuery(void *stream)
{
    (void)stream;
    return FK_OK;
}

FK_API int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return FK_OK;
}

FK_API int cuStreamGetCtx(void *stream, struct fk_context **context)
{
    struct fk_object *object = fk_object(stream, FK_STREAM);
    *context = object ? fk_primary(object->device) : fk_context();
    return FK_OK;
}

/* There are no default streams here, so the variants for them are the same. */
#define CAPTURES(variant)                                                                          \
    FK_API int cuStreamBeginCapture##variant(void *stream)                                         \
    {                                                                                              \
        return fk_capture_begin(stream);                                                           \
    }                                                                                              \
    FK_API int cuStreamBeginCapture_v2##variant(void *stream, int mode)                            \
    {                                                                                              \
        (void)mode;                                                                                \
        return fk_capture_begin(stream);                                                           \
    }                                                                                              \
    FK_API int cuStreamBeginCaptureToGraph##variant(void *stream, void *graph, const void *nodes,  \
                                                    const void *edges, size_t count, int mode)     \
    {                                                                                              \
        (void)graph;                                                                               \
        (void)nodes;                                                                               \
        (void)edges;                                                                               \
        (void)count;                                                                               \
        (void)mode;                                                                                \
        return fk_capture_begin(stream);                                                           \
    }                                                                                              \
    FK_API int cuStreamEndCapture##variant(void *stream, void **graph)                             \
    {                                                                                              \
        return fk_capture_end(stream, graph);                                                      \
    }
CAPTURES()
CAPTURES(_ptsz)

FK_API int cuStreamIsCapturing(void *stream, int *status)
{
    *status = fk_capturing(stream);
    return FK_OK;
}

FK_API int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    return fk_new(event, FK_EVENT);
}

FK_API int cuEventDestroy_v2(void *event)
{
    return fk_drop(event, FK_EVENT, "cuEventDestroy");
}

FK_API int cuEventRecord(void *event, void *stream)
{
    (void)event;
    return fk_stream_check(stream, "cuEventRecord");
}

FK_API int cuEventQuery(void *event)
{
    (void)event;
    return FK_OK;
}

FK_API int cuEventSynchronize(void *event)
{
    (void)event;
    return FK_OK;
}

FK_API int cuEventElapsedTime(float *milliseconds, void *start, void *end)
{
    (void)start;
    (void)end;
    *milliseconds = constant_milliseconds;
    return FK_OK;
}

FK_API int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    (void)graph;
    (void)flags;
    return fk_new(exec, FK_GRAPH_EXEC);
}

FK_API int cuGraphLaunch(void *exec, void *stream)
{
    (void)exec;
    return fk_stream_check(stream, "cuGraphLaunch");
}

FK_API int cuGraphExecDestroy(void *exec)
{
    return fk_drop(exec, FK_GRAPH_EXEC, "cuGraphExecDestroy");
}

FK_API int cuGraphDestroy(void *graph)
{
    return fk_drop(graph, FK_GRAPH, "cuGraphDestroy");
}
