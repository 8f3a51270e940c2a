#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people's programs load onto a GPU, plain and under the library: CuPy, Numba, JAX, Triton, PyTorch with its profiler and
CUDA graphs, NVIDIA's own bindings, programs under compute-sanitizer and cuda-gdb; code for every class that nvcc knows;
and what a load costs. Needs a GPU; what isn't installed is skipped.

    tests/gpu/apps.py --library LIBRARY --tool TOOL [--only NAME,...] [--rounds 5]
"""
import argparse
import glob
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from loads import HERE, IMAGES, Bench, build_roads, find_nvcc

HAS_GPU = "import ctypes; raise SystemExit(ctypes.CDLL('libcuda.so.1').cuInit(0) != 0)"
APPS = os.path.join(HERE, "apps")
# Program: the modules it needs, and counters that must have moved.
PROGRAMS = {
    "cupy": (["cupy", "cuda.bindings"], ["loads_file"]),
    "numba": (["numba", "numba.cuda"], []),
    "jax": (["jax"], ["loads_dlsym"]),
    "triton": (["torch", "triton"], ["loads_linked"]),
    "torch": (["torch"], ["loads_query"]),
    "driver": (["cuda.bindings"], ["loads_foreign", "unloads", "links"]),
}
# What `loads` calls the five functions that load FILE.
FUNCTIONS = ("path", "data", "data with options", "fat binary", "library")
# Invalid image, no binary for this GPU, invalid PTX, PTX of a later version.
REFUSALS = ("200", "209", "218", "222")
ANY_ROAD = ("loads_linked", "loads_dlsym", "loads_query")


def installed(modules):
    try:
        return all(importlib.util.find_spec(name) for name in modules)
    except ModuleNotFoundError:
        return False


def program(name):
    return [sys.executable, os.path.join(APPS, name + "_loads.py")]


def programs(bench, only):
    for name, (modules, moved) in PROGRAMS.items():
        if only and name not in only:
            continue
        if not installed(modules):
            bench.skip(f"{name}: not installed")
            continue
        counters = bench.compare(name, program(name), dict.fromkeys(moved))
        if counters is not None:
            roads = {road: counters.get(road, 0) for road in ANY_ROAD}
            bench.check(sum(roads.values()) > 0, f"{name}: {roads}")


def tools(bench, only):
    """A debugger and a checker that stand between the program and the driver, too."""
    roads = build_roads(bench)
    cubin = os.path.join(IMAGES, "plain.sm_90.cubin")
    for name, command in (("compute-sanitizer", ["compute-sanitizer", "--tool", "memcheck", "--log-file", os.devnull]),
                          ("cuda-gdb", ["cuda-gdb", "-q", "-batch", "-ex", "run", "-ex", "quit", "--args"])):
        if only and name not in only:
            continue
        found = shutil.which(name) or glob.glob(f"/usr/local/cuda/bin/{name}")
        if not found or not roads:
            bench.skip(f"{name}: not installed")
            continue
        for road in ("linked", "dlsym", "query"):
            seen = []
            for shared in (False, True):
                status, text, counters = bench.run([*command, roads, road, cubin], shared)
                seen.append((status, sorted(line for line in text.splitlines() if ": " in line and "ran" in line or "loaded" in line)))
            bench.check(seen[0] == seen[1] and seen[0][1], f"{name}, {road}: the same under the library", f"{seen[0]}\n{seen[1]}\n{text}")
            bench.check(counters.get("loads_" + road) == 7, f"{name}, {road}: loads counted", counters)


def classes(bench):
    """No rule of ours may say `foreign` where the driver says yes, and each refusal for the class is named."""
    nvcc, roads = find_nvcc(), build_roads(bench)
    if not nvcc or not roads:
        return bench.skip("classes: no nvcc")
    listed = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True).stdout.split()
    names = listed + [name + "a" for name in listed if name >= "sm_90"] + [name + "f" for name in listed if len(name) > 5]
    source = os.path.join(os.path.dirname(HERE), "image", "kernels.cu")
    for name in names + [name.replace("sm", "compute") for name in names]:
        path = os.path.join(bench.work, name)
        form = ["-cubin", f"-arch={name}"] if name.startswith("sm") else ["-ptx", f"-arch={name}"]
        if subprocess.run([nvcc, *form, "-o", path, source], capture_output=True).returncode:
            continue
        _, plain, _ = bench.run([roads, "linked", path], False)
        answers = [line.split(": ") for line in plain.splitlines()]
        refused = [": ".join(one) for one in answers if one[0] in FUNCTIONS and one[1] in REFUSALS]
        _, shared, counters = bench.run([roads, "linked", path], True)
        bench.check(plain == shared, f"class {name}: the same under the library", f"{plain}\n{shared}")
        foreign = counters.get("loads_foreign", 0)
        # Of PTX for another class the driver may say so, or that it can't read it.
        bench.check(foreign == len(refused) or name.startswith("compute") and foreign < len(refused),
                    f"class {name}: {foreign} loads called foreign, refused {sorted(set(refused)) or 'none'}", f"{plain}\n{counters}")


def median(runs):
    return [statistics.median(column) for column in zip(*runs)]


def costs(bench, rounds):
    """Told, not judged: medians of alternating runs."""
    roads, figures = build_roads(bench), {}
    image = big_cubin(bench) or os.path.join(IMAGES, "plain.sm_90.cubin")
    commands = {"torch and a matrix product (s, CPU s, peak kB)": program("matmul")} if installed(["torch"]) else {}
    if roads:
        for road in ("linked", "dlsym", "query"):
            commands[f"one load of {os.path.getsize(image)} bytes again (us), {road}"] = [roads, road, image, "300"]
        commands[f"a process's first load of {os.path.getsize(image)} bytes (us)"] = [roads, "dlsym", image, "1"]
    for what, command in commands.items():
        runs = {False: [], True: []}
        for turn in range(2 * rounds * (3 if command[0] == roads else 1)):
            shared = bool(turn % 2) ^ bool(turn // 2 % 2)
            status, text, _ = bench.run(command, shared)
            if status == 0:
                runs[shared].append([float(word) for word in text.split()])
        if runs[False] and runs[True]:
            plain, with_us = median(runs[False]), median(runs[True])
            figures[what] = {"plain": plain, "library": with_us, "runs": {"plain": runs[False], "library": runs[True]}}
            ratios = ", ".join(f"{b / a:.3f}" for a, b in zip(plain, with_us))
            print(f"cost    {what}: plain {plain}, library {with_us}, ratios {ratios}", flush=True)
    return figures


BIG_KERNEL = """extern "C" __global__ void k%(i)d(float *x)
{
    float a = x[threadIdx.x];
#pragma unroll
    for (int i = 0; i < %(times)d; i++)
        a = a * x[i] + x[i * 2 + %(i)d];
    x[threadIdx.x] = a;
}
"""


def big_cubin(bench):
    """About 100 kB of code: one kernel in many sizes."""
    nvcc = find_nvcc()
    if not nvcc:
        return None
    source, path = os.path.join(bench.work, "big.cu"), os.path.join(bench.work, "big.cubin")
    with open(source, "w") as out:
        for i in range(24):
            out.write(BIG_KERNEL % {"i": i, "times": 64 + i})
    made = subprocess.run([nvcc, "-cubin", "-arch=native", "-o", path, source], capture_output=True)
    return path if made.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    args = parser.parse_args()
    args.pretended, only = False, [name for name in args.only.split(",") if name]
    bench = Bench(args, tempfile.mkdtemp(prefix="rankshare-gpu-apps-"))
    figures = {}
    try:
        if bench.run([sys.executable, "-c", HAS_GPU], False)[0]:
            print("skipped: no GPU")
            return 0
        programs(bench, only)
        tools(bench, only)
        if not only or "classes" in only:
            classes(bench)
        if not only or "costs" in only:
            figures = costs(bench, args.rounds)
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    if args.json:
        with open(args.json, "w") as out:
            json.dump(figures, out, indent=1)
    print(f"{bench.passed} passed, {bench.failed} failed, {bench.skipped} skipped")
    return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
