#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench-job's figures rest on: the seconds of everything below the ranks, the file that commands add to, medians
and ratios. Needs no torch, some ten seconds."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import page  # noqa: E402
import results  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
BURN = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n"
# A rank that ends while its worker is still at work, in a session of its own.
LEAVES_WORKER = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]], start_new_session=True)"
counts = {"passed": 0, "failed": 0}


def check(good, what):
    counts["passed" if good else "failed"] += 1
    print(("ok      " if good else "FAILED  ") + what)


def lead(programs, deadline_s=60):
    ranks = [{"argv": [sys.executable, "-c", *program], "env": dict(os.environ), "out": "/dev/null",
              "cores": sorted(os.sched_getaffinity(0))} for program in programs]
    done = subprocess.run([sys.executable, os.path.join(HERE, "leader.py")], stdout=subprocess.PIPE, text=True,
                          input=json.dumps({"ranks": ranks, "deadline_s": deadline_s}), timeout=120)
    return json.loads(done.stdout)


def leader():
    one = lead([[BURN.format(0.5)], ["raise SystemExit(3)"]])
    check(one["codes"] == [0, 3], f"exit codes of the ranks, in their order (seen {one['codes']})")
    check(0.5 <= one["cpu_s"] < 2, f"a rank's CPU seconds are counted (seen {one['cpu_s']:.2f} of 0.5)")
    left = lead([[LEAVES_WORKER, BURN.format(1)]])
    check(left["cpu_s"] >= 1 and left["late"] == 0, f"so are those of a worker that outlives its rank (seen {left['cpu_s']:.2f} of 1)")
    stuck = lead([[LEAVES_WORKER, "import time; time.sleep(100)"], ["import time; time.sleep(100)"]], 1)
    check(stuck["codes"][1] == "killed at the deadline" and stuck["late"] == 2 and stuck["wall_s"] < 5,
          f"at the deadline rank and worker are killed (seen {stuck})")


def runs(turn, mode, ranks, cold_s, cpu_s):
    common = {"job": "job", "round": turn, "cores": "all", "mode": mode, "ranks": ranks, "commit": "c",
              "date": "2000-01-01T00:00:00", "fx_miss": ranks, "aot_miss": 0, "files": 7, "bytes": 2500000}
    return [dict(common, phase="cold", first_step_s=cold_s, cpu_s=cpu_s + 5.0), dict(common, phase="warm", first_step_s=1.0, cpu_s=5.0)]


def figures(folder):
    path, machine = os.path.join(folder, "data.json"), {"backend": "cpu", "cpu": "x", "cores": 1, "ram_gib": 1, "gpus": [], "driver": None, "kernel": "k"}
    commands = [results.Results(path) for _ in range(3)]  # at the same time: none knows what the others will add
    for command, turn, alone, many, cpu in zip(commands, "abc", (10.0, 20.0, 10.0), (30.0, 40.0, 50.0), (20.0, 30.0, 70.0)):
        command.add(dict(machine), runs(turn, "plain", 1, alone, 9.0) + runs(turn, "library", 4, many, cpu))
    commands[0].add(dict(machine, cores=2), runs("d", "plain", 1, 99.0, 9.0))
    commands[1].add(machine, runs("e", "library", 4, 1000.0, 1.0)[:1])
    data = results.Results(path).data
    check(len(data["machines"]) == 2 and len(data["runs"]) == 15, "commands add to one file; equal machines are one")
    rows = next(rows for series, rows in results.summarise(data["runs"]).items() if series.machine == 0)
    check([(row.ranks, row.mode, row.rounds) for row in rows] == [(1, "plain", 3), (4, "library", 3)], "a cold run without its warm one is left out")
    row = rows[1]
    check((str(row.cold), str(row.cpu)) == ("40.0 (30.0-50.0)", "30.0 (20.0-70.0)"), f"medians and ranges (seen {row.cold}, {row.cpu})")
    more = data["runs"] + [dict(run, first_step_s=4.0, cpu_s=99.0) for run in data["runs"] if run["phase"] == "warm" and run["round"] == "a"]
    again = next(rows for series, rows in results.summarise(more).items() if series.machine == 0)[1]
    check((str(again.warm), str(again.cpu)) == ("1.00 (1.00-4.00)", str(row.cpu)), f"more warm runs are in the median of warm ones, and in nothing else (seen {again.warm}, {again.cpu})")
    check(str(row.ratio) == "3.00 (2.00-5.00)", f"a ratio is that of its own round (seen {row.ratio})")
    text = os.path.join(folder, "page.md")
    for content, good in (("<!-- tables of data.json -->\n<!-- end of tables -->\n", False), (None, True)):
        if content:
            with open(text, "w") as out:
                out.write(content)
        else:
            subprocess.run([sys.executable, os.path.join(HERE, "page.py"), text], check=True)
        status = subprocess.run([sys.executable, os.path.join(HERE, "page.py"), "--check", text], capture_output=True).returncode
        check((status == 0) == good, f"--check {'agrees with' if good else 'refuses'} a page {'with' if good else 'without'} its tables")
    check("| 4 | library | 40.0 (30.0-50.0) | 3.00 (2.00-5.00) | 30.0 (20.0-70.0) | 1.00 (1.00-1.00) | 4 | 0 | 7 | 2.5 | 3 |" in page.tables(data),
          "the line of the table")


leader()
with tempfile.TemporaryDirectory(prefix="rankshare-bench-check-") as place:
    figures(place)
print(f"{counts['passed']} passed, {counts['failed']} failed, 0 skipped")
sys.exit(counts["failed"] > 0)
