/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1: modules, libraries, functions, launches, the linker. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

FK_API int cuModuleLoad(void **module, const char *path)
{
    return fk_load_file(module, path, "cuModuleLoad", true);
}

FK_API int cuModuleLoadData(void **module, const void *image)
{
    return fk_load_data(module, image, "cuModuleLoadData", true);
}

FK_API int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                              void **values)
{
    (void)count;
    (void)options;
    (void)values;
    return fk_load_data(module, image, "cuModuleLoadDataEx", true);
}

FK_API int cuModuleLoadFatBinary(void **module, const void *image)
{
    return fk_load_data(module, image, "cuModuleLoadFatBinary", true);
}

FK_API int cuModuleUnload(void *module)
{
    return fk_unload(module, "cuModuleUnload");
}

FK_API int cuModuleGetLoadingMode(int *mode)
{
    *mode = 2; /* lazy */
    return FK_OK;
}

FK_API int cuModuleGetFunction(void **function, void *module, const char *name)
{
    return fk_get_function(function, module, name, "cuModuleGetFunction");
}

FK_API int cuModuleGetFunctionCount(unsigned *count, void *module)
{
    return fk_function_count(module, count, "cuModuleGetFunctionCount");
}

FK_API int cuModuleGetGlobal_v2(void **pointer, size_t *size, void *module, const char *name)
{
    (void)name;
    *pointer = fk_global(module, size);
    return *pointer ? FK_OK : fk_fail("cuModuleGetGlobal", FK_INVALID_HANDLE);
}

FK_API int cuLibraryLoadData(void **library, const void *code, int *jit, void **jit_values,
                             unsigned jit_count, int *options, void **values, unsigned count)
{
    (void)jit;
    (void)jit_values;
    (void)jit_count;
    (void)options;
    (void)values;
    (void)count;
    return fk_load_data(library, code, "cuLibraryLoadData", false);
}

FK_API int cuLibraryLoadFromFile(void **library, const char *path, int *jit, void **jit_values,
                                 unsigned jit_count, int *options, void **values, unsigned count)
{
    (void)jit;
    (void)jit_values;
    (void)jit_count;
    (void)options;
    (void)values;
    (void)count;
    return fk_load_file(library, path, "cuLibraryLoadFromFile", false);
}

FK_API int cuLibraryUnload(void *library)
{
    return fk_unload(library, "cuLibraryUnload");
}

FK_API int cuLibraryGetModule(void **module, void *library)
{
    *module = library;
    return FK_OK;
}

FK_API int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    return fk_get_function(kernel, library, name, "cuLibraryGetKernel");
}

FK_API int cuLibraryGetKernelCount(unsigned *count, void *library)
{
    return fk_function_count(library, count, "cuLibraryGetKernelCount");
}

FK_API int cuKernelGetFunction(void **function, void *kernel)
{
    *function = kernel;
    return fk_function_name(kernel) ? FK_OK : fk_fail("cuKernelGetFunction", FK_INVALID_HANDLE);
}

FK_API int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device)
{
    (void)device;
    if (!fk_function_name(kernel))
        return fk_fail("cuKernelGetAttribute", FK_INVALID_HANDLE);
    return fk_function_attribute(attribute, value);
}

FK_API int cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
    (void)attribute;
    (void)value;
    (void)device;
    return fk_function_name(kernel) ? FK_OK : fk_fail("cuKernelSetAttribute", FK_INVALID_HANDLE);
}

FK_API int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    if (!fk_function_name(function))
        return fk_fail("cuFuncGetAttribute", FK_INVALID_HANDLE);
    return fk_function_attribute(attribute, value);
}

FK_API int cuFuncSetAttribute(void *function, int attribute, int value)
{
    (void)attribute;
    (void)value;
    return fk_function_name(function) ? FK_OK : fk_fail("cuFuncSetAttribute", FK_INVALID_HANDLE);
}

FK_API int cuFuncSetCacheConfig(void *function, int config)
{
    (void)config;
    return fk_function_name(function) ? FK_OK : fk_fail("cuFuncSetCacheConfig", FK_INVALID_HANDLE);
}

FK_API int cuFuncGetName(const char **name, void *function)
{
    *name = fk_function_name(function);
    return *name ? FK_OK : fk_fail("cuFuncGetName", FK_INVALID_HANDLE);
}

