# SPDX-License-Identifier: Apache-2.0
"""Starts the processes of one job and brings all of them to an end: by themselves, at the deadline, or soon after one
of them failed (the others would wait for it in a collective)."""
import os
import signal
import subprocess
import threading
import time

GRACE_S = 20
running, lock = set(), threading.Lock()
over = threading.Event()


def kill(process):
    """Each leads a group of its own, with what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kill_all():
    """When the whole run ends early: nothing is started any more."""
    over.set()
    with lock:
        for process in running:
            kill(process)


def start(argv, env, log):
    with open(log, "w") as out, lock:
        if over.is_set():
            raise InterruptedError("the run is over")
        process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        running.add(process)
    return process


def ended(process):
    """It has ended and waits to be reaped: until then nobody else can get its number."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def reap(process):
    """Also what it left behind in its group."""
    kill(process)
    with lock:
        process.wait()
        running.discard(process)
    return process.returncode


def run(commands, deadline_s):
    """COMMANDS: (argv, environment, log file) of each. Returns how each ended: 0, an exit code, or a sentence."""
    end, failed = time.monotonic() + deadline_s, False
    processes = [start(*command) for command in commands]
    ends = {}
    while len(ends) < len(processes):
        time.sleep(0.05)
        for process in processes:
            if process not in ends and ended(process):
                ends[process] = reap(process)
                if ends[process] and not failed:
                    failed, end = True, min(end, time.monotonic() + GRACE_S)
        if time.monotonic() > end:
            why = f"killed {GRACE_S} s after another rank failed" if failed else f"killed after {deadline_s:.0f} s"
            for process in processes:
                if process not in ends:
                    reap(process)
                    ends[process] = why
    return [ends[process] for process in processes]


def tail(log, lines=25):
    with open(log, errors="replace") as text:
        return "".join(text.readlines()[-lines:])
