// SPDX-License-Identifier: Apache-2.0
//
// A program as nvcc makes them: its kernels come to the driver through libcudart, by themselves.
#include <cstdio>

__global__ void twice(int *values)
{
    values[threadIdx.x] *= 2;
}

int main()
{
    int values[32], *memory = nullptr, wrong = 0;
    for (int i = 0; i < 32; i++)
        values[i] = i;
    cudaError_t result = cudaMalloc(&memory, sizeof values);
    if (result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver)
        return 77;
    cudaMemcpy(memory, values, sizeof values, cudaMemcpyHostToDevice);
    twice<<<1, 32>>>(memory);
    result = cudaMemcpy(values, memory, sizeof values, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++)
        wrong += values[i] != 2 * i;
    std::printf("%s, %d wrong\n", cudaGetErrorName(result), wrong);
}
