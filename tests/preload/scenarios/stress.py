# SPDX-License-Identifier: Apache-2.0
"""Ranks that do very much of everything: memory and descriptors stay where they were, entries stay right."""
import os
import subprocess

from room import HERE, PYTHON, Failed, scenario, short

ROUNDS = '''
import hashlib, os, sys
details, entry, hashes, views, looks = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
with open(details, "rb") as data:
    key = data.read()

def rounds(part):
    for i in range(hashes // part):
        hashlib.sha256(key).digest()
    for i in range(views // part):
        os.stat(entry)
        with open(entry, "rb") as data:
            data.read()
    for i in range(looks // part):
        os.path.exists("__grp__no_such_kernel%d.json" % i)
        os.listdir(".")

def held():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGESIZE"), len(os.listdir("/proc/self/fd"))

rounds(10)
before = held()
rounds(1)
after = held()
print(after[0] - before[0], after[1] - before[1])
'''
MARGIN = 4 << 20


def bounded(room, hashes, views, looks):
    grown = []
    for mode in ('plain', 'active'):
        status, output, error = room.run([PYTHON, '-c', ROUNDS, room.details, room.fx, str(hashes), str(views), str(looks)], mode,
                                         deadline=600)
        if status or error:
            raise Failed(short((status, output, error)))
        grown.append([int(word) for word in output.split()])
    if grown[1][0] > grown[0][0] + MARGIN or grown[1][1] > grown[0][1]:
        raise Failed('plain %r, preloaded %r (bytes, descriptors)' % tuple(grown))


@scenario('stress: memory and descriptors after many hashes, views and looks')
def short_leaks(room):
    bounded(room, 500, 100, 5000)


@scenario('stress: memory and descriptors after 100,000 looks', long=True)
def long_leaks(room):
    bounded(room, 20000, 4000, 100000)


def torture(room, seconds):
    """Four ranks on one root."""
    running = []
    for ordinal in ('0', '3', '11', '12'):
        command = [PYTHON, os.path.join(HERE, 'torture.py'), str(seconds), room.root, room.told['details'][ordinal]['fx'],
                   room.told['views'][ordinal]['fx']]
        running.append(subprocess.Popen(command, env=room.environment('active', RANKSHARE_WAIT='2', RANKSHARE_JOB='torture', RANK=ordinal),
                                        cwd=room.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    try:
        for process in running:
            output, error = process.communicate(timeout=seconds + 120)
            if process.returncode or error or output.splitlines()[-1:] != [b'right']:
                raise Failed(short((process.returncode, output.decode(errors='replace'), error.decode(errors='replace'))))
    finally:
        for process in running:
            process.kill()
            process.wait()


@scenario('stress: four ranks, threads, forks, waits, stores and removals for 2 seconds')
def short_torture(room):
    torture(room, 2)


@scenario('stress: four ranks, threads, forks, waits, stores and removals for 10 seconds', long=True)
def long_torture(room):
    torture(room, 10)
