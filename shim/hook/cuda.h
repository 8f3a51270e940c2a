/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver hooks: what cuda_api.def lists, on the three roads by which a program gets at the
 * driver. Linked: the loader binds a call to the wrapper that this library exports. dlsym and
 * cuGetProcAddress: the real one is asked first, and only an answer that is the very function of
 * libcuda.so.1 is exchanged for a wrapper. The wrappers call the driver with the arguments as they
 * came, give its result back as it is, and write to nothing of the caller's.
 *
 * Nothing here loads or links libcuda; until a program has loaded it, nothing happens.
 */
#ifndef RS_HOOK_CUDA_H
#define RS_HOOK_CUDA_H

#include "hook/cuda_types.h"
#include "rank/load.h"

#include <stdbool.h>

enum rs_cuda {
#define RS_CUDA(name, base, since, role, parameters, arguments, made, about, subject)              \
    RS_CUDA_##name,
#include "hook/cuda_api.def"
#undef RS_CUDA
    RS_CUDA_COUNT
};

/* What a row is about. */
enum rs_cuda_role {
    RS_ROLE_image,
    RS_ROLE_file,
    RS_ROLE_unload,
    RS_ROLE_lookup,
    RS_ROLE_linking,
    RS_ROLE_linked,
    RS_ROLE_query,
    RS_ROLE_capture,
    RS_ROLE_captured,
};

/* Whether NAME is in the table: a cheap look for the dlsym hook. */
bool rs_cuda_named(const char *name);

/* For the dlsym hook (rs_dlsym_swap): the wrapper, when FOUND is libcuda's own. */
void *rs_cuda_swap(void *handle, const char *name, void *found);

/* The same for an answer of cuGetProcAddress. */
void *rs_cuda_answer(void *found);

/* What a wrapper calls. On RS_ROAD_LINKED the next definition after this library, so that other
 * preloaded libraries keep their turn; without libcuda what the library of CALLER (a return
 * address) has by that name. Else libcuda's. NULL: there is none. errno is preserved. */
void *rs_cuda_real(enum rs_cuda function, enum rs_road road, void *caller);

/* The wrappers of one road, in the order of the table (cuda_wrap.c). */
extern void *const rs_cuda_wrappers[RS_ROADS][RS_CUDA_COUNT];

/* Compute capability of the device of the thread's context; 0 and 0: unknown. Three questions to
 * the driver, none of which touches a stream; only asked when it has refused an image. */
void rs_cuda_capability(unsigned *major, unsigned *minor);

/* Whether all devices that the process sees are of that kind. */
bool rs_cuda_all_devices(unsigned major, unsigned minor);

/* Another function of libcuda's; NULL: this driver has none. errno is preserved. */
void *rs_cuda_symbol(const char *name);

#endif
