# SPDX-License-Identifier: Apache-2.0
"""CuPy: an elementwise kernel of its own, a RawKernel (NVRTC, loaded from memory), a RawModule from a file of PTX."""
import os
import sys
import tempfile

import cupy

SOURCE = r"""
extern "C" __global__ void triple(const float *x, float *y, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n)
        y[i] = 3 * x[i];
}
"""


def main():
    x = cupy.arange(1000, dtype=cupy.float32)
    y = cupy.zeros_like(x)
    cupy.RawKernel(SOURCE, "triple")((4,), (256,), (x, y, 1000))
    print("raw kernel", float(y.sum()))
    print("elementwise", float((x * 2 + y).sum()))
    from cuda.bindings import nvrtc
    _, program = nvrtc.nvrtcCreateProgram(SOURCE.encode(), b"triple.cu", 0, [], [])
    nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_80"])
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "triple.ptx")
        with open(path, "wb") as out:
            out.write(text.rstrip(b"\0 "))
        y.fill(0)
        cupy.RawModule(path=path).get_function("triple")((4,), (256,), (x, y, 1000))
        print("module from a file", float(y.sum()))


if __name__ == "__main__":
    sys.exit(main())
