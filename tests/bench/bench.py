#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the library costs: a table of differences and ratios, each measured side by side in this run.

    make bench                      # or: tests/bench/bench.py [--json FILE]

Nothing is asserted: a busy machine would make liars of us. The column "goal" is what we want to reach.
docs/speed.md says what the rows mean.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from material import Case, cubin, fixture, large_details, small_entry  # noqa: E402

PYTHON = os.environ.get('PYTHON') or sys.executable
IMAGES = os.path.join(fixture.BUILD, 'bench', 'images')
CALLS = os.path.join(fixture.BUILD, 'bench', 'calls.so')
FUNCTIONS = ('stat', 'open', 'openat', 'fopen', 'access')
FAR = 11  # an ordinal of two digits: strings change their lengths
PROCESSES = 5
SEGMENT = 'bench-%d' % os.getpid()
ROWS = []


def row(what, text, value, unit, goal=None):
    """VALUE in UNIT (ns, ms, times, %) against the GOAL in the same unit, none for what only informs."""
    ROWS.append({'what': what, 'text': text, 'value': round(value, 4), 'unit': unit, 'goal': goal,
                 'reached': None if goal is None else value <= goal})


def environment(mode, root):
    result = fixture.plain_environment()
    result.update(TORCHINDUCTOR_CACHE_DIR=root, RANK=str(FAR))
    if mode != 'plain':
        result['LD_PRELOAD'] = fixture.LIBRARY
    if mode in ('active', 'files', 'memory'):
        result.update(RANKSHARE_READS=mode if mode != 'active' else 'auto', RANKSHARE='1', RANKSHARE_SEGMENT=SEGMENT, RANKSHARE_WAIT='30')
    return result


def in_rank(mode, root, **work):
    done = subprocess.run([PYTHON, os.path.join(HERE, 'rank.py'), json.dumps(dict(work, calls=CALLS))],
                          env=environment(mode, root), stdout=subprocess.PIPE, timeout=300)
    if done.returncode:
        raise SystemExit('a measuring process ended with status %d' % done.returncode)
    return json.loads(done.stdout)


def interleaved(modes, measure, rounds=PROCESSES):
    """{mode: [results]}, every mode in each round."""
    values = {mode: [] for mode in modes}
    for i in range(rounds):
        for mode in modes if i % 2 else reversed(modes):
            values[mode].append(measure(mode))
    return values


