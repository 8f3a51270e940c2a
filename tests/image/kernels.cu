// SPDX-License-Identifier: Apache-2.0
//
// Kernels for the tests of shim/image: shared memory, a stack, tables in constant and global memory,
// a launch bound. FACTOR and EXTRA make others of them.
#ifndef FACTOR
#define FACTOR 3
#endif

__constant__ float table[8];
__device__ int counts[4] = {1, 2, 3};

extern "C" __global__ void __launch_bounds__(256) scale(float *x, float a, int n)
{
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n)
        x[i] = a * FACTOR * tile[255 - threadIdx.x] * table[i & 7] + counts[i & 3];
}

#ifdef EXTRA
extern "C" __global__ void spill(int *p, int n)
{
    int stack[100];
    for (int i = 0; i < n; i++)
        stack[i % 100] = p[i];
    for (int i = 0; i < n; i++)
        p[i] = stack[(p[i] * 7) % 100];
}
#endif

#ifdef WIDE
// Wants more registers than a launch bound of 1024 threads leaves.
extern "C" __global__ void wide(float *x, int n)
{
    float a[64];
#pragma unroll
    for (int i = 0; i < 64; i++)
        a[i] = x[i * n + threadIdx.x];
    for (int k = 0; k < n; k++)
#pragma unroll
        for (int i = 0; i < 64; i++)
            a[i] = a[i] * a[(i * 7 + 1) % 64] + a[(i + 13) % 64];
#pragma unroll
    for (int i = 0; i < 64; i++)
        x[i * n + threadIdx.x] = a[i];
}
#endif
