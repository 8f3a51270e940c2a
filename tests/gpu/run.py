#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on real GPUs, plain and under the library: equal results, one miss per graph in the whole job, caches
that stay usable in both directions. Needs PyTorch and two NVIDIA GPUs; with one, every rank is on cuda:0, so
that leases are tried and views are not, and jobs with collectives are left out.

    tests/gpu/run.py [--only NAME,...] [--parallel K] [--shard I/N] [--stop-after S] [--json FILE]

docs/testing-gpu.md says more.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import launch
import plan

import closed  # beside the jobs on pretended GPUs

printing = threading.Lock()
SEGMENT = f"gpu{os.getpid()}"


def say(text):
    with printing:
        print(text, flush=True)


class Bench:
    """What all jobs share, and what they add up to."""

    def __init__(self, args, devices):
        self.args, self.devices, self.rows = args, devices, plan.read()
        self.began, self.work = time.monotonic(), tempfile.mkdtemp(prefix="rankshare-gpu-")
        self.passed = self.failed = self.skipped = 0
        self.figures = {}

    def check(self, good, what):
        with printing:
            self.passed += bool(good)
            self.failed += not good
            print(("ok      " if good else "FAILED  ") + what, flush=True)

    def skip(self, what):
        with printing:
            self.skipped += 1
            print("skipped " + what, flush=True)

    def note(self, name, figures):
        """Written at once: a run that is cut short leaves what it has."""
        with printing:
            self.figures[name] = figures
            if self.args.json:
                with open(self.args.json, "w") as out:
                    json.dump(self.figures, out, indent=1)

    def stats(self, *options):
        env = dict(os.environ, RANKSHARE_SEGMENT=SEGMENT)
        return subprocess.run([self.args.tool, "stats", *options], env=env, capture_output=True, text=True,
                              timeout=60).stdout

    def counters(self, job):
        """The library's, summed over all ranks of one job."""
        result = {}
        for found in json.loads(self.stats("--json"))["jobs"]:
            for rank in found["ranks"] if found["id"] == job else ():
                for name, count in rank["counters"].items():
                    result[name] = result.get(name, 0) + count
        return result

    def one(self, item):
        """A job's own trouble is no trouble of the others."""
        job, world = item
        label = f"{job.name} x{world}"
        if job.together and world > self.devices:
            return self.skip(f"{label}: needs {world} GPUs")
        if time.monotonic() - self.began > self.args.stop_after:
            return self.skip(f"{label}: no time left to start it")
        began = time.monotonic()
        try:
            Suite(self, job, world, label).run()
        except Exception:
            self.check(False, f"{label}: the test itself broke:\n{traceback.format_exc()}")
        say(f"        {label}: {time.monotonic() - began:.0f} s")


