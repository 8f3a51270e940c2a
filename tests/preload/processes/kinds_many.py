# SPDX-License-Identifier: Apache-2.0
"""Pools of workers, and many short processes."""
import collections
import concurrent.futures
import json
import multiprocessing
import os
import signal
import subprocess
import threading
import time

from kinds import expect_word, finish, fork, kind, part, piped, reap, run, say
from walk import Walk

KERNELS, WORKERS = 12, 3


# ---- torch's compile workers: a rank starts a sidecar, which forks a pool ------------------------------------

def watch_parent():
    """As torch's workers do: who has lost its sidecar ends."""
    parent = os.getppid()

    def loop():
        while os.getppid() == parent:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Thread(target=loop, daemon=True).start()


def compile_one(ordinal, number):
    walk = Walk(ordinal, 'pool worker')
    walk.kernel('of the pool %d' % number)
    walk.close(keeps=True)
    return walk.did['stores_triton']


@part
def sidecar(ordinal):
    context = multiprocessing.get_context('fork')
    with concurrent.futures.ProcessPoolExecutor(WORKERS, context, initializer=watch_parent) as pool:
        stored = sum(pool.map(compile_one, [int(ordinal)] * KERNELS, range(KERNELS)))
    print(stored, flush=True)


@part
def pool_rank(ordinal):
    walk = Walk(int(ordinal), 'rank')
    walk.graph()
    finish(run('sidecar', ordinal))
    walk.kernel('of the pool 0')
    walk.close(triton_hits=1)


@part
def pool():
    """Two ranks, each with workers of its own: each kernel is compiled once on the node."""
    ranks = [run('pool_rank', ordinal, environment={'RANK': rank}, stdout=subprocess.PIPE)
             for rank, ordinal in enumerate((11, 3))]
    stored = 0
    for rank in ranks:
        stored += int(rank.stdout.read())  # by its sidecar
        finish(rank)
    if stored != KERNELS:
        raise AssertionError('%d kernels were compiled for %d' % (stored, KERNELS))


kind('pool: workers of two ranks', 'pool', 2 * (1 + KERNELS))


def hold(ordinal, writing):
    walk = Walk(ordinal, 'pool worker')
    walk.kernel('held', store=False)
    walk.close(keeps=True, leases=1)
    os.write(writing, b'held\n')
    time.sleep(600)


@part
def holding_sidecar():
    context = multiprocessing.get_context('fork')
    with concurrent.futures.ProcessPoolExecutor(1, context, initializer=watch_parent) as workers:
        workers.submit(hold, 3, 1).result()


@part
def pool_killed():
    """The sidecar is killed while its worker produces: the worker ends, and who waits takes over."""
    process = run('holding_sidecar', stdout=subprocess.PIPE)
    expect_word(process, 'held')
    other = piped('taker', environment={'RANK': 2})
    expect_word(other, 'asking')
    process.kill()
    process.wait()
    finish(other)


@part
def taker():
    walk = Walk(11, 'taker')
    walk.kernel('held', asking=lambda: say('asking'))
    walk.close(takeovers=1)


kind('pool: the sidecar is killed', 'pool_killed', 2)


# ---- many ----------------------------------------------------------------------------------------------------

def brief(index, hashing, path):
    """Hashes, looks, stores now and then, and ends without a word: no destructor, no books of its own."""
    if index % hashing == 0:
        walk = Walk(3, 'short')
        walk.kernel('short %d' % (index % 50), store=index % 7 == 1)
        with open(path, 'a') as sums:
            sums.write(json.dumps(walk.did) + '\n')


@part
def short(number, hashing, side_by_side):
    """NUMBER fork children, SIDE_BY_SIDE at a time; every HASHING-th one hashes. The rank that forks them
    adds up their books."""
    walk, running, path = Walk(11, 'parent'), collections.deque(), os.environ['BOOKS'] + '.sums'
    walk.graph()
    for index in range(int(number)):
        running.append(fork(brief, index, int(hashing), path))
        if len(running) == int(side_by_side):
            reap(running.popleft())
    reap(*running)
    with open(path) as sums:
        for line in sums:
            walk.did.update(json.loads(line))
    walk.keys += ['short %d' % n for n in range(20)]
    walk.close()


kind('1000 short processes, half of them hash', 'short', 1, 1000, 2, 3, totals=True)
kind('5000 short processes that hash: slots come again', 'short', 1, 5000, 1, 8, totals=True, long=True)
