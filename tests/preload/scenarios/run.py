#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs under the library and without it: what they print, how they end, what they leave behind.

    tests/preload/scenarios/run.py [quick|long] [WORD ...]    only the scenarios whose name holds one of the words

Environment: BUILD, CC, PYTHON (the ranks' Python).
"""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import room
from room import Failed, Room, Skipped
import fixture
import same, programs, environment, calls, ranks, interposers, tools, segment, settings, stress  # noqa: E401, F401: they fill room.CASES


def run_one(shared, number, function):
    place = Room(shared, number)
    try:
        function(place)
        return 'ok', ''
    except Skipped as reason:
        return 'skip', str(reason)
    except Failed as failure:
        return 'FAIL', str(failure)
    except subprocess.TimeoutExpired as late:
        return 'FAIL', 'still running after %d s' % late.timeout
    except Exception as error:
        return 'FAIL', repr(error)
    finally:
        place.close()


class Shared:
    def __init__(self, long):
        self.long = long
        self.folder = tempfile.mkdtemp(prefix='rankshare-scenarios-')
        os.chmod(self.folder, 0o755)
        self.told = fixture.make(self.folder)


def main():
    words = sys.argv[1:]
    mode = words.pop(0) if words and words[0] in ('quick', 'long') else 'quick'
    chosen = [(name, function) for name, long, function in room.CASES
              if (mode == 'long' or not long) and (not words or any(w in name for w in words))]
    count = {'ok': 0, 'FAIL': 0, 'skip': 0}
    shared = Shared(mode == 'long')
    try:
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            runs = [pool.submit(run_one, shared, i, function) for i, (_, function) in enumerate(chosen)]
            for (name, _), run in zip(chosen, runs):
                word, text = run.result()
                count[word] += 1
                print('%-5s %s' % (word, name) + ''.join('\n        ' + line for line in text.splitlines()), flush=True)
    finally:
        shutil.rmtree(shared.folder, ignore_errors=True)
    print('%(ok)d passed, %(FAIL)d failed, %(skip)d skipped' % count)
    return 1 if count['FAIL'] else 0


if __name__ == '__main__':
    sys.exit(main())
