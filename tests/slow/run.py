#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight ranks with recorded artifacts (tests/demo) in a cache directory on a slow file system: slowfs.c counts what is
read of it. Each artifact is read once for all ranks.

    tests/slow/run.py [quick|long]      long: with ten milliseconds for each read, and a plain job beside it

Needs root (to mount), /dev/fuse and libfuse 3; without them it is skipped.
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, 'tests', 'demo'))
sys.dont_write_bytecode = True
import demo  # noqa: E402
import material  # noqa: E402

BUILD = os.path.join(TOP, os.environ.get('BUILD') or 'build')
PROGRAM = os.path.join(BUILD, 'rankshare')
SEGMENT = 'slow%d' % os.getpid()
COMPILE = 0.3  # seconds
LIMIT = 20


def missing():
    """Why nothing can be mounted here; None: it can."""
    if os.geteuid() != 0:
        return 'mounting needs root'
    if not os.path.exists('/dev/fuse'):
        return 'there is no /dev/fuse'
    if subprocess.run(['pkg-config', '--exists', 'fuse3'], check=False).returncode:
        return 'libfuse 3 is not installed'
    return None


class Disk:
    """FOLDER/source, shown slowly at FOLDER/mount."""

    def __init__(self, folder, delay_us):
        self.source, self.mount, self.log = (os.path.join(folder, name) for name in ('source', 'mount', 'log'))
        self.delay_us = delay_us
        for path in (self.source, self.mount):
            os.mkdir(path)

    @contextlib.contextmanager
    def mounted(self):
        """Anew for each job, so that nothing is left of the one before in the kernel's memory."""
        open(self.log, 'w').close()
        server = subprocess.Popen([os.path.join(BUILD, 'test', 'slowfs'), self.source, self.mount, str(self.delay_us), self.log],
                                  stderr=subprocess.PIPE, universal_newlines=True)
        try:
            end = time.monotonic() + LIMIT
            while not os.path.ismount(self.mount):
                if server.poll() is not None or time.monotonic() > end:
                    raise OSError('nothing was mounted: ' + (server.stderr.read() if server.poll() is not None else ''))
                time.sleep(0.02)
            yield self
        finally:
            subprocess.run(['umount', '-l', self.mount], check=False, stderr=subprocess.DEVNULL)
            try:
                server.wait(LIMIT)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            server.stderr.close()

    def reads(self):
        """{artifact: bytes read of it}. Generated sources are no artifacts: each rank has its own."""
        total = {}
        with open(self.log) as lines:
            for line in lines:
                size, _, path = line.rstrip('\n').split(' ', 2)
                if path.startswith(('/fxgraph/', '/aotautograd/', '/triton/')):
                    total[path] = total.get(path, 0) + int(size)
        return total

    def times(self):
        """How often the average byte of the artifacts was read, and the artifacts that were not read exactly once."""
        reads = self.reads()
        sizes = {path: os.path.getsize(self.source + path) for path in reads if os.path.exists(self.source + path)}
        odd = ['%s: %d of %d bytes' % (path, reads[path], size) for path, size in sizes.items() if reads[path] != size]
        return sum(reads[path] for path in sizes) / max(1, sum(sizes.values())), odd, sizes


class Checks:
    passed = failed = 0

    def check(self, name, problems):
        print('%-5s %s' % ('FAIL' if problems else 'ok', name) + ''.join('\n        ' + line for line in problems), flush=True)
        self.passed, self.failed = self.passed + (not problems), self.failed + bool(problems)


def artifacts(disk):
    """All that ranks share in the directory."""
    found = set()
    for kind in ('fxgraph', 'aotautograd', 'triton'):
        for folder, _, names in os.walk(os.path.join(disk.source, kind)):
            found |= {os.path.join(folder, name)[len(disk.source):] for name in names}
    return found


def run_job(disk, work, name, compiles, recorded, *settings):
    """One job on the disk. Returns it, and its problems."""
    prefix = ('env', *settings, PROGRAM, 'run', '--segment', SEGMENT, '--library', os.path.join(BUILD, 'librankshare.so'), '--wait', '60',
              '--job', name, '--')
    with disk.mounted():
        job = demo.Job(name, work, disk.mount, range(demo.RANKS), COMPILE, prefix)
        job.expect(compiles, recorded)
    return job


def clear():
    subprocess.run([PROGRAM, 'clear', '--segment', SEGMENT], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def told(job, average):
    return '(each byte %.2f times; the ranks looked up for %.2f s)' % (average, job.sum('looking'))


def run(checks, disk, work, recorded):
    cold = run_job(disk, work, 'cold', 1, recorded)
    average, odd, _ = disk.times()
    checks.check('a cold job: what one rank stores is read once at most ' + told(cold, average),
                 cold.problems + [line for line in odd if line])
    clear()
    warm = run_job(disk, work, 'warm', 0, recorded)
    average, odd, sizes = disk.times()
    entries = {path for path in artifacts(disk) if not path.startswith('/triton/')}
    checks.check('a warm job: each artifact is read once ' + told(warm, average),
                 warm.problems + odd + ['%s: not read' % path for path in entries - set(sizes)])
    again = run_job(disk, work, 'again', 0, recorded)
    average, _, sizes = disk.times()
    checks.check('the next job: nothing is read ' + told(again, average), again.problems + sorted(sizes))
    files = run_job(disk, work, 'files', 0, recorded, 'RANKSHARE_READS=files')
    average, _, sizes = disk.times()
    checks.check('RANKSHARE_READS=files: every rank reads ' + told(files, average),
                 files.problems + ([] if average > demo.RANKS / 2 else ['the counting shows nothing']))


def main():
    reason = missing()
    if reason:
        print('skip  a slow file system: ' + reason)
        print('0 passed, 0 failed, 1 skipped')
        return 0
    subprocess.run(['make', '-s', '-C', TOP, 'BUILD=' + BUILD, os.path.join(BUILD, 'test', 'slowfs')], check=True)
    long = sys.argv[1:2] == ['long']
    work = tempfile.mkdtemp(prefix='rankshare-slow-')
    checks = Checks()
    try:
        disk = Disk(work, 10000 if long else 500)
        try:
            with disk.mounted():
                pass
        except OSError as error:
            print('skip  a slow file system: %s' % error)
            print('0 passed, 0 failed, 1 skipped')
            return 0
        recorded = material.recorded_keys(material.make(demo.ARCHIVE, range(demo.RANKS), work), 0)
        run(checks, disk, work, recorded)
    finally:
        clear()
        shutil.rmtree(work, ignore_errors=True)
    print('%d passed, %d failed' % (checks.passed, checks.failed))
    return 1 if checks.failed else 0


if __name__ == '__main__':
    sys.exit(main())
