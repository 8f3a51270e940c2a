/* SPDX-License-Identifier: Apache-2.0
 *
 * The types of the CUDA driver that our wrappers pass on, so that building needs no CUDA.
 * Enumerations are numbers of the same size. Where the toolkit is installed, a test compares the
 * whole table with its cuda.h.
 */
#ifndef RS_HOOK_CUDA_TYPES_H
#define RS_HOOK_CUDA_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned CUresult;
typedef unsigned CUjit_option;
typedef unsigned CUjitInputType;
typedef unsigned CUlibraryOption;
typedef unsigned CUdriverProcAddressQueryResult;
typedef uint64_t cuuint64_t;
typedef struct CUmod_st *CUmodule;
typedef struct CUlib_st *CUlibrary;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUlinkState_st *CUlinkState;
typedef unsigned CUstreamCaptureMode;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphEdgeData_st CUgraphEdgeData;

#endif
