# SPDX-License-Identifier: Apache-2.0
"""Forks out of a process whose other threads are busy in the library, and interpreters in one process."""
import os
import threading

from kinds import expect_word, finish, fork, guarded, hear, kind, part, piped, produce_when_told, reap, say
from walk import Walk


@part
def holder():
    """Holds a lease that a thread of another process waits for."""
    walk = Walk(0, 'holder')
    produce_when_told(walk, 'held')


def merge(walk, others):
    for other in others:
        walk.did.update(other.did)
        walk.keys += other.keys[:3]
        walk.shown = other.shown if walk.shown is None else walk.shown


@part
def busy(forks):
    """Threads that hash, open views, wait in a lease and store, while one forks ranks."""
    walk = Walk(11, 'parent')
    walk.graph()
    first = piped('holder', environment={'RANK': 9})
    expect_word(first, 'held')
    over, walks, failed = threading.Event(), [], []

    def worker(body):
        own = Walk(11)
        walks.append(own)

        def loop():
            try:
                body(own)
            except BaseException as error:
                failed.append(error)
        thread = threading.Thread(target=loop)
        thread.start()
        return thread

    def hash_keys(own):
        number = 0
        while not over.is_set():
            own.kernel('of a thread %d' % (number % 40))
            number += 1

    def open_views(own):
        while not over.is_set():
            own.hash()
            own.load()

    def fork_ranks(own):
        for number in range(int(forks)):
            ordinal = (3, 12, 0)[number % 3]
            reap(fork(rank_of_fork, ordinal, number + 1))
        over.set()

    threads = [worker(lambda own: own.kernel('held'))] + [worker(hash_keys), worker(hash_keys), worker(open_views)]
    worker(fork_ranks).join()
    over.set()
    first.stdin.close()
    finish(first)
    first.stdout.close()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    merge(walk, walks)
    walk.close()


def rank_of_fork(ordinal, rank):
    os.environ['RANK'] = str(rank)
    walk = Walk(ordinal, 'fork child')
    walk.graph()
    walk.kernel('of the children')
    walk.close(keeps=True)


kind('fork out of busy threads', 'busy', 14, 12)
kind('fork out of busy threads, often', 'busy', 302, 300, long=True)


@part
def first_fork(rounds):
    """Processes in which one thread hashes for the first time while another forks a rank."""
    def process(number):
        walk, gate, children = Walk(11, 'parent'), threading.Barrier(2), []

        def hashing():
            gate.wait()
            walk.kernel('of a parent')

        def forking():
            gate.wait()
            children.append(fork(rank_of_fork, 3, number + 1))
        threads = [threading.Thread(target=t) for t in (hashing, forking)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        reap(*children)
        walk.close()
    for number in range(int(rounds)):
        reap(fork(process, number))


kind('fork beside a first hash', 'first_fork', 30, 15)
kind('fork beside a first hash, often', 'first_fork', 600, 300, long=True)


@part
def leaver():
    """Its main thread returns while another one waits: that does not keep it."""
    walk = Walk(3, 'leaver')

    def asking():
        walk.did['looks_triton'] -= 1  # it will not be answered
        walk.close()
        say('asking')
    threading.Thread(target=walk.kernel, args=('held',), kwargs={'asking': asking}, daemon=True).start()
    hear()


@part
def leave_a_waiter():
    first = piped('holder', environment={'RANK': 9})
    expect_word(first, 'held')
    other = piped('leaver', environment={'RANK': 1})
    expect_word(other, 'asking')
    other.stdin.close()
    finish(other)
    first.stdin.close()
    finish(first)


kind('end: while another thread waits', 'leave_a_waiter', 2)


@part
def first_hashes(threads):
    """Many threads whose first hashes meet: nothing that they count is lost."""
    walk, gate = Walk(3, 'rank'), threading.Barrier(int(threads))
    walks, failed = [], []

    def body(number):
        own = Walk(3)
        walks.append(own)
        gate.wait()
        failed.append(guarded(own.kernel, 'of thread %d' % number))
    running = [threading.Thread(target=body, args=(n,)) for n in range(int(threads))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    merge(walk, walks)
    walk.close()


kind('threads whose first hashes meet', 'first_hashes', 1, 24)

INSIDE = '''
import sys
sys.path.insert(0, %r)
import walk
one = walk.Walk(11, 'subinterpreter')
one.graph()
one.kernel('inside')
'''


@part
def subinterpreter():
    """Hashes in the main interpreter, in two others, and in the main one again."""
    try:
        import _interpreters as interpreters
        execute = interpreters.exec
    except ImportError:
        import _xxsubinterpreters as interpreters
        execute = interpreters.run_string
    here = os.path.dirname(os.path.abspath(__file__))
    walk = Walk(11, 'rank')
    walk.graph()
    for _ in range(2):
        one = interpreters.create()
        execute(one, INSIDE % here)
        interpreters.destroy(one)
    walk.graph()
    walk.did.update(details_fx=2, looks_fx=2, views=2, keys_triton=2, looks_triton=2, stores_triton=1)
    walk.close()


kind('subinterpreters', 'subinterpreter', 1)
