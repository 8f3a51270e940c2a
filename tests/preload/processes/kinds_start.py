# SPDX-License-Identifier: Apache-2.0
"""How a rank is started: its own ordinal, rank and counters, whatever its parent was."""
import multiprocessing
import os
import sys

import kinds
from kinds import command, finish, fork, guarded, kind, part, reap, run
from walk import Walk


@part
def member(ordinal, rank=None, when='before'):
    """A rank. WHEN its number is in the environment: before or after it hashes for the first time."""
    if rank is not None and when == 'before':
        os.environ['RANK'] = str(rank)
    walk = Walk(int(ordinal), 'rank on %s' % ordinal)
    walk.graph('aot')
    walk.graph()
    if rank is not None:
        os.environ['RANK'] = str(rank)
    walk.kernel('own%s' % ordinal)
    walk.kernel('of all')
    walk.close()


def by_subprocess(ordinal, rank, **options):
    process = run('member', ordinal, environment={'RANK': rank}, **options)
    return lambda: finish(process)


def by_posix_spawn(ordinal, rank):
    child = os.posix_spawn(sys.executable, command('member', ordinal), dict(os.environ, RANK=str(rank)))
    return lambda: reap(child)


def by_fork(ordinal, rank, when='before'):
    child = fork(member, ordinal, rank, when)
    return lambda: reap(child)


def by_fork_and_exec(ordinal, rank):
    os.environ['RANK'] = str(rank)
    child = fork(os.execv, sys.executable, command('member', ordinal))
    os.environ['RANK'] = '0'
    return lambda: reap(child)


def by_daemon(ordinal, rank):
    """Double fork: the books tell when it is done."""
    def middle():
        os.setsid()
        fork(member, ordinal, rank)
    reap(fork(middle))
    return lambda: None


def by_rank(ordinal, rank):
    """A grandchild whose parent is a rank of another ordinal."""
    def middle():
        walk = Walk(12, 'rank between')
        walk.hash()
        reap(fork(member, ordinal, rank))
        walk.close()
    child = fork(middle)
    return lambda: reap(child)


def imported(*arguments):
    kinds.load()
    sys.exit(guarded(member, *arguments))


def by_multiprocessing(method):
    def start(ordinal, rank):
        process = multiprocessing.get_context(method).Process(target=imported, args=(ordinal, rank))
        process.start()

        def wait():
            process.join(kinds.PATIENCE)
            if process.exitcode != 0:
                raise AssertionError('a process started by %s ended with %s' % (method, process.exitcode))
        return wait
    return start


# How; lines of the books for each rank.
STARTS = {
    'subprocess': (by_subprocess, 1),
    'subprocess, own session': (lambda *which: by_subprocess(*which, start_new_session=True), 1),
    'subprocess, descriptors kept': (lambda *which: by_subprocess(*which, close_fds=False), 1),
    'subprocess, preexec_fn': (lambda *which: by_subprocess(*which, preexec_fn=os.setpgrp), 1),
    'posix_spawn': (by_posix_spawn, 1),
    'fork': (by_fork, 1),
    'fork, RANK set later': (lambda *which: by_fork(*which, 'after'), 1),
    'fork and exec': (by_fork_and_exec, 1),
    'multiprocessing fork': (by_multiprocessing('fork'), 1),
    'multiprocessing spawn': (by_multiprocessing('spawn'), 1),
    'multiprocessing forkserver': (by_multiprocessing('forkserver'), 1),
    'double fork': (by_daemon, 1),
    'fork by a rank': (by_rank, 2),
}


@part
def starter(how, parent):
    """Starts ranks on 11, 3 and 0. PARENT: whether it is a rank itself (on cuda:0, or on 12)."""
    walk = Walk(int(parent) if parent.isdigit() else 0, 'parent')
    if parent.isdigit():
        walk.graph()
        walk.kernel('of the parent')
    waits = [STARTS[how][0](ordinal, rank) for rank, ordinal in enumerate((11, 3, 0), 1)]
    for wait in waits:
        wait()
    if parent.isdigit():
        walk.kernel('of the parent')
    walk.close(keeps=how.startswith('multiprocessing'))


for how in STARTS:
    for parent in ('no rank', '0', '12'):
        long = parent != '0' and how != 'fork'
        kind('start: %s; parent %s' % (how, 'on cuda:' + parent if parent.isdigit() else 'is no rank'), 'starter',
             1 + 3 * STARTS[how][1], how, parent, long=long)
