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
ROUND = 200  # calls: less than a time slice, so that most rounds are not interrupted


def compare(function, path, *arguments, rounds=151):
    """Medians of two ways, of their difference and ratio round by round, and the quickest round of each."""
    first, second = (ctypes.c_double * rounds)(), (ctypes.c_double * rounds)()
    name = [a.encode() for a in arguments if isinstance(a, str)]
    numbers = [a for a in arguments if not isinstance(a, str)]
    if getattr(calls, function)(os.fsencode(path), *name, rounds, *numbers, first, second):
        raise SystemExit('%s %s failed' % (function, path))
    return {'first': statistics.median(first), 'second': statistics.median(second),
            'difference': statistics.median(b - a for a, b in zip(first, second)),
            'ratio': statistics.median(b / a for a, b in zip(first, second)),
            'quickest': (min(first), min(second))}


def hashing(data, rounds, number):
    """Nanoseconds per hashlib.sha256(data).digest(): the quickest of the rounds."""
    sha256, clock, times = hashlib.sha256, time.perf_counter_ns, []
    for _ in range(rounds):
        begin = clock()
        for _ in range(number):
            sha256(data).digest()
        times.append((clock() - begin) / number)
    return min(times)


details = []
for path in WORK['details']:
    with open(path, 'rb') as data:
        details.append(data.read())
small = bytes(range(64))
RESULT['small'] = hashing(small, 51, 2000)
RESULT['details'] = [hashing(data, 61, 1) for data in details]
for name, path in WORK.get('paths', {}).items():
    RESULT['noise'] = compare('bench_noise', '/etc/passwd', 'stat', ROUND)
    for call in WORK['functions']:
        RESULT[call + ' ' + name] = compare('bench_call', path, call, ROUND)
for path in WORK.get('views', ()):
    RESULT['view ' + path] = compare('bench_view', path, rounds=41)
    RESULT['plain ' + path] = compare('bench_plain', path, rounds=11)
print(json.dumps(RESULT))
