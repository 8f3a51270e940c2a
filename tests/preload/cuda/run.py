#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The driver hooks, against a driver made from their own table: every function on every road.

    tests/preload/cuda/run.py [WORD ...]     only the cases whose name holds one of the words

Each case is a program that runs plain and under the library: it must print the same, and the library
must have counted what it printed. Environment: BUILD, CC.
"""
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from room import CASES, Failed, Room, Skipped  # noqa: E402
import cases  # noqa: E402,F401
import cases_beside  # noqa: E402,F401
import cases_compile  # noqa: E402,F401
import cases_modules  # noqa: E402,F401
import cases_stow  # noqa: E402,F401
import cases_table  # noqa: E402,F401


def run(number, name, function, work, fakes):
    room = Room(os.path.join(work, 'case%d' % number), number, fakes)
    try:
        function(room)
        return 'ok    ' + name
    except Skipped as reason:
        return 'skip  %s: %s' % (name, reason)
    except Failed as reason:
        return 'FAIL  %s\n      %s' % (name, str(reason).replace('\n', '\n      '))
    finally:
        room.close()


def main():
    words = sys.argv[1:]
    chosen = [(name, function) for name, function in CASES if not words or any(word in name for word in words)]
    work = tempfile.mkdtemp(prefix='rankshare-cuda-')
    try:
        fakes = Room.build(os.path.join(work, 'fakes'))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            lines = list(pool.map(lambda item: run(item[0], *item[1], work, fakes), enumerate(chosen)))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print('\n'.join(lines))
    count = {word: sum(bool(re.match(word, line)) for line in lines) for word in ('ok', 'FAIL', 'skip')}
    print('%d passed, %d failed, %d skipped' % (count['ok'], count['FAIL'], count['skip']))
    return count['FAIL'] > 0 or not lines


if __name__ == '__main__':
    sys.exit(main())
