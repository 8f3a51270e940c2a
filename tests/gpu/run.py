#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training jobs on real GPUs, plain and under the library: equal losses, one miss per graph in the whole
job, caches that stay usable in both directions. Needs two NVIDIA GPUs and PyTorch; see README.

    tests/gpu/run.py [--library build/librankshare.so] [--tool build/rankshare] [--ranks 2,8] [--no-ddp] [--json FILE]
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE_S = 400


class Bench:
    def __init__(self, args):
        self.args = args
        self.work = tempfile.mkdtemp(prefix="rankshare-gpu-")
        self.passed = self.failed = self.port = 0
        self.figures = {}

    def environment(self, cache, shared, name):
        keep = {k: v for k, v in os.environ.items()
                if not k.startswith(("RANKSHARE", "TORCHINDUCTOR", "TRITON"))}
        keep.update(TORCHINDUCTOR_CACHE_DIR=cache, HOME=self.work, TORCHINDUCTOR_FX_GRAPH_CACHE="1",
                    TORCHINDUCTOR_AUTOGRAD_CACHE="1")
        if shared:
            before = keep.get("LD_PRELOAD", "")
            keep.update(LD_PRELOAD=os.path.abspath(self.args.library) + (":" + before if before else ""),
                        RANKSHARE="1", RANKSHARE_SEGMENT=f"gpu{os.getpid()}", RANKSHARE_JOB=name)
        return keep

    def job(self, name, cache, world, shared, ddp=False):
        """Runs WORLD ranks over the GPUs present; returns their reports, in order of rank."""
        import torch
        devices = torch.cuda.device_count()
        base = self.environment(cache, shared, name)
        self.port = self.port or 29500 + os.getpid() % 1000
        self.port += 1
        ranks = []
        for rank in range(world):
            report = os.path.join(self.work, f"{name}.{rank}.json")
            env = dict(base, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(self.port))
            command = [sys.executable, os.path.join(HERE, "train.py"), report, "--device", str(rank % devices)]
            with open(report + ".log", "w") as log:
                process = subprocess.Popen(command + (["--ddp"] if ddp else []), env=env, stdout=log,
                                           stderr=subprocess.STDOUT, start_new_session=True)
            ranks.append((process, report))
        reports = []
        for process, report in ranks:
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
            "cpu_s": sum(r["cpu_s"] for r in reports), "fx_miss": total(reports, "fx_miss"),
            "fx_hit": total(reports, "fx_hit"), "aot_miss": total(reports, "aot_miss"),
            "aot_hit": total(reports, "aot_hit"), "files": sum(len(f) for _, _, f in os.walk(cache))}
        self.check(len(reports) == world, f"{name}: all {world} ranks end well")
        return reports

    def check(self, good, what):
        self.passed += bool(good)
        self.failed += not good
        print(("ok      " if good else "FAILED  ") + what, flush=True)

    def stats(self):
        env = dict(os.environ, RANKSHARE_SEGMENT=f"gpu{os.getpid()}")
        print(subprocess.run([self.args.tool, "stats"], env=env, capture_output=True, text=True).stdout)

    def compare(self, name, reports, plain, graphs, misses):
        losses, native = ({tuple(r["losses"]) for r in of} for of in (reports, plain))
        self.check(losses <= native, f"{name}: losses equal the plain run's to the last digit "
                   f"({len(losses)} different here, {len(native)} in the plain run)")
        if not losses <= native:
            print("   plain ", *sorted(native), sep="\n      ")
            print("   shared", *sorted(losses), sep="\n      ")
        self.check(total(reports, "fx_miss") == misses, f"{name}: {misses} FX misses in the whole job "
                   f"(seen {total(reports, 'fx_miss')}, hits {total(reports, 'fx_hit')})")
        self.check(total(reports, "fx_hit") + total(reports, "fx_miss") >= graphs,
                   f"{name}: every graph was looked up")
        self.check(not any(r["memory_on_other_devices"] for r in reports),
                   f"{name}: no memory on another rank's device")

    def suite(self, label, world, ddp):
        plain_cache = os.path.join(self.work, f"{label}-plain")
        shared_cache = os.path.join(self.work, f"{label}-shared")
        one_cache = os.path.join(self.work, f"{label}-one")
        plain = self.job(f"{label} plain cold", plain_cache, world, False, ddp)
        graphs = plain[0]["counters"]["fx_miss"] + plain[0]["counters"]["fx_hit"] if plain else 0
        self.check(graphs > 0, f"{label}: {graphs} graphs")
        cold = self.job(f"{label} shared cold", shared_cache, world, True, ddp)
        self.compare(f"{label} shared cold", cold, plain, graphs, graphs)
        warm = self.job(f"{label} shared warm", shared_cache, world, True, ddp)
        self.compare(f"{label} shared warm", warm, plain, graphs, 0)
        if ddp:
            return
        after = self.job(f"{label} plain after shared", shared_cache, 1, False)
        self.compare(f"{label} plain after shared", after, plain, graphs, 0)
        self.job(f"{label} one plain rank", one_cache, 1, False)
        onto = self.job(f"{label} shared after plain", one_cache, world, True)
        self.compare(f"{label} shared after plain", onto, plain, graphs, 0)


def total(reports, counter):
    return sum(r["counters"][counter] for r in reports)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default="build/librankshare.so")
    parser.add_argument("--tool", default="build/rankshare")
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--no-ddp", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    try:
        import torch
        devices = torch.cuda.device_count()
    except ImportError:
        devices = 0
    if devices < 2:
        print(f"skipped: needs PyTorch and two GPUs ({devices} found)\n0 passed, 0 failed, 1 skipped")
        return 0
    bench = Bench(args)
    try:
        for world in map(int, args.ranks.split(",")):
            bench.suite(f"{world} ranks", world, False)
        if not args.no_ddp:
            bench.suite("ddp", 2, True)
        bench.stats()
    finally:
        subprocess.run([args.tool, "clear"], env=dict(os.environ, RANKSHARE_SEGMENT=f"gpu{os.getpid()}"),
                       capture_output=True)
        shutil.rmtree(bench.work, ignore_errors=True)
    for name, figures in bench.figures.items():
        print(name, json.dumps(figures))
    if args.json:
        json.dump(bench.figures, open(args.json, "w"), indent=1)
    print(f"{bench.passed} passed, {bench.failed} failed, 0 skipped")
    return bench.failed > 0


sys.exit(main())
