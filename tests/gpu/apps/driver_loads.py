# SPDX-License-Identifier: Apache-2.0
"""The driver by NVIDIA's own Python bindings: NVRTC's cubin and PTX; a good and a bad load while a stream is captured; two
contexts; the primary context reset; a fork after cuInit; the linker."""
import os
import sys

from cuda.bindings import driver, nvrtc

SOURCE = b"""
extern "C" __global__ void fill(int *x, int value) { x[threadIdx.x] = value; }
"""
MODES = driver.CUstreamCaptureMode


def compile_for(architecture):
    _, program = nvrtc.nvrtcCreateProgram(SOURCE, b"fill.cu", 0, [], [])
    status, = nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=" + architecture])
    if int(status):
        raise SystemExit(f"nvrtc: {status}")
    real = architecture.startswith(b"sm")
    _, size = (nvrtc.nvrtcGetCUBINSize if real else nvrtc.nvrtcGetPTXSize)(program)
    image = b" " * size
    (nvrtc.nvrtcGetCUBIN if real else nvrtc.nvrtcGetPTX)(program, image)
    return image


def run(image, what):
    status, module = driver.cuModuleLoadData(image)
    if int(status):
        return print(what, status)
    _, function = driver.cuModuleGetFunction(module, b"fill")
    _, memory = driver.cuMemAlloc(128)
    import ctypes
    arguments = ((int(memory), 7), (ctypes.c_void_p, ctypes.c_int))
    status, = driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0)
    back = bytearray(128)
    driver.cuMemcpyDtoH(back, memory, 128)
    driver.cuMemFree(memory)
    print(what, status, sum(back[::4]), driver.cuModuleUnload(module)[0])


def captured(images):
    """Whether the driver permits a load meanwhile is its business: it must be the same under the library."""
    for mode in (MODES.CU_STREAM_CAPTURE_MODE_GLOBAL, MODES.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, MODES.CU_STREAM_CAPTURE_MODE_RELAXED):
        for name, image in images:
            _, stream = driver.cuStreamCreate(1)
            driver.cuStreamBeginCapture(stream, mode)
            status, module = driver.cuModuleLoadData(image)
            ended, graph = driver.cuStreamEndCapture(stream)
            print("captured", mode.name, name, status, ended)
            if not int(status):
                driver.cuModuleUnload(module)
            driver.cuStreamDestroy(stream)


def linked(ptx):
    _, link = driver.cuLinkCreate(0, [], [])
    added, = driver.cuLinkAddData(link, driver.CUjitInputType.CU_JIT_INPUT_PTX, ptx, len(ptx), b"fill", 0, [], [])
    done, cubin, size = driver.cuLinkComplete(link)
    print("linked", added, done, size > 0)
    if not int(done):
        import ctypes
        run(ctypes.string_at(int(cubin), size), "linker's cubin")
    driver.cuLinkDestroy(link)


def main():
    if int(driver.cuInit(0)[0]):
        return 77
    sys.stdout.flush()
    if os.fork() == 0:
        print("in a child", driver.cuDeviceGetCount()[0])
        sys.stdout.flush()
        os._exit(0)
    os.wait()
    _, device = driver.cuDeviceGet(0)
    _, major = driver.cuDeviceGetAttribute(driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
    _, minor = driver.cuDeviceGetAttribute(driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
    cubin, ptx = compile_for(b"sm_%d%d" % (major, minor)), compile_for(b"compute_80")
    foreign = compile_for(b"sm_80" if major != 8 else b"sm_90")
    _, primary = driver.cuDevicePrimaryCtxRetain(device)
    driver.cuCtxSetCurrent(primary)
    for name, image in (("cubin", cubin), ("ptx", ptx), ("foreign", foreign), ("garbage", b"neither ELF nor fatbin nor PTX" * 4)):
        run(image, name)
    captured((("cubin", cubin), ("foreign", foreign)))
    linked(ptx)
    try:
        status, second = driver.cuCtxCreate(None, 0, device)
    except TypeError:
        status, second = driver.cuCtxCreate(0, device)
    run(cubin, "second context")
    driver.cuCtxDestroy(second)
    driver.cuCtxSetCurrent(primary)
    run(cubin, "primary context again")
    driver.cuDevicePrimaryCtxReset(device)
    _, primary = driver.cuDevicePrimaryCtxRetain(device)
    driver.cuCtxSetCurrent(primary)
    run(cubin, "after the reset")


if __name__ == "__main__":
    sys.exit(main())
