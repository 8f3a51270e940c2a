#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the pretend CUDA libraries that an installed torch needs.

    mkstubs.py OUT [SITE_PACKAGES]

Without SITE_PACKAGES only libcuda.so.1 is built. With it, torch's own libraries are read: every CUDA
library they need and nobody has becomes a small library with the soname, version node and symbols they
ask for. Functions written by hand come from the C files beside this script, the others return 0.
Then: LD_LIBRARY_PATH=OUT TRITON_LIBCUDA_PATH=OUT python ...
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from elfdyn import Elf

HERE = Path(__file__).resolve().parent
CORE = ["state", "log", "memory", "object", "image", "module", "proc",
        "driver_device", "driver_module", "driver_memory"]
BY_HAND = {
    "cudart": ["runtime_device", "runtime_memory", "runtime_stream", "runtime_launch"],
    "nccl": ["nccl"],
    "cublas": ["cublas"],
    "cublasLt": ["cublas"],
}
CFLAGS = ["-I", HERE.parent.parent / "shim", "-std=gnu11", "-O2", "-g", "-fPIC", "-Wall", "-Wextra", "-Werror"]
# Libraries with one of these names are CUDA's; whatever else is missing is not for us to pretend.
CUDA_NAMES = ("cuda", "cu", "nccl", "nvrtc", "nvshmem", "nvToolsExt", "nvJitLink")


def library_name(soname):
    """libcublasLt.so.13 -> cublasLt"""
    return re.sub(r"^lib|\.so.*$", "", soname)


def is_cuda(soname):
    return library_name(soname).startswith(CUDA_NAMES)


def prefix_of(soname):
    """The letters that the functions of a library begin with, in lower case."""
    name = library_name(soname).split("_")[0].lower()
    return {"nvtoolsext": "nvtx"}.get(name, name)


def read_torch(site_packages):
    """soname -> (version node or None, set of symbols), for every CUDA library torch does not bring."""
    folder = Path(site_packages) / "torch" / "lib"
    files = sorted(folder.glob("*.so*"))
    if not files:
        sys.exit(f"mkstubs: no torch in {site_packages}")
    own = {file.name for file in files}
    wanted, loose = {}, set()
    for file in files:
        elf = Elf(file)
        for soname in elf.needed():
            if soname not in own and is_cuda(soname):
                wanted.setdefault(soname, [None, set()])
        for symbol in elf.undefined():
            if symbol.library and is_cuda(symbol.library):
                entry = wanted.setdefault(symbol.library, [None, set()])
                entry[0] = symbol.version
                entry[1].add(symbol.name)
            elif symbol.version is None:
                loose.add(symbol.name)
    for name in loose:
        owners = [s for s in wanted if name.lower().startswith(prefix_of(s))]
        if owners:
            wanted[max(owners, key=lambda s: len(prefix_of(s)))][1].add(name)
    wanted.pop("libcuda.so.1", None)
    return wanted


class Builder:
    def __init__(self, out, work, compiler):
        self.out, self.work, self.compiler = Path(out), Path(work), compiler

    def run(self, *arguments):
        result = subprocess.run([*self.compiler, *map(str, arguments)], capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"mkstubs: the compiler failed:\n{result.stderr}")

    def compile(self, source, name, *flags):
        target = self.work / name
        self.run(*CFLAGS, "-fvisibility=hidden", *flags, "-c", source, "-o", target)
        return target

    def link(self, soname, objects, *flags):
        self.run("-shared", "-Wl,-Bsymbolic-functions", f"-Wl,-soname,{soname}", *flags,
                 "-o", self.out / soname, *objects)

    def driver(self):
        objects = [self.compile(HERE / f"{name}.c", f"{name}.o") for name in CORE]
        self.link("libcuda.so.1", objects, "-lpthread")
        link = self.out / "libcuda.so"
        if not link.is_symlink():
            link.symlink_to("libcuda.so.1")

    def stub(self, soname, version, symbols):
        """One library: hand-written functions where there are some, the rest return 0."""
        name = library_name(soname)
        major = re.search(r"\.so\.(\d+)", soname)
        flags = [f"-DRUNTIME_MAJOR={13 if major and int(major[1]) >= 13 else 12}"]
        objects = [self.compile(HERE / f"{part}.c", f"{name}-{part}.o", *flags)
                   for part in BY_HAND.get(name, [])]
        written = set().union(*(Elf(o).defined() for o in objects))
        source = self.work / f"{name}-rest.c"
        source.write_text("".join(f"int {s}(void);\nint {s}(void)\n{{\n    return 0;\n}}\n"
                                  for s in sorted(symbols - written)) or "typedef int empty;\n")
        objects.append(self.compile(source, f"{name}-rest.o", "-fvisibility=default", "-w"))
        extra = []
        if version:
            script = self.work / f"{name}.map"
            script.write_text(f"{version} {{ global: *; }};\n")
            extra.append(f"-Wl,--version-script={script}")
        libraries = ["-Wl,-z,defs", f"-L{self.out}", "-l:libcuda.so.1"]
        self.link(soname, [*objects, *libraries], *extra)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="folder for the libraries")
    parser.add_argument("site_packages", nargs="?", help="where torch is installed")
    parser.add_argument("--cc", default=os.environ.get("CC") or "cc", help="C compiler")
    arguments = parser.parse_intermixed_args()
    os.makedirs(arguments.out, exist_ok=True)
    wanted = read_torch(arguments.site_packages) if arguments.site_packages else {}
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(os.cpu_count()) as pool:
        builder = Builder(arguments.out, work, arguments.cc.split())
        builder.driver()
        list(pool.map(lambda item: builder.stub(item[0], *item[1]), wanted.items()))
    print("\n".join(["libcuda.so.1", *sorted(wanted)]))


if __name__ == "__main__":
    main()
