#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the harness of the GPU jobs, which needs no GPU: how processes are brought to their end, and what the table
makes of the numbers.

    tests/gpu/check.py
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import launch
import plan

passed = failed = 0


def check(good, what):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print(f"FAILED  {what}")


def alive(pid):
    """Also some time later: a killed process needs a moment to be gone."""
    for _ in range(50):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.1)
    return True


def shells(work, *scripts):
    return [(["/bin/sh", "-c", script], dict(os.environ, WORK=work), os.path.join(work, f"{i}.log"))
            for i, script in enumerate(scripts)]


def processes(work):
    launch.GRACE_S = 1
    ends = launch.run(shells(work, "exit 0", "echo one; echo two; exit 0"), 20)
    check(ends == [0, 0], f"two that end well: {ends}")
    check(launch.tail(os.path.join(work, "1.log"), 1) == "two\n", "the last line of a log")

    began = time.monotonic()
    ends = launch.run(shells(work, "sleep 60", "exit 3", "sleep 0.2"), 40)
    check(ends[1:] == [3, 0] and "another rank failed" in str(ends[0]), f"who waits for a rank that failed: {ends}")
    check(time.monotonic() - began < 20, "it is not waited for")

    began = time.monotonic()
    ends = launch.run(shells(work, "sleep 60 & echo $! >$WORK/child; wait", "trap '' TERM; sleep 60; sleep 60"), 1)
    check(all("killed after 1 s" == end for end in ends), f"at the deadline: {ends}")
    check(time.monotonic() - began < 20, "all of them at once")
    child = Path(work, "child").read_text().strip()
    check(not alive(child), "what a killed rank started is gone, too")

    launch.run(shells(work, "sleep 60 & echo $! >$WORK/child; exit 0"), 20)
    check(not alive(Path(work, "child").read_text().strip()), "and what an ended one left")
    check(not launch.running, "none is left in the list")


def report(fx, aot, bypass=0, hit=2):
    return {"counters": {"fx_miss": fx, "fx_hit": hit, "fx_bypass": bypass, "aot_miss": aot, "aot_hit": hit, "aot_bypass": 0}}


def judged(misses, reports, counters=None, refused=None, plain=None, phase="cold"):
    row = plan.Row({(kind, phase): misses for kind in ("fx", "aot") for phase in ("cold", "warm")}, (2, 5),
                   {"cold": refused or {}, "warm": {}})
    return all(good for good, _ in plan.judge(row, phase, plain or [report(2, 2), report(0, 1)], reports, counters))


def numbers():
    check(judged("1", [report(2, 2), report(0, 0)]), "one rank compiles")
    check(not judged("1", [report(2, 2), report(1, 0)]), "one miss too many")
    check(not judged("1", [report(1, 2), report(0, 0)]), "one miss too few")
    check(judged("n", [report(2, 2), report(2, 2)]) and not judged("n", [report(2, 2), report(1, 2)]), "each rank compiles")
    check(judged("1-n", [report(2, 2), report(1, 1)]) and not judged("1-n", [report(2, 2), report(3, 2)]), "a range")
    check(judged("0", [report(0, 0)]) and not judged("0", [report(1, 0)]), "none")
    check(judged(".", [report(9, 9)]), "not looked at")
    check(not judged("0", [report(0, 0, hit=1)], phase="warm"), "a graph that nobody looked for")
    check(judged("0", [report(0, 0, hit=2)], phase="warm"), "a warm cache")
    check(not judged("1", [report(2, 2, bypass=1)]), "left alone where plain ranks are not")
    check(judged("1", [report(2, 2, bypass=1)], plain=[report(2, 2, bypass=1)]), "left alone as plain ranks are")
    one, alone = {"refused_limit": (1, 2)}, [report(2, 2)]
    check(judged("1", alone, {"refused_limit": 2, "views": 3}, one), "a refusal that is expected")
    check(not judged("1", alone, {"refused_limit": 3}, one), "one too many of them")
    check(not judged("1", alone, {}, one), "one that did not happen")
    check(not judged("1", alone, {"refused_views": 1}), "one that is not expected")
    check(not judged("1", alone, {"wait_timeouts": 1}), "a wait until the limit")


def versions():
    check(plan.version("2.11.0+cu130") == (2, 11) and plan.version("") == (), "versions")
    rows = {("a", ()): 1, ("a", (2, 14)): 2, ("b", (2, 9)): 3}
    seen = [plan.row_of(rows, "a", torch) for torch in ("2.9.1", "2.14.0", "2.15.0+cu132")]
    check(seen == [1, 2, 2], f"the row of a version: {seen}")
    row = plan.Row({}, (2, 6), {})
    missing = {"skipped": "no such thing", "torch": "2.5.1"}
    check(plan.skipped(row, missing) == ("no such thing", ""), "too old a torch")
    check(plan.skipped(row, dict(missing, torch="2.6.0"))[1], "torch that has it, and a job that says it has not")
    check(plan.skipped(row, report(1, 1)) == ("", ""), "a job that ran")


