/* SPDX-License-Identifier: Apache-2.0 */
/* Handles: streams, events, graphs. A stream knows its device and whether it is being captured. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#define OBJECT_MAGIC 0x664f626au

static unsigned long long next_id;

/* Every handle type is a pointer, so the place to write one comes as void *. */
int fk_new(void *out, enum fk_kind kind)
{
    struct fk_object *object = calloc(1, sizeof(*object));
    if (!object)
        return FK_OUT_OF_MEMORY;
    object->magic = OBJECT_MAGIC;
    object->kind = kind;
    object->device = fk_bind();
    object->id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
    memcpy(out, &object, sizeof(object));
    return FK_OK;
}

struct fk_object *fk_object(void *handle, enum fk_kind kind)
{
    struct fk_object *object = handle;
    /* 1 and 2 are the legacy and the per-thread default stream */
    if ((uintptr_t)handle < 4096 || object->magic != OBJECT_MAGIC || object->kind != kind)
        return NULL;
    return object;
}

int fk_drop(void *handle, enum fk_kind kind, const char *call)
{
    struct fk_object *object = fk_object(handle, kind);
    if (!object)
        return fk_fail(call, FK_INVALID_HANDLE);
    object->magic = 0;
    if (object->destroy)
        object->destroy(object->data);
    free(object);
    return FK_OK;
}

/* Work goes to a stream of the current device, or to a default stream. */
int fk_stream_check(void *stream, const char *call)
{
    int device = fk_bind();
    if ((uintptr_t)stream < 4096)
        return FK_OK;
    struct fk_object *object = fk_object(stream, FK_STREAM);
    if (!object || object->device != device)
        return fk_fail(call, FK_INVALID_HANDLE);
    return FK_OK;
}

int fk_capture_begin(void *stream)
{
    struct fk_object *object = fk_object(stream, FK_STREAM);
    if (!object || object->capturing)
        return fk_fail("StreamBeginCapture", FK_INVALID_VALUE);
    object->capturing = true;
    return FK_OK;
}

int fk_capture_end(void *stream, void *graph_out)
{
    struct fk_object *object = fk_object(stream, FK_STREAM);
    if (!object || !object->capturing)
        return fk_fail("StreamEndCapture", FK_INVALID_VALUE);
    object->capturing = false;
    return fk_new(graph_out, FK_GRAPH);
}

bool fk_capturing(void *stream)
{
    struct fk_object *object = fk_object(stream, FK_STREAM);
    return object && object->capturing;
}
