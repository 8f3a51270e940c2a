#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on real GPUs, plain and under the library: equal results, one miss per graph in the whole job, caches
that stay usable in both directions. Needs PyTorch and two NVIDIA GPUs; with one, every rank is on cuda:0, so
that leases are tried and views are not, and jobs with collectives are left out.

    tests/gpu/run.py [--library build/librankshare.so] [--tool build/rankshare] [--ranks 2,8] [--only NAME,...] [--json FILE]
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE_S = 400


@dataclass(frozen=True)
class Job:
    """A program of programs/ and what is expected of it."""
    name: str
    program: tuple
    worlds: tuple = (2,)      # numbers of ranks; empty: those of --ranks
    together: bool = False    # ranks talk to each other, so each needs a GPU of its own
    fx: bool = True           # one FX miss per graph in a cold job, none in a warm one
    aot: bool = False         # the same for AOTAutograd entries: inference
    directions: bool = False  # plain after shared, shared after plain
    silent: bool = False      # in a cold job a waiter leaves its producer, which is blocked on its GPU


JOBS = (
    Job("train", ("train.py",), worlds=(), directions=True),
    Job("infer", ("infer.py",), worlds=(), aot=True, directions=True),
    Job("infer-nested", ("infer.py", "--kind", "nested"), aot=True),
    Job("infer-threads", ("infer.py", "--kind", "threads"), aot=True),
    Job("infer-functional", ("infer.py", "--kind", "functional"), together=True, aot=True),
    Job("ddp", ("train.py", "--kind", "ddp"), together=True),
    Job("fsdp2", ("train.py", "--kind", "fsdp2"), together=True),
    Job("tp", ("train.py", "--kind", "tp"), together=True),
    # Stage 0 leaves its wait (60 s of a silent producer) and compiles, too.
    Job("pipeline", ("pipeline.py",), together=True, fx=False, silent=True),
)


def total(reports, counter):
    return sum(report["counters"][counter] for report in reports)