FK_API int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          void *stream, void **parameters, void **extra)
{
    (void)shared;
    (void)parameters;
    (void)extra;
    unsigned shape[6] = {grid_x, grid_y, grid_z, block_x, block_y, block_z};
    return fk_launch(function, stream, shape, "cuLaunchKernel");
}

FK_API int cuLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned shared, void *stream,
                                     void **parameters)
{
    (void)shared;
    (void)parameters;
    unsigned shape[6] = {grid_x, grid_y, grid_z, block_x, block_y, block_z};
    return fk_launch(function, stream, shape, "cuLaunchCooperativeKernel");
}

struct launch_config {
    unsigned shape[6];
    unsigned shared;
    void *stream;
};

FK_API int cuLaunchKernelEx(const struct launch_config *config, void *function, void **parameters,
                            void **extra)
{
    (void)parameters;
    (void)extra;
    return fk_launch(function, config->stream, config->shape, "cuLaunchKernelEx");
}

FK_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int block_size,
                                                       size_t shared)
{
    (void)function;
    (void)shared;
    *blocks = block_size > 0 ? 2048 / block_size : 1;
    return FK_OK;
}

FK_API int cuOccupancyMaxActiveClusters(int *clusters, void *function, const void *config)
{
    (void)function;
    (void)config;
    *clusters = 16;
    return FK_OK;
}

/* CUtensorMap is 128 opaque bytes. */
FK_API int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                                  const uint64_t *sizes, const uint64_t *strides,
                                  const uint32_t *box, const uint32_t *steps, int interleave,
                                  int swizzle, int promotion, int fill)
{
    (void)type, (void)rank, (void)address, (void)sizes, (void)strides, (void)box;
    (void)steps, (void)interleave, (void)swizzle, (void)promotion, (void)fill;
    memset(map, 0, 128);
    return FK_OK;
}

FK_API int cuTensorMapEncodeIm2col(void *map)
{
    memset(map, 0, 128);
    return FK_OK;
}

/* The linker hands back what was added last: a driver that compiles nothing can only load it as it
 * is. */
FK_API int cuLinkCreate_v2(unsigned count, int *options, void **values, void **state)
{
    (void)count;
    (void)options;
    (void)values;
    int rc = fk_new(state, FK_LINK);
    if (rc == FK_OK)
        fk_object(*state, FK_LINK)->destroy = free;
    return rc;
}

FK_API int cuLinkAddData_v2(void *state, int type, void *data, size_t size, const char *name,
                            unsigned count, int *options, void **values)
{
    (void)type, (void)name, (void)count, (void)options, (void)values;
    struct fk_object *link = fk_object(state, FK_LINK);
    if (!link || !data)
        return fk_fail("cuLinkAddData", FK_INVALID_VALUE);
    char *copy = malloc(size + 1);
    if (!copy)
        return FK_OUT_OF_MEMORY;
    memcpy(copy, data, size);
    copy[size] = '\0';
    free(link->data);
    link->data = copy;
    link->value = (int)size;
    return FK_OK;
}

FK_API int cuLinkAddData(void *state, int type, void *data, size_t size, const char *name,
                         unsigned count, int *options, void **values)
{
    return cuLinkAddData_v2(state, type, data, size, name, count, options, values);
}

FK_API int cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, int *options,
                            void **values)
{
    size_t size;
    char *data = path ? fk_read_file(path, &size) : NULL;
    if (!data)
        return fk_fail("cuLinkAddFile", FK_FILE_NOT_FOUND);
    int rc = cuLinkAddData_v2(state, type, data, size, path, count, options, values);
    free(data);
    return rc;
}

FK_API int cuLinkAddFile(void *state, int type, const char *path, unsigned count, int *options,
                         void **values)
{
    return cuLinkAddFile_v2(state, type, path, count, options, values);
}

FK_API int cuLinkComplete(void *state, void **cubin, size_t *size)
{
    struct fk_object *link = fk_object(state, FK_LINK);
    if (!link || !link->data)
        return fk_fail("cuLinkComplete", FK_INVALID_IMAGE);
    *cubin = link->data;
    if (size)
        *size = (size_t)link->value;
    return FK_OK;
}

FK_API int cuLinkDestroy(void *state)
{
    return fk_drop(state, FK_LINK, "cuLinkDestroy");
}