def rows():
    known, named = {job.name for job in plan.JOBS}, {name.partition("~")[0] for name, _ in plan.read()}
    check(known == named, f"a row for each job, and a job for each row: {known ^ named}")
    check(len(known) == len(plan.JOBS), "no job twice")
    check(all((plan.PROGRAMS / job.program[0]).exists() for job in plan.JOBS), "each job's program is there")


# Stands for a program that uses torch. What goes wrong is in its kind: the library's misses are one in the whole job.
STUB = """
import argparse, json, os, time
parser = argparse.ArgumentParser()
parser.add_argument("report"), parser.add_argument("--device"), parser.add_argument("--kind")
args = parser.parse_args()
shared, rank, mark = "RANKSHARE" in os.environ, int(os.environ["RANK"]), os.environ["TORCHINDUCTOR_CACHE_DIR"]
warm = os.path.exists(mark)
time.sleep(0.5)
os.makedirs(mark, exist_ok=True)
if args.kind == "bert" and rank and shared:
    raise SystemExit("the last words of bert")
if args.kind == "flex" and not shared:
    raise SystemExit("no plain run")
miss = 0 if warm else 1 if not shared or rank == 0 or args.kind == "bag" else 0
counters = {f"{kind}_{what}": 1 - miss if what == "hit" else 0 for kind in ("fx", "aot") for what in ("hit", "bypass")}
facts = {"skipped": "nothing here"} if args.kind in ("scan", "dropout") else {}
with open(args.report, "w") as out:
    json.dump({"losses": ["2.0" if shared and args.kind == "conv" else "1.0"], "first_step_s": 0, "cpu_s": 0,
               "counters": dict(counters, fx_miss=miss, aot_miss=miss), "memory_on_other_devices": [],
               "torch": "2.5.1", **facts}, out)
"""


def whole(work):
    """run.py itself, with a torch of two GPUs that does nothing."""
    here = Path(__file__).resolve().parent
    shutil.copytree(here, f"{work}/tests/gpu", ignore=shutil.ignore_patterns("__pycache__"))
    os.makedirs(f"{work}/tests/jobs")
    for name in ("table.py", "closed.py"):
        shutil.copy(here.parent / "jobs" / name, f"{work}/tests/jobs")
    Path(work, "tests/gpu/programs/model.py").write_text(STUB)
    Path(work, "torch.py").write_text("class cuda:\n    device_count = staticmethod(lambda: 2)\n")
    Path(work, "tool").write_text("#!/bin/sh\necho '{\"jobs\": []}'\n")
    os.chmod(f"{work}/tool", 0o755)

    def run(only, *options):
        done = subprocess.run([sys.executable, f"{work}/tests/gpu/run.py", "--tool", f"{work}/tool", "--only", only,
                               "--library", "", "--parallel", "4", "--json", f"{work}/figures", *options],
                              env=dict(os.environ, PYTHONPATH=work, TMPDIR=work, LD_PRELOAD=""), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout, [line for line in done.stdout.splitlines() if line.startswith("FAILED")]

    code, out, wrong = run("mlp")
    check(code == 0 and not wrong and "ok      mlp x2 shared warm: 0 fx misses" in out, f"a good job:\n{out}")
    check(json.loads(Path(work, "figures").read_text())["mlp x2 shared cold"]["fx_miss"] == 1, "its figures")
    code, out, wrong = run("mlp,conv,bag,bert,flex")
    check(code == 1 and {line.split()[1] for line in wrong} == {"conv", "bag", "bert", "flex"}, f"bad jobs:\n{out}")
    for sentence in ("conv x2 shared cold: results", "bag x2 shared cold: 2 fx misses", "bert x2 shared cold: all 2 ranks",
                     "flex x2 plain cold: all 2 ranks"):
        check(any(sentence in line for line in wrong), f"it says: {sentence}")
    check("the last words of bert" in out, "what a failed rank said last")
    code, out, wrong = run("scan,dropout")
    check([line.split()[1] for line in wrong] == ["dropout"] and "skipped scan x2: nothing here" in out,
          f"a job that this version may not have, and one that it must:\n{out}")
    check("no time left" in run("mlp", "--stop-after", "-1")[1], "no job is started too late")
    seen = [run("mlp,conv,bag", "--shard", f"{part}/3")[1] for part in (1, 2, 3)]
    check(all(sum(name in out for out in seen) == 1 for name in ("mlp x2", "conv x2", "bag x2")), "each job in one part")


def main():
    with tempfile.TemporaryDirectory(prefix="rankshare-gpu-check-") as work:
        processes(work)
        whole(work)
    numbers()
    versions()
    rows()
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


sys.exit(main())