class Bench:
    def __init__(self, args, devices):
        self.args, self.devices = args, devices
        self.work = tempfile.mkdtemp(prefix="rankshare-gpu-")
        self.passed = self.failed = self.skipped = 0
        self.port = 29500 + os.getpid() % 1000
        self.figures = {}

    def environment(self, cache, shared, name):
        keep = {k: v for k, v in os.environ.items()
                if not k.startswith(("RANKSHARE", "TORCHINDUCTOR", "TRITON"))}
        keep.update(TORCHINDUCTOR_CACHE_DIR=cache, HOME=self.work, CUBLAS_WORKSPACE_CONFIG=":4096:8", TORCHINDUCTOR_FX_GRAPH_CACHE="1",
                    TORCHINDUCTOR_AUTOGRAD_CACHE="1")
        if shared:
            before = keep.get("LD_PRELOAD", "")
            keep.update(LD_PRELOAD=os.path.abspath(self.args.library) + (":" + before if before else ""),
                        RANKSHARE="1", RANKSHARE_SEGMENT=f"gpu{os.getpid()}", RANKSHARE_JOB=name)
        return keep

    def start(self, job, name, base, rank, world):
        report = os.path.join(self.work, f"{name}.{rank}.json")
        env = dict(base, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world),
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(self.port))
        program, *options = job.program
        command = [sys.executable, os.path.join(HERE, "programs", program), report,
                   "--device", str(rank % self.devices), *options]
        with open(report + ".log", "w") as log:
            return subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT,
                                    start_new_session=True), report

    def run(self, job, name, cache, world, shared):
        """Runs WORLD ranks over the GPUs present; returns their reports, in order of rank."""
        base = self.environment(cache, shared, name)
        self.port += 1
        reports = []
        for process, report in [self.start(job, name, base, rank, world) for rank in range(world)]:
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.returncode == 0:
                reports.append(json.load(open(report)))
            else:
                print(open(report + ".log").read()[-3000:])
        self.figures[name] = {
            "world": world, "first_step_s_max": max((r["first_step_s"] for r in reports), default=None),
            "cpu_s": sum(r["cpu_s"] for r in reports), "files": sum(len(f) for _, _, f in os.walk(cache)),
            **{c: total(reports, c) for c in ("fx_miss", "fx_hit", "aot_miss", "aot_hit")}}
        self.check(len(reports) == world, f"{name}: all {world} ranks end well")
        return reports

    def check(self, good, what):
        self.passed += bool(good)
        self.failed += not good
        print(("ok      " if good else "FAILED  ") + what, flush=True)

    def stats(self, *options):
        env = dict(os.environ, RANKSHARE_SEGMENT=f"gpu{os.getpid()}")
        return subprocess.run([self.args.tool, "stats", *options], env=env, capture_output=True, text=True).stdout

    def counter(self, name, job):
        """The library's counter in all ranks of one job."""
        jobs = json.loads(self.stats("--json"))["jobs"]
        return sum(rank["counters"][name] for found in jobs if found["id"] == job for rank in found["ranks"])

    def compare(self, job, name, reports, plain, cold):
        losses, native = ({tuple(r["losses"]) for r in of} for of in (reports, plain))
        self.check(losses <= native, f"{name}: results equal the plain run's to the last digit "
                   f"({len(losses)} different here, {len(native)} in the plain run)")
        if not losses <= native:
            print("   plain ", *sorted(native), sep="\n      ")
            print("   shared", *sorted(losses), sep="\n      ")
        for kind, counts in (("fx", job.fx), ("aot", job.aot)):
            one = plain[0]["counters"] if plain else {}
            graphs = one.get(f"{kind}_miss", 0) + one.get(f"{kind}_hit", 0)
            missed, hit = total(reports, f"{kind}_miss"), total(reports, f"{kind}_hit")
            if counts:
                expected = one.get(f"{kind}_miss", 0) if cold else 0  # graphs may be alike in one rank, too
                self.check(missed == expected, f"{name}: {expected} {kind} misses in the whole job "
                           f"(seen {missed}, hits {hit})")
            if kind == "fx" and not (job.aot and cold):
                self.check(hit + missed >= graphs > 0, f"{name}: every graph was looked up")
        self.check(not any(r["memory_on_other_devices"] for r in reports),
                   f"{name}: no memory on another rank's device")

    def suite(self, job, world):
        label = f"{job.name} x{world}"
        caches = {key: os.path.join(self.work, f"{label}-{key}") for key in ("plain", "shared", "one")}
        plain = self.run(job, f"{label} plain cold", caches["plain"], world, False)
        self.compare(job, f"{label} shared cold", self.run(job, f"{label} shared cold", caches["shared"], world, True),
                     plain, True)
        if job.silent:
            left = self.counter("wait_silent", f"{label} shared cold")
            self.check(left == 1, f"{label} shared cold: one waiter left a silent producer (seen {left})")
        self.compare(job, f"{label} shared warm", self.run(job, f"{label} shared warm", caches["shared"], world, True),
                     plain, False)
        if job.directions:
            after = self.run(job, f"{label} plain after shared", caches["shared"], 1, False)
            self.compare(job, f"{label} plain after shared", after, plain, False)
            self.run(job, f"{label} one plain rank", caches["one"], 1, False)
            onto = self.run(job, f"{label} shared after plain", caches["one"], world, True)
            self.compare(job, f"{label} shared after plain", onto, plain, False)

    def all(self, only, ranks):
        for job in JOBS:
            if only and job.name not in only:
                continue
            for world in job.worlds or ranks:
                if job.together and world > self.devices:
                    print(f"skipped {job.name}: needs {world} GPUs")
                    self.skipped += 1
                else:
                    self.suite(job, world)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default="build/librankshare.so")
    parser.add_argument("--tool", default="build/rankshare")
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--only", default="", help="names of jobs: " + ", ".join(job.name for job in JOBS))
    parser.add_argument("--json")
    args = parser.parse_args()
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
        bench.all([name for name in args.only.split(",") if name], list(map(int, args.ranks.split(","))))
        print(bench.stats())
    finally:
        subprocess.run([args.tool, "clear"], env=dict(os.environ, RANKSHARE_SEGMENT=f"gpu{os.getpid()}"),
                       capture_output=True)
        shutil.rmtree(bench.work, ignore_errors=True)
    for name, figures in bench.figures.items():
        print(name, json.dumps(figures))
    if args.json:
        json.dump(bench.figures, open(args.json, "w"), indent=1)
    print(f"{bench.passed} passed, {bench.failed} failed, {bench.skipped} skipped")
    return bench.failed > 0


sys.exit(main())