class Suite:
    """One job: plain, then under the library with a cold and with a warm cache."""

    def __init__(self, bench, job, world, label):
        self.bench, self.job, self.world, self.label = bench, job, world, label
        self.work = os.path.join(bench.work, label.replace(" ", "-"))
        os.mkdir(self.work)

    def cache(self, name):
        return os.path.join(self.work, name)

    def environment(self, cache, shared, name):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("RANKSHARE", "TORCHINDUCTOR", "TRITON"))}
        keep.update(TORCHINDUCTOR_CACHE_DIR=cache, HOME=self.work, CUBLAS_WORKSPACE_CONFIG=":4096:8",
                    TORCHINDUCTOR_FX_GRAPH_CACHE="1", TORCHINDUCTOR_AUTOGRAD_CACHE="1")
        if shared:
            before = keep.get("LD_PRELOAD", "")
            keep.update(LD_PRELOAD=os.path.abspath(self.bench.args.library) + (":" + before if before else ""),
                        RANKSHARE="1", RANKSHARE_SEGMENT=SEGMENT, RANKSHARE_JOB=name, RANKSHARE_DIR=self.cache("kept"))
        return keep

    def phase(self, name, cache, world, shared):
        """Runs WORLD ranks over the GPUs present; returns the reports of those that ended well, in order of rank."""
        whole = f"{self.label} {name}"
        base = dict(self.environment(cache, shared, whole), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1",
                    MASTER_PORT=str(plan.free_port()))
        program, *options = self.job.program
        paths = [os.path.join(self.work, f"{name}.{rank}.json".replace(" ", "-")) for rank in range(world)]
        commands = [([sys.executable, str(plan.PROGRAMS / program), path, "--device",
                      str(rank % self.bench.devices), *options],
                     dict(base, RANK=str(rank), LOCAL_RANK=str(rank)), path + ".log") for rank, path in enumerate(paths)]
        began = time.monotonic()
        ends, reports = launch.run(commands, self.bench.args.deadline), []
        for path, ended in zip(paths, ends):
            if ended == 0:
                with open(path) as report:
                    reports.append(json.load(report))
        for rank, ended in enumerate(ends):
            if ended:
                say(f"        {whole}: rank {rank}: {ended}; the end of its output:\n{launch.tail(paths[rank] + '.log')}")
        self.bench.check(len(reports) == world, f"{whole}: all {world} ranks end well")
        self.note(whole, world, cache, reports, time.monotonic() - began)
        return reports

    def note(self, whole, world, cache, reports, seconds):
        counted = [report for report in reports if "counters" in report]
        self.bench.note(whole, {
            "world": world, "seconds": seconds, "first_step_s_max": max((r["first_step_s"] for r in counted), default=None),
            "cpu_s": sum(r["cpu_s"] for r in counted), "files": sum(len(f) for _, _, f in os.walk(cache)),
            **{c: plan.total(counted, c) for c in ("fx_miss", "fx_hit", "fx_bypass", "aot_miss", "aot_hit", "aot_bypass")}})

    def shared(self, name, cache, plain, phase, world=None, library=True):
        """A PHASE (cold or warm) that the table speaks of."""
        whole = f"{self.label} {name}"
        reports = self.phase(name, cache, world or self.world, library)
        if not reports:
            return
        counters = self.bench.counters(whole) if library else None
        losses, native = ({tuple(r["losses"]) for r in of} for of in (reports, plain))
        self.bench.check(losses <= native, f"{whole}: results equal the plain run's to the last digit "
                         f"({len(losses)} different here, {len(native)} in the plain run)")
        if not losses <= native:
            say("\n      ".join(["        plain ", *map(str, sorted(native)), "shared", *map(str, sorted(losses))]))
        for good, what in plan.judge(self.row, phase, plain, reports, counters):
            self.bench.check(good, f"{whole}: {what}")
        self.bench.check(not any(r["memory_on_other_devices"] for r in reports),
                         f"{whole}: no memory on another rank's device")
        if self.job.silent and phase == "cold":
            left = counters["wait_silent"]
            self.bench.check(left == 1, f"{whole}: one waiter left a silent producer (seen {left})")

    def read_only(self, plain):
        """One plain rank's directory, in which nothing can be written, is as good as a warm one."""
        self.phase("another plain rank", self.cache("closed"), 1, False)
        try:
            with closed.closed(self.cache("closed")):
                self.shared("shared on a read-only directory", self.cache("closed"), plain, "warm")
        except closed.Unable as reason:
            self.bench.skip(f"{self.label} on a read-only directory: {reason}")

    def run(self):
        plain = self.phase("plain cold", self.cache("plain"), self.world, False)
        if len(plain) < self.world:
            return self.bench.skip(f"{self.label} shared: the plain run failed")
        self.row = plan.row_of(self.bench.rows, self.job.name, plain[0]["torch"])
        skipped, wrong = plan.skipped(self.row, plain[0])
        if skipped:
            self.bench.check(not wrong, f"{self.label}: {wrong or 'can be left out'}")
            return self.bench.skip(f"{self.label}: {skipped}")
        self.shared("shared cold", self.cache("shared"), plain, "cold")
        self.shared("shared warm", self.cache("shared"), plain, "warm")
        if self.job.directions:
            self.shared("plain after shared", self.cache("shared"), plain, "warm", 1, False)
            self.phase("one plain rank", self.cache("one"), 1, False)
            self.shared("shared after plain", self.cache("one"), plain, "warm")
            self.read_only(plain)
        shutil.rmtree(self.work, ignore_errors=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default="build/librankshare.so")
    parser.add_argument("--tool", default="build/rankshare")
    parser.add_argument("--ranks", default="2,8", help="numbers of ranks for train and infer")
    parser.add_argument("--only", default="", help="names of jobs: " + ", ".join(job.name for job in plan.JOBS))
    parser.add_argument("--parallel", type=int, default=min(6, max(1, len(os.sched_getaffinity(0)) // 6)),
                        help="jobs at a time")
    parser.add_argument("--shard", default="1/1", help="I/N: each Nth job, beginning with the Ith")
    parser.add_argument("--deadline", type=float, default=240, help="seconds for all ranks of one phase of a job")
    parser.add_argument("--stop-after", type=float, default=float("inf"), help="seconds after which no job is started")
    parser.add_argument("--json", help="file for the figures of each phase")
    return parser.parse_args()


def chosen(args):
    """(job, number of ranks) of this run."""
    only = [name for name in args.only.split(",") if name]
    unknown = set(only) - {job.name for job in plan.JOBS}
    if unknown:
        sys.exit(f"no such job: {', '.join(sorted(unknown))}")
    ranks = list(map(int, args.ranks.split(",")))
    every = [(job, world) for job in plan.JOBS if not only or job.name in only for world in job.worlds or ranks]
    part, parts = map(int, args.shard.split("/"))
    return every[part - 1::parts]


def run_all(bench, items):
    """Jobs with collectives one after the other, the others beside them: a kernel that waits for its peer holds the GPU."""
    together = ThreadPoolExecutor(1)
    others = ThreadPoolExecutor(bench.args.parallel - 1) if bench.args.parallel > 1 else together
    try:
        for one in [(together if item[0].together else others).submit(bench.one, item) for item in items]:
            one.result()
    finally:
        for pool in (together, others):
            pool.shutdown(wait=False, cancel_futures=True)
        launch.kill_all()


def main():
    args = parse()
    items = chosen(args)
    try:
        import torch
        devices = torch.cuda.device_count()
    except ImportError:
        devices = 0
    if devices < 1:
        print("skipped: needs PyTorch and a GPU\n0 passed, 0 failed, 1 skipped")
        return 0
    bench = Bench(args, devices)
    try:
        run_all(bench, items)
        print(bench.stats())
    finally:
        subprocess.run([args.tool, "clear"], env=dict(os.environ, RANKSHARE_SEGMENT=SEGMENT), capture_output=True)
        shutil.rmtree(bench.work, ignore_errors=True)
    for name, figures in bench.figures.items():
        print(name, json.dumps(figures))
    print(f"{bench.passed} passed, {bench.failed} failed, {bench.skipped} skipped in {time.monotonic() - bench.began:.0f} s")
    return bench.failed > 0


sys.exit(main())
