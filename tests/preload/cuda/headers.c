/* SPDX-License-Identifier: Apache-2.0
 *
 * The table against the toolkit's own header: each function's type, the old ones included.
 * Compiled, never run.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#define TOOLKIT(name) (&name)

/* Our types beside the toolkit's. */
#define CUresult                       our_CUresult
#define CUjit_option                   our_CUjit_option
#define CUjitInputType                 our_CUjitInputType
#define CUlibraryOption                our_CUlibraryOption
#define CUdriverProcAddressQueryResult our_CUdriverProcAddressQueryResult
#define cuuint64_t                     our_cuuint64_t
#define CUmodule                       our_CUmodule
#define CUlibrary                      our_CUlibrary
#define CUfunction                     our_CUfunction
#define CUkernel                       our_CUkernel
#define CUlinkState                    our_CUlinkState
#define CUstreamCaptureMode            our_CUstreamCaptureMode
#define CUstream                       our_CUstream
#define CUgraph                        our_CUgraph
#define CUgraphNode                    our_CUgraphNode
#define CUgraphEdgeData                our_CUgraphEdgeData
#include "hook/cuda_types.h"

#define RS_CUDA(name, base, since, role, parameters, arguments, made, about, subject)              \
    CUresult(*our_##name) parameters = TOOLKIT(name);
#include "hook/cuda_api.def"
#undef RS_CUDA
