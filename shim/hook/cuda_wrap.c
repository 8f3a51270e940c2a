/* SPDX-License-Identifier: Apache-2.0
 *
 * The wrappers, three of each row: one for each road, so that it is known which one a load took.
 */
#include "base/state.h"
#include "base/sys.h"
#include "hook/cuda.h"
#include "hook/cuda_instead.h"
#include "hook/table.h"
#include "rank/capture.h"
#include "rank/driver.h"

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
};

/* False: the wrapper is a plain call. A driver that calls itself through its exported names, or
 * asks dlsym for them, is not a program that loads something. */
static bool begin(struct rs_cuda_call *call, enum rs_cuda_role role, enum rs_road road,
                  void *caller)
{
    if (!rs_on() || !rs_driver_enter())
        return false;
    if (role == RS_ROLE_capture)
        rs_capture_note(true);
    *call = (struct rs_cuda_call){.road = road, .caller = caller};
    call->began = rs_sys_clock_ns(CLOCK_MONOTONIC);
    return true;
}

/* Whether the driver's answer can mean that the code is for another device. */
static bool refused(enum rs_cuda_role role, CUresult result)
{
    return (role == RS_ROLE_image || role == RS_ROLE_file) &&
           (result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_IMAGE ||
            result == CUDA_ERROR_INVALID_PTX);
}

/* Whether a capture that was to end does not go on: these answers say that it is over, too. */
static bool capture_over(CUresult result)
{
    return result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
           result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

/* A call that has come back. MADE: where the driver has written, if it succeeded. */
struct outcome {
    enum rs_cuda_role role;
    CUresult result;
    void **made;
    const void *about, *subject;
};

static void end(struct rs_cuda_call *call, const struct outcome *outcome)
{
    int saved = errno;
    enum rs_cuda_role role = outcome->role;
    bool good = outcome->result == CUDA_SUCCESS;
    void *made = good && outcome->made != NULL ? *outcome->made : NULL;
    struct rs_load load = {
        .road = call->road,
        .good = good,
        .ns = rs_sys_clock_ns(CLOCK_MONOTONIC) - call->began,
        .handle = made,
    };
    if (refused(role, outcome->result))
        rs_cuda_capability(&load.major, &load.minor);
    rs_driver_leave();
    switch (role) {
    case RS_ROLE_image:
        rs_loaded_image(&load, outcome->subject);
        break;
    case RS_ROLE_file:
        rs_loaded_file(&load, outcome->subject, &call->file, call->served);
        rs_module_file_close(&call->file);
        break;
    case RS_ROLE_unload:
        rs_unloaded(&load, outcome->about);
        break;
    case RS_ROLE_lookup:
        rs_looked_up(&load, outcome->about, outcome->subject);
        break;
    case RS_ROLE_linking:
    case RS_ROLE_linked:
        rs_linked(&load, role == RS_ROLE_linked);
        break;
    case RS_ROLE_capture:
        if (!good)
            rs_capture_note(false);
        break;
    case RS_ROLE_captured:
        if (capture_over(outcome->result))
            rs_capture_note(false);
        break;
    case RS_ROLE_query:
        if (made != NULL)
            *outcome->made = rs_cuda_answer(made);
        break;
    }
    errno = saved;
}

/* A program that was linked to libcuda and runs without it, or calls what this driver lacks, would
 * not have started without us. */
#define BODY(name, role, road, arguments, made, about, subject)                                    \
    {                                                                                              \
        void *caller = __builtin_return_address(0);                                                \
        __typeof__(&name) real = (__typeof__(&name))rs_cuda_real(RS_CUDA_##name, road, caller);    \
        struct rs_cuda_call call;                                                                  \
        if (real == NULL)                                                                          \
            return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;                                      \
        if (!begin(&call, RS_ROLE_##role, road, caller))                                           \
            return real arguments;                                                                 \
        CUresult result = RS_INSTEAD(name) ? CUDA_SUCCESS : real arguments;                        \
        const struct outcome outcome = {RS_ROLE_##role, result, (void **)(made), about, subject};  \
        end(&call, &outcome);                                                                      \
        return result;                                                                             \
    }

#define RS_CUDA(name, base, since, role, parameters, arguments, made, about, subject)              \
    RS_EXPORT CUresult name parameters;                                                            \
    RS_EXPORT CUresult name parameters BODY(name, role, RS_ROAD_LINKED, arguments, made, about,    \
                                            subject);                                              \
    static CUresult dlsym_##name parameters BODY(name, role, RS_ROAD_DLSYM, arguments, made,       \
                                                 about, subject);                                  \
    static CUresult query_##name parameters BODY(name, role, RS_ROAD_QUERY, arguments, made,       \
                                                 about, subject);
#include "hook/cuda_api.def"
#undef RS_CUDA

void *const rs_cuda_wrappers[RS_ROADS][RS_CUDA_COUNT] = {
#define RS_CUDA(name, base, since, role, parameters, arguments, made, about, subject)              \
    [RS_ROAD_LINKED][RS_CUDA_##name] = (void *)name,                                               \
    [RS_ROAD_DLSYM][RS_CUDA_##name] = (void *)dlsym_##name,                                        \
    [RS_ROAD_QUERY][RS_CUDA_##name] = (void *)query_##name,
#include "hook/cuda_api.def"
#undef RS_CUDA
};
