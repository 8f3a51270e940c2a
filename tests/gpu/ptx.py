#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RANKSHARE_PTX=1 in front of a real driver: answers and results are those of a plain load, and what it gains
against the driver's own cache of compiled PTX. Needs a GPU and a C compiler; with nvcc one text is larger.

    tests/gpu/ptx.py --library LIBRARY --tool TOOL [--times 3] [--ranks 8] [--pretended]

Each load is a process of its own. --pretended: the driver is one on which no kernel runs and nothing is compiled.
"""
import argparse
import concurrent.futures
import itertools
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from loads import IMAGES, NO_GPU, build, counters_of, find_nvcc, remove_segment

SMALL = os.path.join(IMAGES, "kernels.sm_80.ptx")
FUNCTIONS = ("data", "ex", "registers", "log", "library", "capture")
ALONE = ("log", "capture")  # never shared: an option with a result, a capture

# Sixteen kernels of some size, as a compiler makes them out of unrolled loops.
SOURCE = """
#define BODY(number) \\
extern "C" __global__ void __launch_bounds__(256) scale_##number(float *x, float a, int n) \\
{ \\
    __shared__ float tile[256]; \\
    float sums[16]; \\
    int i = threadIdx.x; \\
    tile[i] = i < n ? x[i] : 0; \\
    __syncthreads(); \\
    _Pragma("unroll") for (int k = 0; k < 16; k++) sums[k] = tile[(i + k) & 255]; \\
    _Pragma("unroll") for (int k = 0; k < 64; k++) \\
        sums[k & 15] = fmaf(sums[k & 15], a, tile[(i * (2 * k + 1) + number) & 255]) + rsqrtf(1 + sums[(k + 5) & 15] * sums[(k + 5) & 15]); \\
    float sum = 0; \\
    _Pragma("unroll") for (int k = 0; k < 16; k++) sum += sums[k]; \\
    if (i < n) x[i] = sum; \\
}
""" + "".join(f"BODY({i})\n" for i in range(16))


class NoGpu(Exception):
    pass


class Text:
    def __init__(self, name, path, kernels):
        self.name, self.path, self.kernels = name, path, kernels
        self.size = os.path.getsize(path)


def repeated(work, count):
    """The committed kernel, COUNT times under other names."""
    with open(SMALL) as file:
        head, body = file.read().split(".visible .entry", 1)
    path = os.path.join(work, f"repeated-{count}.ptx")
    with open(path, "w") as out:
        out.write(head)
        for i in range(count):
            entry = ".visible .entry" + body
            out.write(re.sub(r"\bscale\b|\bscale(?=_param)", f"scale_{i}", entry).replace("_ZZ5scaleE4tile", f"tile_{i}") + "\n")
    return path


def texts(work):
    yield Text("1 kernel", repeated(work, 1), 1)
    yield Text("40 kernels", repeated(work, 40), 40)
    nvcc = find_nvcc()
    if not nvcc:
        print("no nvcc: the text with unrolled kernels is left out")
        return
    source, path = os.path.join(work, "unrolled.cu"), os.path.join(work, "unrolled.ptx")
    with open(source, "w") as out:
        out.write(SOURCE)
    made = subprocess.run([nvcc, "-arch=compute_80", "-ptx", "-o", path, source], capture_output=True, text=True)
    if made.returncode:
        print("nvcc: " + made.stderr[-300:])
    else:
        yield Text("16 unrolled", path, 16)


class Bench:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.program, self.why = build(work, "ptx")
        self.passed = self.failed = 0
        self.numbers = itertools.count(1)

    def check(self, good, what, detail=""):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f"FAILED  {what}\n        {detail}", flush=True)

    def fresh(self, what):
        return os.path.join(self.work, f"{what}{next(self.numbers)}")

    def segment(self):
        return f"gpuptx{os.getpid()}-{next(self.numbers)}"

    def environment(self, cache, segment, rank=0, ptx=True):
        """CACHE: the driver's, a folder or None; SEGMENT: the library's, or None for a plain process."""
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("RANKSHARE", "LD_PRELOAD", "CUDA_CACHE"))}
        keep.update({"CUDA_CACHE_PATH": cache, "CUDA_CACHE_MAXSIZE": str(1 << 30)} if cache else {"CUDA_CACHE_DISABLE": "1"})
        if segment:
            keep.update(LD_PRELOAD=os.path.abspath(self.args.library), RANKSHARE="1", RANKSHARE_SEGMENT=segment,
                        RANKSHARE_PTX=str(int(ptx)), RANK=str(rank))
        return keep

    def start(self, function, text, environment, at=None):
        command = [self.program, function, text.path, str(text.kernels)] + ([str(at)] if at else [])
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def finish(self, process):
        """(what the program says but for times, microseconds to load, and to run everything once)"""
        out, _ = process.communicate(timeout=300)
        if process.returncode == NO_GPU:
            raise NoGpu(out.strip())
        found = re.search(r"times: (\S+) (\S+)", out)
        if process.returncode or not found:
            return f"status {process.returncode}: {out}", 0.0, 0.0
        return out.replace(found[0] + "\n", ""), float(found[1]), float(found[2])

    def run(self, function, text, *environment, **more):
        return self.finish(self.start(function, text, self.environment(*environment, **more)))


def answers_of(bench, text, function, wrong):
    """FUNCTION plain and three times under the library: the same answers, results and registers."""
    segment = bench.segment()
    plain, _, _ = bench.run(function, text, None, None)
    for rank in range(3):
        got, _, _ = bench.run(function, text, None, segment, rank=rank)
        what = f"{text.name}, {function}, rank {rank}"
        same = got.split("kernel:")[0] == plain.split("kernel:")[0]
        bench.check(same, what + ": answer and results", f"{plain}        {got}")
        if got != plain and same:
            print(f"note    {what}: the driver describes the kernel otherwise\n        {plain}        {got}")
    count = counters_of(bench.args.tool, segment)
    shared = not wrong and function not in ALONE
    if not bench.args.pretended:
        seen = [count.get(name, 0) for name in ("ptx_compiled", "ptx_taken", "ptx_left")]
        bench.check(seen == ([1, 2, 0] if shared else [0, 0, 3]), f"{text.name}, {function}: compiled, taken, left", seen)
    remove_segment(segment)


def answers(bench, text, wrong=False):
    """Every function at the same time: no time is taken here."""
    with concurrent.futures.ThreadPoolExecutor(len(FUNCTIONS)) as pool:
        list(pool.map(lambda function: answers_of(bench, text, function, wrong), FUNCTIONS))
    print(f"compared: {text.name}", flush=True)


def wrong_texts(bench):
    """Texts that the driver refuses, each for another reason."""
    with open(SMALL) as file:
        good = file.read()
    for name, text in (("syntax", good.replace("fma.rn.f32", "fma.xx.f32")), ("version", good.replace(".version 9.0", ".version 99.0")),
                       ("target", good.replace("sm_80", "sm_121a")), ("cut", good[:len(good) // 2]),
                       ("extern", good.replace(".const .align", ".extern .func missing;\n.const .align").replace("bar.sync", "call missing;\n\tbar.sync"))):
        path = os.path.join(bench.work, name + ".ptx")
        with open(path, "w") as out:
            out.write(text)
        answers(bench, Text("wrong: " + name, path, 1), wrong=True)


def one_at_a_time(bench, text):
    """{mode: [(load, run) of each time]}, the modes mixed so that a slow minute hits all."""
    rows = {}

    def add(mode, *environment, **more):
        _, load, use = bench.run("data", text, *environment, **more)
        rows.setdefault(mode, []).append((load, use))

    for _ in range(bench.args.times):
        cache, own, segment = bench.fresh("cache"), bench.fresh("cache"), bench.segment()
        add("plain, driver's cache off", None, None)
        add("plain, driver's cache cold", cache, None)
        add("plain, driver's cache warm", cache, None)
        add("library without RANKSHARE_PTX, cache off", None, segment, ptx=False)
        add("RANKSHARE_PTX, first rank, cache off", None, segment)
        add("RANKSHARE_PTX, second rank, cache off", None, segment, rank=1)
        remove_segment(segment)
        add("RANKSHARE_PTX, first rank, cache cold", own, segment)
        add("RANKSHARE_PTX, second rank, cache on", own, segment, rank=1)
        remove_segment(segment)
        add("RANKSHARE_PTX, first rank, cache as left by that", own, segment)
        remove_segment(segment)
    return rows


def all_at_once(bench, text):
    """All ranks begin to load within the same second: the slowest one counts."""
    rows = {}
    for _ in range(bench.args.times):
        for mode, cache, ptx in (("plain, cache off", False, False), ("plain, cache cold", True, False), ("RANKSHARE_PTX, cache off", False, True)):
            segment, folder = bench.segment() if ptx else None, bench.fresh("cache") if cache else None
            at = int(time.time()) + 3
            ranks = [bench.start("data", text, bench.environment(folder, segment, rank=i), at) for i in range(bench.args.ranks)]
            done = [bench.finish(process) for process in ranks]
            taken = counters_of(bench.args.tool, segment).get("ptx_taken", 0) if ptx else 0
            rows.setdefault(f"{bench.args.ranks} ranks at once: {mode}", []).append((max(load for _, load, _ in done),
                                                                                     max(use for _, _, use in done), taken))
            if ptx:
                remove_segment(segment)
    return rows


def table(text, rows):
    print(f"\n{text.name}, {text.size / 1000:.0f} kB of PTX; medians in ms (lowest to highest of the load)")
    print(f"{'':52}{'load':>10}{'':>22}{'all kernels once':>18}")
    for mode, times in rows.items():
        loads, uses = [each[0] / 1000 for each in times], [each[1] / 1000 for each in times]
        more = f"   code taken by {statistics.median(each[2] for each in times):.0f} ranks" if "RANKSHARE_PTX" in mode and len(times[0]) > 2 else ""
        print(f"{mode:52}{statistics.median(loads):10.2f}  {f'({min(loads):.2f} to {max(loads):.2f})':>20}{statistics.median(uses):18.2f}{more}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--pretended", action="store_true")
    args = parser.parse_args()
    work = tempfile.mkdtemp(prefix="rankshare-gpu-ptx-")
    bench = Bench(args, work)
    try:
        if not bench.program:
            print(bench.why)
            return 0
        for text in list(texts(work)):
            answers(bench, text)
            if not args.pretended:
                table(text, {**one_at_a_time(bench, text), **(all_at_once(bench, text) if text.kernels > 1 else {})})
        wrong_texts(bench)
    except NoGpu as reason:
        print(reason)
        return 0
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"\n{bench.passed} passed, {bench.failed} failed")
    return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
