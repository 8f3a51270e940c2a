/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads that are asked of the driver in another way than the program did: a file of the cache as
 * the bytes that the node's store has, PTX as the code that was made of it once. Each function here
 * returns true when the driver has succeeded, and has then written what the call itself would have
 * written; else nothing was written, and the program's own call follows, so that a failure is
 * always the driver's answer to that. errno is preserved where nothing was done.
 */
#ifndef RS_HOOK_CUDA_INSTEAD_H
#define RS_HOOK_CUDA_INSTEAD_H

#include "hook/cuda.h"

/* A call on its way through a wrapper. */
struct rs_cuda_call {
    enum rs_road road;
    void *caller;   /* a return address: rs_cuda_real() */
    uint64_t began; /* CLOCK_MONOTONIC: when the driver was called */
    struct rs_module_file file;
    bool served; /* by FILE's bytes */
};

/* The handle that the driver makes of CODE by FUNCTION (cuModuleLoadData, cuModuleLoadDataEx or
 * cuLibraryLoadData) on the road of CALL, without options; NULL: none. errno is the driver's. */
void *rs_cuda_load_code(const struct rs_cuda_call *call, enum rs_cuda function, const void *code);

bool rs_instead_module(struct rs_cuda_call *call, CUmodule *module, const char *path);
/* COUNT and LIBRARY_COUNT: of the options of either kind. */
bool rs_instead_library(struct rs_cuda_call *call, CUlibrary *library, const char *path,
                        unsigned count, unsigned library_count);

/* The same for PTX: cuModuleLoadData, cuModuleLoadDataEx, cuLibraryLoadData (cuda_compile.c). COUNT
 * to VALUES: the options of the compiler. */
bool rs_instead_data(struct rs_cuda_call *call, CUmodule *module, const void *image);
bool rs_instead_data_ex(struct rs_cuda_call *call, CUmodule *module, const void *image,
                        unsigned count, CUjit_option *options, void **values);
bool rs_instead_library_data(struct rs_cuda_call *call, CUlibrary *library, const void *image,
                             unsigned count, CUjit_option *options, void **values,
                             unsigned library_count);

/* What stands before the program's own call of NAME, with the names of its parameters; false for a
 * function that has nothing. */
#define RS_INSTEAD(name)              RS_INSTEAD_SECOND_(RS_INSTEAD_##name, false)
#define RS_INSTEAD_SECOND_(...)       RS_INSTEAD_SECOND__(__VA_ARGS__, false)
#define RS_INSTEAD_SECOND__(_, ...)   RS_INSTEAD_FIRST_(__VA_ARGS__, _)
#define RS_INSTEAD_FIRST_(first, ...) first
#define RS_INSTEAD_cuModuleLoad       _, rs_instead_module(&call, module, path)
#define RS_INSTEAD_cuLibraryLoadFromFile                                                           \
    _, rs_instead_library(&call, library, path, count, library_count)
#define RS_INSTEAD_cuModuleLoadData _, rs_instead_data(&call, module, image)
#define RS_INSTEAD_cuModuleLoadDataEx                                                              \
    _, rs_instead_data_ex(&call, module, image, count, options, values)
#define RS_INSTEAD_cuLibraryLoadData                                                               \
    _, rs_instead_library_data(&call, library, image, count, options, values, library_count)

#endif
