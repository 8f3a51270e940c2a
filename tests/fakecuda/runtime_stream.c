/* SPDX-License-Identifier: Apache-2.0 */
/* libcudart.so.N: streams, events, graphs. As in the real runtime, a thread that comes without a
 * context gets the one of device 0 by the first call that needs one. */
#include "runtime.h"

#include <string.h>

FK_API int cudaStreamCreate(void **stream)
{
    return rt_done(fk_new(stream, FK_STREAM));
}

FK_API int cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
    (void)flags;
    return cudaStreamCreate(stream);
}

FK_API int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    int rc = cudaStreamCreateWithFlags(stream, flags);
    if (rc == FK_OK)
        fk_object(*stream, FK_STREAM)->value = priority;
    return rc;
}

FK_API int cudaStreamDestroy(void *stream)
{
    return rt_done(fk_drop(stream, FK_STREAM, "cudaStreamDestroy"));
}

FK_API int cudaStreamGetPriority(void *stream, int *priority)
{
    struct fk_object *object = fk_object(stream, FK_STREAM);
    *priority = object ? object->value : 0;
    return FK_OK;
}

FK_API int cudaStreamGetDevice(void *stream, int *device)
{
    struct fk_object *object = fk_object(stream, FK_STREAM);
    *device = object ? object->device : fk_bind();
    return FK_OK;
}

FK_API int cudaStreamQuery(void *stream)
{
    (void)stream;
    fk_bind();
    return FK_OK;
}

FK_API int cudaStreamSynchronize(void *stream)
{
    (void)stream;
    fk_bind();
    return FK_OK;
}

FK_API int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return FK_OK;
}

/* Work before it is done at once, so the callback runs at once. */
FK_API int cudaStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data,
                                 unsigned flags)
{
    (void)flags;
    callback(stream, FK_OK, data);
    return FK_OK;
}

FK_API int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data)
{
    (void)stream;
    function(data);
    return FK_OK;
}

FK_API int cudaStreamBeginCapture(void *stream, int mode)
{
    (void)mode;
    return rt_done(fk_capture_begin(stream));
}

FK_API int cudaStreamEndCapture(void *stream, void **graph)
{
    return rt_done(fk_capture_end(stream, graph));
}

FK_API int cudaStreamIsCapturing(void *stream, int *status)
{
    fk_bind();
    *status = fk_capturing(stream);
    return FK_OK;
}

FK_API int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    (void)mode;
    return FK_OK;
}

static int capture_info(void *stream, int *status, unsigned long long *id)
{
    bool capturing = fk_capturing(stream);
    *status = capturing;
    if (id)
        *id = capturing ? fk_object(stream, FK_STREAM)->id : 0;
    return FK_OK;
}

/* CUDA 12 calls the form with dependencies _v2; in 13 the plain name has them, with edge data. */
FK_API int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id,
                                       void **graph, void ***dependencies, size_t *count)
{
    if (graph)
        *graph = NULL;
    if (dependencies)
        *dependencies = NULL;
    if (count)
        *count = 0;
    return capture_info(stream, status, id);
}

#if RUNTIME_MAJOR == 12
FK_API int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id)
{
    return capture_info(stream, status, id);
}
#else
FK_API int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph,
                                    void ***dependencies, void **edges, size_t *count)
{
    if (edges)
        *edges = NULL;
    return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count);
}
#endif

FK_API int cudaEventCreate(void **event)
{
    return rt_done(fk_new(event, FK_EVENT));
}

FK_API int cudaEventCreateWithFlags(void **event, unsigned flags)
{
    (void)flags;
    return cudaEventCreate(event);
}

FK_API int cudaEventDestroy(void *event)
{
    return rt_done(fk_drop(event, FK_EVENT, "cudaEventDestroy"));
}

FK_API int cudaEventRecord(void *event, void *stream)
{
    (void)event;
    return rt_done(fk_stream_check(stream, "cudaEventRecord"));
}

FK_API int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    (void)flags;
    return cudaEventRecord(event, stream);
}

FK_API int cudaEventQuery(void *event)
{
    (void)event;
    fk_bind();
    return FK_OK;
}

FK_API int cudaEventSynchronize(void *event)
{
    (void)event;
    fk_bind();
    return FK_OK;
}

/* Constant, so that autotuning always ends in a tie and picks the same configuration. */
FK_API int cudaEventElapsedTime(float *milliseconds, void *start, void *end)
{
    (void)start;
    (void)end;
    *milliseconds = 0.01f;
    return FK_OK;
}

FK_API int cudaGraphCreate(void **graph, unsigned flags)
{
    (void)flags;
    return rt_done(fk_new(graph, FK_GRAPH));
}

FK_API int cudaGraphDestroy(void *graph)
{
    return rt_done(fk_drop(graph, FK_GRAPH, "cudaGraphDestroy"));
}

FK_API int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags)
{
    (void)flags;
    if (!fk_object(graph, FK_GRAPH))
        return rt_fail("cudaGraphInstantiate", FK_INVALID_VALUE);
    return rt_done(fk_new(exec, FK_GRAPH_EXEC));
}

FK_API int cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    return cudaGraphInstantiate(exec, graph, flags);
}

FK_API int cudaGraphExecDestroy(void *exec)
{
    return rt_done(fk_drop(exec, FK_GRAPH_EXEC, "cudaGraphExecDestroy"));
}

FK_API int cudaGraphLaunch(void *exec, void *stream)
{
    if (!fk_object(exec, FK_GRAPH_EXEC))
        return rt_fail("cudaGraphLaunch", FK_INVALID_VALUE);
    return rt_done(fk_stream_check(stream, "cudaGraphLaunch"));
}

/* A graph of ours has no nodes: what was captured did nothing. */
FK_API int cudaGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    (void)graph;
    (void)nodes;
    *count = 0;
    return FK_OK;
}

FK_API int cudaUserObjectCreate(void **object, void *data, void (*destroy)(void *), unsigned count,
                                unsigned flags)
{
    (void)count;
    (void)flags;
    int rc = fk_new(object, FK_USER_OBJECT);
    if (rc != FK_OK)
        return rt_done(rc);
    fk_object(*object, FK_USER_OBJECT)->destroy = destroy;
    fk_object(*object, FK_USER_OBJECT)->data = data;
    return FK_OK;
}
