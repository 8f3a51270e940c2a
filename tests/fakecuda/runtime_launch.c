/* SPDX-License-Identifier: Apache-2.0 */
/* libcudart.so.N: kernels compiled into a program, launches, libraries. */
#include "runtime.h"

#include <string.h>

#define MAX_CALLS 16

/* What <<<...>>> pushed, until the kernel's host function takes it. */
struct call {
    struct rt_dim3 grid;
    struct rt_dim3 block;
    size_t shared;
    void *stream;
};

static _Thread_local struct call calls[MAX_CALLS];
static _Thread_local unsigned depth;
static char fat_binary_handle[8];

FK_API unsigned __cudaPushCallConfiguration(struct rt_dim3 grid, struct rt_dim3 block,
                                            size_t shared, void *stream)
{
    if (depth == MAX_CALLS)
        return 1;
    calls[depth++] = (struct call){grid, block, shared, stream};
    return 0;
}

FK_API int __cudaPopCallConfiguration(struct rt_dim3 *grid, struct rt_dim3 *block, size_t *shared,
                                      void *stream)
{
    if (depth == 0)
        return rt_fail("__cudaPopCallConfiguration", FK_INVALID_VALUE);
    const struct call *call = &calls[--depth];
    *grid = call->grid;
    *block = call->block;
    *shared = call->shared;
    memcpy(stream, &call->stream, sizeof(call->stream));
    return FK_OK;
}

/* Registration at start-up: a hundred thousand kernels of libtorch that nobody will run. */
FK_API void **__cudaRegisterFatBinary(void *binary)
{
    (void)binary;
    return (void **)fat_binary_handle;
}

FK_API void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

FK_API void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

FK_API int __cudaRegisterFunction(void)
{
    return FK_OK;
}

FK_API void __cudaRegisterVar(void)
{
}

FK_API int __cudaGetKernel(void **kernel, const void *function)
{
    *kernel = (void *)function;
    return FK_OK;
}

/* Kernels of the program itself are named by the address of their host function. */
static int launch_built_in(const void *function, void *stream, const char *call)
{
    if (fk_stream_check(stream, call) != FK_OK)
        return rt_done(FK_INVALID_HANDLE);
    fk_log("launch device=%d builtin=%p", fk_bind(), function);
    return FK_OK;
}

FK_API int cudaLaunchKernel(const void *function, struct rt_dim3 grid, struct rt_dim3 block,
                            void **arguments, size_t shared, void *stream)
{
    (void)grid, (void)block, (void)arguments, (void)shared;
    return launch_built_in(function, stream, "cudaLaunchKernel");
}

FK_API int __cudaLaunchKernel(const void *function, struct rt_dim3 grid, struct rt_dim3 block,
                              void **arguments, size_t shared, void *stream)
{
    return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

FK_API int cudaLaunchCooperativeKernel(const void *function, struct rt_dim3 grid,
                                       struct rt_dim3 block, void **arguments, size_t shared,
                                       void *stream)
{
    return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

struct launch_config {
    struct rt_dim3 grid;
    struct rt_dim3 block;
    size_t shared;
    void *stream;
};

/* Takes a kernel of the program or one that cudaLibraryGetKernel found. */
FK_API int cudaLaunchKernelExC(const struct launch_config *config, void *function, void **arguments)
{
    (void)arguments;
    return launch_built_in(function, config->stream, "cudaLaunchKernelExC");
}

/* cudaFuncAttributes, the same in CUDA 12 and 13 */
struct function_attributes {
    size_t shared_size;
    size_t constant_size;
    size_t local_size;
    int max_threads_per_block;
    int registers;
    int ptx_version;
    int binary_version;
    int cache_mode;
    int max_dynamic_shared_size;
    int rest[24];
};

FK_API int cudaFuncGetAttributes(struct function_attributes *out, const void *function)
{
    (void)function;
    memset(out, 0, sizeof(*out));
    out->max_threads_per_block = 1024;
    out->registers = 32;
    out->ptx_version = fk_capability();
    out->binary_version = fk_capability();
    out->max_dynamic_shared_size = 49152;
    return FK_OK;
}

FK_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                         int block_size, size_t shared)
{
    (void)function;
    (void)shared;
    *blocks = block_size > 0 ? 2048 / block_size : 1;
    return FK_OK;
}

FK_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                  int block_size, size_t shared,
                                                                  unsigned flags)
{
    (void)flags;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared);
}

FK_API int cudaLibraryLoadData(void **library, const void *code)
{
    return rt_done(fk_load_data(library, code, "cudaLibraryLoadData", false));
}

FK_API int cudaLibraryLoadFromFile(void **library, const char *path)
{
    return rt_done(fk_load_file(library, path, "cudaLibraryLoadFromFile", false));
}

FK_API int cudaLibraryUnload(void *library)
{
    return rt_done(fk_unload(library, "cudaLibraryUnload"));
}

FK_API int cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
    return rt_done(fk_get_function(kernel, library, name, "cudaLibraryGetKernel"));
}

FK_API int cudaLibraryGetKernelCount(unsigned *count, void *library)
{
    return rt_done(fk_function_count(library, count, "cudaLibraryGetKernelCount"));
}

FK_API int cudaLibraryGetGlobal(void **pointer, size_t *size, void *library, const char *name)
{
    (void)name;
    *pointer = fk_global(library, size);
    return *pointer ? FK_OK : rt_fail("cudaLibraryGetGlobal", FK_INVALID_HANDLE);
}
