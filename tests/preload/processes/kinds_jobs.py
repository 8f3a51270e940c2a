# SPDX-License-Identifier: Apache-2.0
"""Whose job a process is: sessions, daemons, names; and two jobs on one directory."""
import os
import time
from subprocess import DEVNULL

import walk as books
from kinds import PATIENCE, expect_word, finish, fork, hear, kind, part, piped, reap, run, say
from walk import Walk

NO_JOB = {'RANKSHARE_JOB': None}


@part
def worker(ordinal, rank=None, job=None):
    """A daemon's worker: told what it is while it runs already."""
    for name in ('RANK', 'WORLD_SIZE'):
        os.environ.pop(name, None)
    if job:
        os.environ['RANKSHARE_JOB'] = job
    walk = Walk(int(ordinal), 'worker')
    name = None if job else books.session_job()
    walk.graph()
    if rank is not None:
        os.environ.update(RANK=rank, WORLD_SIZE='2')
    walk.kernel('of worker %s' % ordinal)
    walk.close(job=name)


@part
def raylet(job=None):
    """Starts workers: programs, and fork children that say late who they are."""
    walk = Walk(0, 'daemon')
    more = [job] if job else []
    finish(run('worker', 11, 0, *more))
    finish(run('worker', 3, 1, *more))
    reap(fork(worker, 12, '0', job), fork(worker, 0, '1', job))
    os.environ.pop('RANK', None)
    walk.close()


@part
def daemon(how, job=None):
    """HOW: the daemon leads its session, or its session's leader has ended before."""
    if how == 'leader':
        finish(run('raylet', *([job] if job else []), start_new_session=True))
        return

    def leader():
        os.setsid()
        child = run('raylet', *([job] if job else []))
        os._exit(0 if child.pid else 1)
    reap(fork(leader))


kind('daemon: leads its session', 'daemon', 5, 'leader', environment=NO_JOB)
kind('daemon: its session has no leader', 'daemon', 5, 'orphan', environment=NO_JOB)
kind('daemon: RANKSHARE_JOB said late', 'daemon', 5, 'leader', 'told late', environment=NO_JOB)


def wait_until(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError('%s, not in %d s' % (what, PATIENCE))
        time.sleep(0.02)


def lines():
    return books.read(os.environ['BOOKS']).count(b'\n') if os.path.exists(os.environ['BOOKS']) else 0


@part
def leader_ends():
    """One rank hashes while the session's leader lives, another when it is gone: one job."""
    def rank(ordinal, job, ready):
        ready()
        walk = Walk(ordinal, 'rank on %d' % ordinal)
        walk.graph()
        walk.close(job=job)
        wait_until('the other rank has hashed', lambda: lines() == 2)

    def leader():
        os.setsid()
        job, me = books.session_job(), os.getpid()
        fork(rank, 11, job, lambda: None)
        fork(rank, 3, job, lambda: wait_until('the leader is gone', lambda: not books.start_of(me)))
        wait_until('the first rank has hashed', lambda: lines() == 1)
    reap(fork(leader))


kind("daemon: the session's leader ends between two ranks", 'leader_ends', 2, environment=NO_JOB)


# ---- two jobs on one directory ----------------------------------------------------------------------------

@part
def asker(key, *expect):
    walk = Walk(3, 'asker')
    walk.kernel(key, store=False, asking=lambda: say('asking'))
    walk.close(**{name: int(value) for name, value in (pair.split('=') for pair in expect)})


@part
def loser():
    """Its first lease ends without a store."""
    walk = Walk(0, 'loser')
    walk.kernel('lost', store=False)
    walk.kernel('next')
    walk.close(leases=2, unproductive=1)
    say('lost')
    hear()


@part
def two_jobs():
    one, other = {'RANKSHARE_JOB': 'one', 'RANK': 1}, {'RANKSHARE_JOB': 'other', 'RANK': 2}
    # They wait for each other: the directory is what they share.
    first = piped('stopped_producer', environment=one)
    expect_word(first, 'held')
    second = piped('asker', 'k', 'triton_misses=0', 'leases=0', environment=other)
    expect_word(second, 'asking')
    first.stdin.close()
    finish(first)
    finish(second)
    # What one failed to store is marked in its own run alone.
    first = piped('loser', environment=one)
    expect_word(first, 'lost')
    finish(run('asker', 'lost', 'leases=0', 'triton_misses=1', environment=one, stdout=DEVNULL))
    finish(run('asker', 'lost', 'leases=1', 'triton_misses=1', environment=other, stdout=DEVNULL))
    first.stdin.close()
    finish(first)


kind('two jobs on one directory', 'two_jobs', 5)
