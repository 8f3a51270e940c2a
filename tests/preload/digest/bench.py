#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the hook costs: bench.py LIBRARY [PYTHON]. A table of nanoseconds per call without the library,
with it switched off and with it on, the best of many short rounds taken in turns."""
import os
import subprocess
import sys

ROUND = """
import hashlib, sys, time
from hashlib import sha256
data, clock = b'x' * 64, time.perf_counter_ns
h = sha256()
update = h.update
def best(function, *args):
    times = []
    for _ in range(30):
        start = clock()
        for _ in range(3000): function(*args)
        times.append((clock() - start) / 3000)
    return min(times)
print(best(sha256, data), best(update, data), best(hashlib.new, 'sha256', data), best(sha256, bytearray(64)))
"""
NAMES = ["sha256(64 bytes)", "update(64 bytes)", "hashlib.new(64 bytes)", "sha256(bytearray)"]


def measure(python, library, switch):
    environment = dict(os.environ)
    environment.pop("RANKSHARE", None)
    if library:
        environment["LD_PRELOAD"] = library
    if switch:
        environment["RANKSHARE"] = "1"
    output = subprocess.check_output([python, "-S", "-c", ROUND], env=environment)
    return [float(x) for x in output.split()]


def main():
    library, python = os.path.abspath(sys.argv[1]), (sys.argv[2:] or [sys.executable])[0]
    ways = {"plain": (None, False), "off": (library, False), "on": (library, True)}
    best = {way: [float("inf")] * len(NAMES) for way in ways}
    for _ in range(7):
        for way, (preload, switch) in ways.items():
            best[way] = [min(a, b) for a, b in zip(best[way], measure(python, preload, switch))]
    print("%-24s %8s %8s %8s %8s" % ("ns per call", "plain", "off", "on", "added"))
    for i, name in enumerate(NAMES):
        plain, off, on = (best[way][i] for way in ways)
        print("%-24s %8.1f %8.1f %8.1f %+8.1f" % (name, plain, off, on, on - plain))


if __name__ == "__main__":
    main()
