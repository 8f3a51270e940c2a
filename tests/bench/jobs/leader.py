# SPDX-License-Identifier: Apache-2.0
"""Parent of all processes of a measured job: starts the ranks, and adds up the CPU seconds of everything below them.

Reads {"ranks": [{"argv", "env", "out", "cores"}], "deadline_s"} from standard input, prints {"codes", "began", "wall_s",
"cpu_s", "late"}. As their subreaper it inherits what ranks leave behind (compile workers), so that nobody's seconds are
lost; LATE of those had to be killed.
"""
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
WORKERS_S = 10  # for compile workers to notice that their rank has ended


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]


def start(rank):
    with open(rank["out"], "wb") as out:
        return subprocess.Popen(rank["argv"], env=rank["env"], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                preexec_fn=lambda: os.sched_setaffinity(0, rank["cores"]))


def reap(pids, until):
    """Waits for children until those of PIDS (None: all) have ended, or the time is over; their exit codes."""
    codes = {}
    while time.monotonic() < until and (pids is None or not pids <= codes.keys()):
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid:
            codes[pid] = os.waitstatus_to_exitcode(status)
        else:
            time.sleep(0.01)
    return codes


def kill_all():
    """Kills what is left, and what that leaves behind."""
    count = 0
    while left := children():
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        count += len(reap(None, time.monotonic() + 0.2))
    return count


def main():
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    job = json.load(sys.stdin)
    try:
        began = time.monotonic()
        pids = [start(rank).pid for rank in job["ranks"]]
        codes = reap(set(pids), began + job["deadline_s"])
        wall = time.monotonic() - began
        if all(pid in codes for pid in pids):
            reap(None, time.monotonic() + WORKERS_S)
    finally:
        late = kill_all()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"codes": [codes.get(pid, "killed at the deadline") for pid in pids], "began": began,
                      "wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime, "late": late}))


main()
