# SPDX-License-Identifier: Apache-2.0
"""Checks the pretend driver by itself, through ctypes: no torch, no compiler, hand-made images.

    selfcheck.py FOLDER_OF_LIBCUDA
"""

import ctypes
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

PTX = b".version 8.0\n.target sm_80\n.visible .entry from_ptx(\n)\n{ ret; }\n\0"


def cubin(kernel, arch):
    """The smallest ELF file that a driver would take for a cubin: a symbol table with one kernel."""
    names = b"\0" + kernel.encode() + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0x10, 1, 0, 0)
    names_at = 64
    symbols_at = names_at + len(names)
    sections_at = (symbols_at + len(symbols) + 7) & ~7

    def section(kind, offset, size, link=0, entry=0):
        return struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, size, link, 0, 1, entry)

    header = b"\x7fELF\x02\x01\x01\x33\x07" + bytes(7) + struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, sections_at, arch, 64, 0, 0, 64, 3, 1)
    table = section(0, 0, 0) + section(3, names_at, len(names)) + section(
        2, symbols_at, len(symbols), link=1, entry=24)
    return (header + names + symbols).ljust(sections_at, b"\0") + table


class Driver:
    def __init__(self, folder):
        self.cuda = ctypes.CDLL(os.path.join(folder, "libcuda.so.1"))
        self.wrong = []

    def expect(self, code, name, *arguments):
        got = getattr(self.cuda, name)(*arguments)
        if got != code:
            self.wrong.append(f"{name} gives {got}, expected {code}")

    def on_device(self, number):
        context = ctypes.c_void_p()
        self.expect(0, "cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        self.expect(0, "cuCtxSetCurrent", context)

    def launch(self, code, function):
        self.expect(code, "cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, None, None)


def exercise(folder):
    """What a driver accepts, and what it refuses with which number."""
    driver, module, function = Driver(folder), ctypes.c_void_p(), ctypes.c_void_p()
    out, good = ctypes.byref(module), cubin("good", 90)
    driver.expect(201, "cuModuleLoadData", out, good)
    driver.expect(101, "cuDeviceGet", ctypes.byref(ctypes.c_int()), 2)
    driver.on_device(1)
    driver.expect(200, "cuModuleLoadData", out, b"no image at all\0")
    driver.expect(209, "cuModuleLoadData", out, cubin("other", 80))
    driver.expect(209, "cuModuleLoadData", out, cubin("other", 100))
    driver.expect(301, "cuModuleLoad", out, b"/nonexistent/file.cubin")
    driver.expect(0, "cuModuleLoadData", out, PTX)
    driver.expect(0, "cuModuleGetFunction", ctypes.byref(function), module, b"from_ptx")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(good)
        file.flush()
        driver.expect(0, "cuModuleLoad", out, file.name.encode())
    driver.expect(500, "cuModuleGetFunction", ctypes.byref(function), module, b"unknown")
    driver.expect(0, "cuModuleGetFunction", ctypes.byref(function), module, b"good")
    driver.launch(0, function)
    driver.on_device(0)
    driver.launch(400, function)
    driver.on_device(1)
    driver.expect(0, "cuModuleUnload", module)
    driver.launch(400, function)
    found = ctypes.c_void_p()
    driver.expect(0, "cuGetProcAddress", b"cuMemAlloc", ctypes.byref(found), 12000, 0)
    if found.value != ctypes.cast(driver.cuda.cuMemAlloc_v2, ctypes.c_void_p).value:
        driver.wrong.append("cuGetProcAddress(cuMemAlloc) is not cuMemAlloc_v2")
    driver.expect(500, "cuGetProcAddress", b"cuNothing", ctypes.byref(found), 12000, 0)
    return driver.wrong


EXPECTED_LOG = [
    r"load road=cuModuleLoadData device=1 physical=3 arch=80 bytes=\d+ kernels=from_ptx path=$",
    r"load road=cuModuleLoad device=1 physical=3 arch=90 bytes=\d+ kernels=good path=/\S+\.cubin$",
    r"launch device=1 kernel=good grid=1x1x1 block=32x1x1$",
    r"error call=cuModuleLoadData code=209 ",
    r"error call=cuLaunchKernel code=400 .*device=0$",
]


def run(setup, work):
    """Runs the exercise in a process of its own and returns what was wrong."""
    logs = Path(work) / "driver-log"
    logs.mkdir()
    environment = {"PATH": os.environ.get("PATH", ""), "FAKECUDA_DEVICES": "4",
                   "CUDA_VISIBLE_DEVICES": "2,3", "FAKECUDA_LOG": str(logs)}
    result = subprocess.run([sys.executable, __file__, str(setup.environment / "fakecuda")],
                            env=environment, capture_output=True, text=True, timeout=60)
    wrong = result.stdout.splitlines()
    if result.returncode:
        wrong.append(result.stderr.strip() or f"ended with {result.returncode}")
    text = "\n".join(path.read_text() for path in logs.iterdir())
    return wrong + [f"no line in the log like {line}" for line in EXPECTED_LOG
                    if not re.search("^" + line, text, re.MULTILINE)]


if __name__ == "__main__":
    problems = exercise(sys.argv[1])
    for problem in problems:
        print(problem)
