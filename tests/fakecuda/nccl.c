/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pretend NCCL: every rank is taken to hold equal data, so a collective is a copy within the
 * process. Only the functions that must do something are here; the generator adds the rest, which
 * return 0.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NCCL_VERSION 22809

struct communicator {
    int ranks;
    int rank;
    int device;
};

struct unique_id {
    char bytes[128];
};

FK_API int ncclGetVersion(int *version)
{
    *version = NCCL_VERSION;
    return 0;
}

FK_API const char *ncclGetErrorString(int code)
{
    return code ? "pretend NCCL error" : "no error";
}

FK_API const char *ncclGetLastError(void *communicator)
{
    (void)communicator;
    return "";
}

FK_API int ncclGetUniqueId(struct unique_id *id)
{
    static int count;
    int words[2] = {(int)getpid(), __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED)};
    memset(id, 0, sizeof(*id));
    memcpy(id->bytes, words, sizeof(words));
    return 0;
}

FK_API int ncclCommInitRank(struct communicator **out, int ranks, struct unique_id id, int rank)
{
    (void)id;
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return 2; /* system error */
    (*out)->ranks = ranks;
    (*out)->rank = rank;
    (*out)->device = fk_bind();
    return 0;
}

FK_API int ncclCommInitRankConfig(struct communicator **out, int ranks, struct unique_id id,
                                  int rank, void *config)
{
    (void)config;
    return ncclCommInitRank(out, ranks, id, rank);
}

/* The new group: taken to hold all ranks again, for which nobody here asks more closely. */
FK_API int ncclCommSplit(struct communicator *from, int color, int key, struct communicator **out,
                         void *config)
{
    (void)config;
    struct unique_id id = {{0}};
    *out = NULL;
    return color < 0 ? 0 : ncclCommInitRank(out, from->ranks, id, key);
}

FK_API int ncclCommDestroy(struct communicator *communicator)
{
    free(communicator);
    return 0;
}

FK_API int ncclCommAbort(struct communicator *communicator)
{
    free(communicator);
    return 0;
}

FK_API int ncclCommCount(const struct communicator *communicator, int *count)
{
    *count = communicator->ranks;
    return 0;
}

FK_API int ncclCommUserRank(const struct communicator *communicator, int *rank)
{
    *rank = communicator->rank;
    return 0;
}

FK_API int ncclCommCuDevice(const struct communicator *communicator, int *device)
{
    *device = communicator->device;
    return 0;
}

FK_API int ncclCommGetAsyncError(struct communicator *communicator, int *error)
{
    (void)communicator;
    *error = 0;
    return 0;
}

FK_API int ncclMemAlloc(void **pointer, size_t size)
{
    return fk_alloc(pointer, size, FK_DEVICE) == FK_OK ? 0 : 2;
}

FK_API int ncclMemFree(void *pointer)
{
    return fk_free(pointer) == FK_OK ? 0 : 4;
}

/* ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, fp8 */
static size_t bytes_of(int type)
{
    static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && type < (int)sizeof(sizes) ? sizes[type] : 1;
}

static int copy(const void *from, void *to, size_t bytes)
{
    if (to && from)
        memmove(to, from, bytes);
    return 0;
}

FK_API int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation,
                         struct communicator *communicator, void *stream)
{
    (void)operation, (void)communicator, (void)stream;
    return copy(from, to, count * bytes_of(type));
}

FK_API int ncclReduce(const void *from, void *to, size_t count, int type, int operation, int root,
                      struct communicator *communicator, void *stream)
{
    (void)root;
    return ncclAllReduce(from, to, count, type, operation, communicator, stream);
}

FK_API int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                         struct communicator *communicator, void *stream)
{
    (void)root, (void)communicator, (void)stream;
    return copy(from, to, count * bytes_of(type));
}

FK_API int ncclReduceScatter(const void *from, void *to, size_t count, int type, int operation,
                             struct communicator *communicator, void *stream)
{
    (void)operation, (void)stream;
    size_t bytes = count * bytes_of(type);
    return copy((const char *)from + (size_t)communicator->rank * bytes, to, bytes);
}

FK_API int ncclAllGather(const void *from, void *to, size_t count, int type,
                         struct communicator *communicator, void *stream)
{
    (void)stream;
    size_t bytes = count * bytes_of(type);
    for (int rank = 0; rank < communicator->ranks; rank++)
        copy(from, (char *)to + (size_t)rank * bytes, bytes);
    return 0;
}
