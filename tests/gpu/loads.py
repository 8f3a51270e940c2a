#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The driver hooks in front of a real driver: each road and each load function, plain and under the library, and programs
with a shared and a static CUDA runtime. Needs a GPU and a C compiler; nvcc for the latter.

    tests/gpu/loads.py --library LIBRARY --tool TOOL [--pretended]

--pretended: the driver is one on which no kernel runs, so its results are not looked at.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGES = os.path.join(os.path.dirname(HERE), "data", "images")
NO_GPU = 77
COUNTERS = {"linked": "loads_linked", "dlsym": "loads_dlsym", "query": "loads_query"}


def find_nvcc():
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    return nvcc if os.path.exists(nvcc) else None


def build(work, name):
    """The program of NAME.c, linked to the driver: (its path or None, why not)."""
    program = os.path.join(work, name)
    folders = [f"-L{d}" for d in os.environ.get("LD_LIBRARY_PATH", "").split(":") if d]
    done = subprocess.run([os.environ.get("CC") or "cc", "-O1", "-std=gnu11", "-D_GNU_SOURCE", "-o", program, os.path.join(HERE, name + ".c"),
                           *folders, "-l:libcuda.so.1", "-ldl"], capture_output=True, text=True)
    return (None, f"no compiler, or no libcuda.so.1 to link to\n{done.stderr[-500:]}") if done.returncode else (program, "")


def counters_of(tool, segment):
    told = subprocess.run([tool, "stats", "--json", "--segment", segment], capture_output=True, text=True)
    return json.loads(told.stdout)["total"] if told.returncode == 0 else {}


def remove_segment(segment):
    for path in glob.glob(f"/dev/shm/rankshare.*.{segment}"):
        os.unlink(path)


class Bench:
    def __init__(self, args, work):
        self.args, self.work, self.number = args, work, 0
        self.passed = self.failed = self.skipped = 0

    def check(self, good, what, detail=""):
        self.passed += bool(good)
        self.failed += not good
        print(("ok      " if good else "FAILED  ") + what + ("" if good else f"\n{detail}"), flush=True)

    def skip(self, what):
        self.skipped += 1
        print("skipped " + what, flush=True)

    def run(self, command, shared):
        """(exit status, output, counters or None)"""
        self.number += 1
        segment = f"gpuloads{os.getpid()}-{self.number}"
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("RANKSHARE", "LD_PRELOAD"))}
        keep.update(CUDA_CACHE_DISABLE="1", PYTHONWARNINGS="ignore")
        for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUPY_CACHE_DIR", "NUMBA_CACHE_DIR"):
            keep[name] = os.path.join(self.work, f"cache-{self.number}")
        if shared:
            keep.update(LD_PRELOAD=os.path.abspath(self.args.library), RANKSHARE="1", RANKSHARE_SEGMENT=segment)
        done = subprocess.run(command, env=keep, capture_output=True, text=True, timeout=300)
        counters = None
        if shared:
            counters = counters_of(self.args.tool, segment)
            remove_segment(segment)
        return done.returncode, done.stdout + done.stderr, counters

    def compare(self, what, command, expected):
        """EXPECTED: {counter: what it must be, or None for any but 0}."""
        status, plain, _ = self.run(command, False)
        if status == NO_GPU:
            self.skip(f"{what}: no GPU")
            return None
        self.check(status == 0 and (self.args.pretended or " wrong" not in plain.replace(" 0 wrong", "")),
                   f"{what}: the program itself", f"{status}\n{plain}")
        status, got, counters = self.run(command, True)
        self.check(status == 0 and got == plain, f"{what}: the same under the library", f"plain\n{plain}\nshared ({status})\n{got}")
        for name, value in expected.items():
            count = counters.get(name, 0)
            self.check(count == value if value is not None else count > 0, f"{what}: {name} is {count}", f"expected {value}")
        return counters


def build_roads(bench):
    """The program of loads.c, built once; None without a compiler or a libcuda."""
    program = os.path.join(bench.work, "loads")
    if os.path.exists(program):
        return program
    program, why = build(bench.work, "loads")
    if not program:
        bench.skip(f"roads: {why}")
    return program


def roads(bench):
    program = build_roads(bench)
    if not program:
        return
    for image in ("kernels.sm_80.ptx", "plain.sm_90.cubin"):
        for road, counter in COUNTERS.items():
            # A path, three images, a library; then a missing file and something that is no image.
            expected = dict.fromkeys(COUNTERS.values(), 0) | {counter: 7, "loads_file": 2, "loads_unknown": 2}
            bench.compare(f"{road}, {image}", [program, road, os.path.join(IMAGES, image)], expected)


def runtimes(bench):
    nvcc = find_nvcc()
    if not nvcc:
        return bench.skip("runtimes: no nvcc")
    for kind in ("shared", "static"):
        program = os.path.join(bench.work, kind)
        made = subprocess.run([nvcc, "-cudart", kind, "-arch=native", "-o", program, os.path.join(HERE, "runtime.cu")],
                              capture_output=True, text=True)
        if made.returncode:
            bench.skip(f"runtime, {kind}: nvcc: {made.stderr.strip()[-300:]}")
        else:
            bench.compare(f"runtime, {kind}", [program], {"loads_query": None, "loads_mapped": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--pretended", action="store_true")
    args = parser.parse_args()
    work = tempfile.mkdtemp(prefix="rankshare-gpu-loads-")
    bench = Bench(args, work)
    try:
        roads(bench)
        if not args.pretended:
            runtimes(bench)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{bench.passed} passed, {bench.failed} failed, {bench.skipped} skipped")
    return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
