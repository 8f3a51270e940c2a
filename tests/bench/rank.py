# SPDX-License-Identifier: Apache-2.0
"""Measures inside one process, plain or under the library, and prints JSON. See bench.py."""
import ctypes
import hashlib
import json
import os
import statistics
import sys
import time

WORK = json.loads(sys.argv[1])
calls = ctypes.CDLL(WORK['calls'])
RESULT = {}


def compare(function, path, *arguments, rounds=61):
    first, second = (ctypes.c_double * rounds)(), (ctypes.c_double * rounds)()
    if getattr(calls, function)(os.fsencode(path), rounds, *arguments, first, second):
        raise SystemExit('%s %s failed' % (function, path))
    return {'first': statistics.median(first), 'second': statistics.median(second),
            'difference': statistics.median(b - a for a, b in zip(first, second))}


def hashing(data, rounds, number):
    """Nanoseconds per hashlib.sha256(data).digest()."""
    sha256, clock, times = hashlib.sha256, time.perf_counter_ns, []
    for _ in range(rounds):
        begin = clock()
        for _ in range(number):
            sha256(data).digest()
        times.append((clock() - begin) / number)
    return statistics.median(times)


details = []
for path in WORK['details']:
    with open(path, 'rb') as data:
        details.append(data.read())
small = bytes(range(64))
RESULT['small'] = hashing(small, 51, 2000)
RESULT['details'] = [hashing(data, 21, 5) for data in details]
if WORK.get('paths'):
    RESULT['noise'] = compare('bench_noise', '/etc/passwd', 2000)
    for name, path in WORK['paths'].items():
        RESULT['stat ' + name] = compare('bench_stat', path, 2000)
        RESULT['open ' + name] = compare('bench_open', path, 1000)
for path in WORK.get('views', ()):
    RESULT['view ' + path] = compare('bench_view', path, rounds=31)
print(json.dumps(RESULT))
