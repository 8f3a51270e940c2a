#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the library costs: a table of differences and ratios, each measured side by side in this run.

    make bench

Nothing is asserted: a busy machine would make liars of us. The column "goal" is what we want to reach.
"""
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
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'preload', 'hooks'))
sys.dont_write_bytecode = True
import fixture  # noqa: E402

PYTHON = os.environ.get('PYTHON') or sys.executable
CALLS = os.path.join(fixture.BUILD, 'bench', 'calls.so')
ORDINAL = 11
PROCESSES = 5
SEGMENT = 'bench-%d' % os.getpid()
ROWS = []


def row(what, measured, goal, good=None):
    ROWS.append((what, measured, goal, {None: '', True: 'reached', False: 'SHORT'}[good]))


def environment(mode, root):
    result = fixture.plain_environment()
    result.update(TORCHINDUCTOR_CACHE_DIR=root, RANK=str(ORDINAL))
    if mode != 'plain':
        result['LD_PRELOAD'] = fixture.LIBRARY
    if mode == 'active':
        result.update(RANKSHARE='1', RANKSHARE_SEGMENT=SEGMENT, RANKSHARE_WAIT='30')
    return result


def in_rank(mode, root, **work):
    done = subprocess.run([PYTHON, os.path.join(HERE, 'rank.py'), json.dumps(dict(work, calls=CALLS))],
                          env=environment(mode, root), stdout=subprocess.PIPE, timeout=300)
    if done.returncode:
        raise SystemExit('a measuring process ended with status %d' % done.returncode)
    return json.loads(done.stdout)


def interleaved(modes, measure):
    """{mode: [values]} of PROCESSES rounds, every mode in each round."""
    values = {mode: [] for mode in modes}
    for i in range(PROCESSES):
        for mode in modes if i % 2 else reversed(modes):
            values[mode].append(measure(mode))
    return values


def calls(root, details, first_entry):
    folder = os.path.dirname(first_entry)
    paths = {'unrelated': '/etc/passwd', 'absent': '/etc/no-such-file',
             'cache-like name elsewhere': '/tmp/' + 'f' * 52,
             'key directory': folder, 'absent entry': os.path.join(folder, 'a' * 51)}
    for mode, goals in (('inactive', 5), ('active', 20)):
        got = in_rank(mode, root, details=details, paths=paths)
        if mode == 'inactive':
            row('resolution: stat against itself', '%+6.1f ns' % got['noise']['difference'], '')
        for call in ('stat', 'open'):
            for name in paths:
                one = got['%s %s' % (call, name)]
                managed = name in ('key directory', 'absent entry')
                if managed and mode == 'inactive':
                    continue
                goal = 5000 if managed else goals
                row('%s, %s, %s' % (call, name, mode),
                    '%+6.0f ns  (%.0f -> %.0f)' % (one['difference'], one['first'], one['second']),
                    '%+d ns' % goal if name != 'cache-like name elsewhere' else '', one['difference'] <= goal)


def hashing(root, details):
    values = interleaved(('plain', 'inactive', 'active'), lambda mode: in_rank(mode, root, details=details))
    small = {mode: statistics.median(v['small'] for v in got) for mode, got in values.items()}
    for mode, goal in (('inactive', 5), ('active', 80)):
        row('hashlib.sha256 of 64 bytes, ' + mode, '%+6.0f ns  (%.0f -> %.0f)' % (
            small[mode] - small['plain'], small['plain'], small[mode]), '%+d ns' % goal, small[mode] - small['plain'] <= goal)
    for i, path in enumerate(details):
        times = {mode: statistics.median(v['details'][i] for v in got) for mode, got in values.items()}
        ratio = (times['active'] - times['plain']) / times['plain']
        row('details of %d kB: recognise, canonicalise, hash' % (os.path.getsize(path) // 1000),
            '%6.2f times its SHA-256  (%.0f us on top of %.0f)' % (ratio, (times['active'] - times['plain']) / 1e3, times['plain'] / 1e3),
            '3', ratio <= 3)


def views(root, details, entries):
    got = in_rank('active', root, details=details, views=entries)
    for path in entries:
        one, size = got['view ' + path], os.path.getsize(path)
        ratio = one['second'] / one['first']
        row('view of a %d kB entry, open to first byte' % (size // 1000),
            '%6.2f times a copy into a memfd  (%.2f ms, %.2f)' % (ratio, one['second'] / 1e6, one['first'] / 1e6), '2', ratio <= 2)


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
        row('loading and constructor, `true`, ' + mode, '%+6.2f ms  (%.2f -> %.2f)' % (more, medians['plain'], medians[mode]), '+1 ms', more <= 1)


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
        row('CPU of a waiting rank over 5 s', '%6.3f %% of one CPU' % share, '~0 %', share < 0.1)
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def main():
    work = tempfile.mkdtemp(prefix='rankshare-bench-')
    try:
        print('measuring (about a minute) ...', flush=True)
        entries, details = {}, {}
        for case in ('usertriton', 'blocks'):
            recorded = fixture.extract(work, case)
            root = os.path.join(recorded, 'dev0_inductor')
            moved = []
            for name in sorted(os.listdir(os.path.join(recorded, 'keys0'))):
                path = os.path.join(recorded, 'keys0', name)
                with open(path, 'rb') as data:
                    key = fixture.name51(data.read())
                fixture.rewrite(ORDINAL, path, path + '.moved')
                moved.append(path + '.moved')
                kind = 'aotautograd' if name.endswith('-aot.pickle') else 'fxgraph'
                entries.setdefault(case, []).extend(
                    os.path.join(root, p) for k, p in fixture.entries(root) if k == kind and key in p)
            details[case] = moved
        roots = {case: os.path.join(work, case, 'dev0_inductor') for case in entries}
        largest = max(details['blocks'], key=os.path.getsize)
        calls(roots['usertriton'], details['usertriton'], entries['usertriton'][-1])
        hashing(roots['blocks'], [min(details['usertriton'], key=os.path.getsize), largest])
        views(roots['usertriton'], details['usertriton'], sorted(entries['usertriton'], key=os.path.getsize))
        views(roots['blocks'], details['blocks'], sorted(entries['blocks'], key=os.path.getsize))
        constructor(roots['blocks'])
        fx = [(d, e) for d, e in zip(details['usertriton'], entries['usertriton']) if 'fxgraph' in e][0]
        waiter(roots['usertriton'], *fx)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        for path in glob.glob('/dev/shm/rankshare.*.' + SEGMENT):
            os.unlink(path)
    width = max(len(r[0]) for r in ROWS)
    middle = max(len(r[1]) for r in ROWS)
    print('\n%-*s  %-*s  %8s' % (width, 'what', middle, 'measured', 'goal'))
    for what, measured, goal, verdict in ROWS:
        print('%-*s  %-*s  %8s  %s' % (width, what, middle, measured, goal, verdict if goal else ''))


if __name__ == '__main__':
    main()
