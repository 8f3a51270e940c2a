/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/cuda_instead.h"

#include "base/sys.h"

#include <errno.h>

typedef CUresult module_data(CUmodule *module, const void *image);
typedef CUresult module_data_ex(CUmodule *module, const void *image, unsigned count,
                                CUjit_option *options, void **values);
typedef CUresult library_data(CUlibrary *library, const void *image, CUjit_option *options,
                              void **values, unsigned count, CUlibraryOption *library_options,
                              void **library_values, unsigned library_count);

void *rs_cuda_load_code(const struct rs_cuda_call *call, enum rs_cuda function, const void *code)
{
    void *real = rs_cuda_real(function, call->road, call->caller);
    void *made = NULL;
    CUresult result = 1;
    if (real == NULL)
        return NULL;
    if (function == RS_CUDA_cuModuleLoadData)
        result = ((module_data *)real)((CUmodule *)&made, code);
    else if (function == RS_CUDA_cuModuleLoadDataEx)
        result = ((module_data_ex *)real)((CUmodule *)&made, code, 0, NULL, NULL);
    else if (function == RS_CUDA_cuLibraryLoadData)
        result = ((library_data *)real)((CUlibrary *)&made, code, NULL, NULL, 0, NULL, NULL, 0);
    return result == 0 ? made : NULL;
}

/* Looks at the file before the clock starts that says how long the driver needed. */
static bool has_bytes(struct rs_cuda_call *call, const char *path)
{
    int saved = errno;
    rs_module_file_look(path, &call->file);
    errno = saved;
    call->began = rs_sys_clock_ns(CLOCK_MONOTONIC);
    return call->file.bytes.data != NULL;
}

/* The handle that the driver has made of the file's bytes by FUNCTION, or NULL. */
static void *load_bytes(struct rs_cuda_call *call, enum rs_cuda function)
{
    int saved = errno;
    void *made = rs_cuda_load_code(call, function, call->file.bytes.data);
    call->served = made != NULL;
    if (made == NULL)
        errno = saved;
    return made;
}

bool rs_instead_module(struct rs_cuda_call *call, CUmodule *module, const char *path)
{
    if (!has_bytes(call, path) || module == NULL)
        return false;
    void *made = load_bytes(call, RS_CUDA_cuModuleLoadData);
    if (made != NULL)
        *module = (CUmodule)made;
    return made != NULL;
}

/* Options may ask for logs, whose sizes are told in the places that they come from: such a call can
 * be made once. */
bool rs_instead_library(struct rs_cuda_call *call, CUlibrary *library, const char *path,
                        unsigned count, unsigned library_count)
{
    if (!has_bytes(call, path) || library == NULL || count != 0 || library_count != 0)
        return false;
    void *made = load_bytes(call, RS_CUDA_cuLibraryLoadData);
    if (made != NULL)
        *library = (CUlibrary)made;
    return made != NULL;
}