def middle(results, key):
    results = sorted(results, key=lambda one: one[key])
    return results[len(results) // 2]


def calls(case):
    details, folder = case.details(FAR), os.path.dirname(case.pair()[1])
    unrelated = {'unrelated': '/etc/passwd', 'absent': '/usr/lib/python3/dist-packages/no/such/module.py'}
    managed = {'key directory': folder, 'absent entry': os.path.join(folder, 'a' * 51)}
    got = interleaved(('inactive', 'active'), lambda mode: in_rank(
        mode, case.root, details=details, functions=FUNCTIONS,
        paths=dict(unrelated, **managed if mode == 'active' else {})), 3)
    noise = statistics.median(one['noise']['difference'] for many in got.values() for one in many)
    row('resolution: stat against itself', '%+6.1f ns' % noise, noise, 'ns')
    for mode, goal in (('inactive', 5), ('active', 20)):
        for name in list(unrelated) + (list(managed) if mode == 'active' else []):
            for function in FUNCTIONS:
                one = middle((m['%s %s' % (function, name)] for m in got[mode]), 'difference')
                row('%s, %s, %s' % (function, name, mode), '%+6.0f ns  (%.0f -> %.0f)' % (
                    one['difference'], one['first'], one['second']), one['difference'], 'ns', 5000 if name in managed else goal)


def hashing(cases, large):
    details = [cases[0].details(FAR)[0], cases[1].details(FAR)[-1], large]
    got = interleaved(('plain', 'inactive', 'active'), lambda mode: in_rank(mode, cases[1].root, details=details))
    small = {mode: statistics.median(one['small'] for one in many) for mode, many in got.items()}
    for mode, goal in (('inactive', 5), ('active', 80)):
        more = small[mode] - small['plain']
        row('hashlib.sha256 of 64 bytes, ' + mode, '%+6.0f ns  (%.0f -> %.0f)' % (more, small['plain'], small[mode]), more, 'ns', goal)
    for i, path in enumerate(details):
        times = {mode: min(one['details'][i] for one in many) for mode, many in got.items()}
        more = times['active'] - times['plain']
        row('details of %d kB: recognise, canonicalise, hash' % (os.path.getsize(path) // 1000), '%6.2f times its SHA-256  (%.0f us on top of %.0f)' % (
            more / times['plain'], more / 1e3, times['plain'] / 1e3), more / times['plain'], 'times', 3)


def views(case, entries):
    """From the call of open() to the first byte: times of the quickest round, and the median of the ratios. A rank
    of cuda:0 gets the entry as it is, once it has been looked at."""
    got = interleaved((0, 3, FAR), lambda ordinal: in_rank(
        'active', case.root, details=case.details(ordinal), views=entries), 3)
    for path in entries:
        kb = os.path.getsize(path) // 1000
        plain = min(one['plain ' + path]['quickest'][1] for many in got.values() for one in many)
        row('entry of %d kB to its first byte, plain' % kb, '%8.3f ms' % (plain / 1e6), plain / 1e6, 'ms')
        for ordinal, many in got.items():
            one = middle((m['view ' + path] for m in many), 'ratio')
            copy, first = (min(m['view ' + path]['quickest'][way] for m in many) / 1e6 for way in (0, 1))
            row('entry of %d kB to its first byte, cuda:%d' % (kb, ordinal), '%8.3f ms, %.2f times memcpy and memfd write (%.3f ms)' % (
                first, one['ratio'], copy), one['ratio'], 'times', 2)


def sources(case, entries):
    """The same with the bytes from the segment, against those from the file, which lies in the page cache. The first open
    puts them there."""
    for ordinal in (0, 3):
        got = interleaved(('files', 'memory'), lambda mode: in_rank(
            mode, case.root, details=case.details(ordinal), views=entries), 3)
        for path in entries:
            times = {mode: min(one['view ' + path]['quickest'][1] for one in many) / 1e6 for mode, many in got.items()}
            row('entry of %d kB to its first byte, cuda:%d, from the segment' % (os.path.getsize(path) // 1000, ordinal),
                '%8.3f ms, %.2f times that from the file (%.3f ms)' % (times['memory'], times['memory'] / times['files'], times['files']),
                times['memory'] / times['files'], 'times')


def images(root):
    """Recorded cubins of about 10 and 100 kB; the goal is that of a whole load through the hook."""
    found = [os.path.join(place, name) for place, _, names in os.walk(root) for name in names if name.endswith('.cubin')]
    for size, goal in ((10000, None), (100000, 10)):
        path = min(found, key=lambda path: abs(os.path.getsize(path) - size))
        spent = json.loads(subprocess.run([IMAGES, path, '2000'], check=True, stdout=subprocess.PIPE).stdout)
        label = 'cubin of %d kB: ' % (os.path.getsize(path) // 1000)
        for step, text in (('size', 'its size'), ('readable', 'whether all of it can be read'), ('hash', 'semantic hash'),
                           ('kernels', 'its kernels')):
            row(label + text, '%8.2f us' % (spent[step] / 1e3), spent[step] / 1e3, 'us')
        known = sum(spent[step] for step in ('size', 'readable', 'hash')) / 1e3
        row(label + 'from a bare pointer to its hash', '%8.2f us, %.1f times memcpy' % (known, known * 1e3 / spent['memcpy']), known, 'us', goal)


def constructor(root):
    times = {'plain': [], 'inactive': [], 'active': []}
    for i in range(120):
        for mode in sorted(times, key=lambda m: (hash(m) + i) % 3):
            block = environment(mode, root)
            begin = time.perf_counter_ns()
            os.waitpid(os.posix_spawn('/bin/true', ['true'], block), 0)
            times[mode].append(time.perf_counter_ns() - begin)
    medians = {mode: statistics.median(values) / 1e6 for mode, values in times.items()}
    for mode in ('inactive', 'active'):
        more = medians[mode] - medians['plain']
        row('loading and constructor, `true`, ' + mode, '%+6.2f ms  (%.2f -> %.2f)' % (more, medians['plain'], medians[mode]), more, 'ms', 1)


def loads(case):
    """The driver hooks, in front of a driver that does nothing."""
    folder = os.path.join(fixture.BUILD, 'bench')
    image = os.path.join(case.root, 'image')
    with open(image, 'wb') as out:
        out.write(cubin(100000))
    for mode, kind, what, goal in (('inactive', 'dlsym', 'dlsym of an unrelated name, inactive', 5), ('active', 'dlsym', 'dlsym of an unrelated name, active', 20),
                                   ('inactive', 'load', 'load of a cubin of 100 kB, inactive', 50), ('active', 'load', 'load of a cubin of 100 kB, active', 10000)):
        block = dict(environment(mode, case.root), LD_LIBRARY_PATH=folder)
        done = subprocess.run([os.path.join(folder, 'loads'), kind, image, '151', '200'], env=block, stdout=subprocess.PIPE,
                              universal_newlines=True, timeout=300, check=True)
        rounds = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
        more = statistics.median(second - first for first, second in rounds)
        row(what, '%+6.0f ns  (%.0f -> %.0f)' % ((more,) + tuple(statistics.median(way) for way in zip(*rounds))), more, 'ns', goal)


LEASE = '''
import hashlib, os, sys, time
hashlib.sha256(open(sys.argv[1], 'rb').read()).digest()
print(len(os.listdir(sys.argv[2])), flush=True)
time.sleep(30)
'''


def waiter(root, details, entry):
    """CPU time of a rank that waits for another one's entry."""
    os.unlink(entry)
    folder = os.path.dirname(entry)
    ranks = []
    try:
        for _ in range(2):
            ranks.append(subprocess.Popen([PYTHON, '-c', LEASE, details, folder], env=environment('active', root),
                                          stdout=subprocess.PIPE, universal_newlines=True))
            if len(ranks) == 1:
                ranks[0].stdout.readline()  # it has the lease now
        time.sleep(1)
        if ranks[1].poll() is not None:
            raise SystemExit('the waiting rank ended')
        used = []
        for _ in range(2):
            with open('/proc/%d/schedstat' % ranks[1].pid) as text:
                used.append(int(text.read().split()[0]))
            if len(used) == 1:
                time.sleep(5)
        share = (used[1] - used[0]) / 5e9 * 100
        row('CPU of a waiting rank over 5 s', '%6.3f %% of one CPU' % share, share, '%', 0.1)
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def store(work):
    """The rows of store.c."""
    program = os.path.join(fixture.BUILD, 'bench', 'store')
    done = subprocess.run([program, SEGMENT, work], stdout=subprocess.PIPE, check=True, timeout=300)
    for one in json.loads(done.stdout):
        row(one['what'], one['text'], one['value'], one['unit'], one['goal'])


def measure(work, only_store):
    if only_store:
        return store(work)
    small, blocks = Case(work, 'usertriton'), Case(work, 'blocks')
    long = os.path.join(work, 'large.details')
    with open(long, 'wb') as out:
        out.write(large_details(blocks.details(FAR)[-1], 10))
    calls(small)
    hashing((small, blocks), long)
    ten = small.add_entry(small_entry(120))
    views(small, [ten, small.entry_of('aotautograd', 66000), small.entry_of('fxgraph', 240000)])
    large = [blocks.entry_of('aotautograd', 550000), blocks.entry_of('fxgraph', 5000000)]
    views(blocks, large)
    sources(blocks, large)
    images(blocks.root)
    constructor(blocks.root)
    loads(small)
    waiter(small.root, *small.pair())
    store(work)


def show():
    width, middle = (max(len(r[column]) for r in ROWS) for column in ('what', 'text'))
    print('\n%-*s  %-*s  %10s' % (width, 'what', middle, 'measured', 'goal'))
    for r in ROWS:
        goal = '' if r['goal'] is None else '%s %s' % (r['goal'], r['unit'])
        print('%-*s  %-*s  %10s  %s' % (width, r['what'], middle, r['text'], goal, {None: '', True: 'reached', False: 'SHORT'}[r['reached']]))


def main():
    parser = argparse.ArgumentParser(description='What the library costs, measured side by side.')
    parser.add_argument('--json', metavar='FILE', help='write the rows there, too')
    parser.add_argument('--store', action='store_true', help='only the artifact store')
    arguments = parser.parse_args()
    work = tempfile.mkdtemp(prefix='rankshare-bench-')
    try:
        print('measuring (about a minute) ...', flush=True)
        measure(work, arguments.store)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        for path in glob.glob('/dev/shm/rankshare.*.' + SEGMENT):
            os.unlink(path)
    show()
    if arguments.json:
        with open(arguments.json, 'w') as out:
            json.dump({'schema': 1, 'rows': ROWS}, out, indent=1)
            out.write('\n')


if __name__ == '__main__':
    main()
