/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/cuda_instead.h"

#include "base/sys.h"

#include <errno.h>

typedef CUresult module_data(CUmodule *module, const void *image);
typedef CUresult library_data(CUlibrary *library, const void *image, CUjit_option *options,
                              void **values, unsigned count, CUlibraryOption *library_options,
                              void **library_values, unsigned library_count);

/* Looks at the file before the clock starts that says how long the driver needed. */
static bool has_bytes(struct rs_cuda_call *call, const char *path)
{
    int saved = errno;
    rs_module_file_look(path, &call->file);
    errno = saved;
    call->began = rs_sys_clock_ns(CLOCK_MONOTONIC);
    return call->file.bytes.data != NULL;
}

bool rs_instead_module(struct rs_cuda_call *call, CUmodule *module, const char *path)
{
    CUmodule made = NULL;
    if (!has_bytes(call, path) || module == NULL)
        return false;
    module_data *load =
        (module_data *)rs_cuda_real(RS_CUDA_cuModuleLoadData, call->road, call->caller);
    int saved = errno;
    call->served = load != NULL && load(&made, call->file.bytes.data) == 0;
    if (call->served)
        *module = made;
    else
        errno = saved;
    return call->served;
}

/* Options may ask for logs, whose sizes are told in the places that they come from: such a call can
 * be made once. */
bool rs_instead_library(struct rs_cuda_call *call, CUlibrary *library, const char *path,
                        unsigned count, unsigned library_count)
{
    CUlibrary made = NULL;
    if (!has_bytes(call, path) || library == NULL || count != 0 || library_count != 0)
        return false;
    library_data *load =
        (library_data *)rs_cuda_real(RS_CUDA_cuLibraryLoadData, call->road, call->caller);
    int saved = errno;
    call->served =
        load != NULL && load(&made, call->file.bytes.data, NULL, NULL, 0, NULL, NULL, 0) == 0;
    if (call->served)
        *library = made;
    else
        errno = saved;
    return call->served;
}
