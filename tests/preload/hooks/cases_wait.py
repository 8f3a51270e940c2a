# SPDX-License-Identifier: Apache-2.0
"""How long a rank waits for a producer: the budget, signals, other threads, fork children."""
import contextlib
import os
import signal
import time

from cases import case
from cases_store import fresh, temporary
from others import Other


def produce(rank):
    """This rank takes the lease of the FX key and keeps it."""
    rank.hash('fx')
    os.listdir(rank.fx_dir)
    rank.counts(leases=1)


def store(rank):
    rank.put(temporary(rank), rank.fx_view)
    os.rename(temporary(rank), rank.fx)


@case('opendir', 'RANKSHARE_WAIT bounds what a rank waits, and then it never waits again', prepare=fresh('fx'))
def limit(rank):
    produce(rank)
    with Other(rank, 'again', environment={'RANKSHARE_WAIT': '1'}) as other:
        rank.equal(other.said()['names'], [[], []], 'what it saw')
        rank.equal(rank.counter('wait_timeouts', other.pid), 1, 'timeouts')
        rank.equal(rank.counter('fx_misses', other.pid), 2, 'misses')


@case('opendir', 'the waits of all threads together', prepare=fresh('fx'))
def threads(rank):
    produce(rank)
    with Other(rank, 'threads=4', environment={'RANKSHARE_WAIT': '4'}) as other:
        rank.equal(other.said()['names'], [[]] * 4, 'what they saw')
        waited = rank.counter('wait_ns', other.pid)
        rank.check(waited < 8 * 10**9, 'four threads waited %.1f s of 4' % (waited / 1e9))


@case('opendir', 'RANKSHARE_WAIT=0: nobody waits', prepare=fresh('fx'))
def never(rank):
    produce(rank)
    with Other(rank, environment={'RANKSHARE_WAIT': '0'}) as other:
        rank.equal(other.said()['names'], [[]], 'what it saw')
        for name in ('wait_ns', 'wait_timeouts', 'leases'):
            rank.equal(rank.counter(name, other.pid), 0, name)


@case('opendir', 'RANKSHARE_WAIT with nonsense: the default', prepare=fresh('fx'))
def nonsense(rank):
    values = ('', '-1', 'abc', '10s', '0x10', ' 0', '1.5', '99999999999999999999')
    produce(rank)
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(Other(rank, environment={'RANKSHARE_WAIT': value})) for value in values]
        for other in others:
            other.waiting()
        store(rank)
        for other, value in zip(others, values):
            rank.equal(other.said()['names'], [[os.path.basename(rank.fx)]], 'what it saw with %r' % value)
            rank.equal(rank.counter('fx_waited', other.pid), 1, 'waited with %r' % value)


@case('opendir', 'a fork child of a rank that waits no more waits', prepare=fresh('fx'))
def child(rank):
    produce(rank)
    with Other(rank, 'again', 'fork', environment={'RANKSHARE_WAIT': '1'}) as other:
        said = other.said()
        rank.check(said['pid'] != other.pid, 'the child was to speak first')
        rank.equal(said['names'], [[]], 'what the child saw')
        rank.equal(rank.counter('wait_timeouts', said['pid']), 1, "the child's timeouts")
        other.process.stdin.close()


@case('opendir', 'Ctrl-C while waiting', prepare=fresh('fx'))
def interrupt(rank):
    produce(rank)
    with Other(rank, environment={'RANKSHARE_WAIT': '1000'}) as other:
        other.waiting()
        os.kill(other.pid, signal.SIGINT)
        said = other.said()
        rank.check(said['interrupted'], 'no KeyboardInterrupt')
        rank.equal(rank.counter('wait_interrupted', other.pid), 1, 'interrupted')


@case('opendir', "a Python handler ends the wait, and what follows is the program's business", prepare=fresh('fx'))
def handler(rank):
    produce(rank)
    for name in ('SIGTERM', 'SIGUSR1'):
        with Other(rank, 'handle=' + name, environment={'RANKSHARE_WAIT': '1000'}) as other:
            other.waiting()
            os.kill(other.pid, getattr(signal, name))
            said = other.said()
            rank.equal(said['names'], [[]], 'what it saw')
            rank.equal(said['handled'], 1, 'handled')
            rank.equal(rank.counter('wait_interrupted', other.pid), 1, 'interrupted')
            rank.equal(rank.counter('wait_timeouts', other.pid), 0, 'timeouts')


@case('opendir', 'a timer signal ends each wait', prepare=fresh('fx'))
def timer(rank):
    produce(rank)
    with Other(rank, 'timer', 'again', environment={'RANKSHARE_WAIT': '1000'}) as other:
        said = other.said()
        rank.equal(said['names'], [[], []], 'what it saw')
        rank.equal(rank.counter('wait_interrupted', other.pid), 2, 'interrupted')


@case('opendir', 'SIGTERM by default kills a waiting rank', prepare=fresh('fx'))
def terminated(rank):
    produce(rank)
    with Other(rank, environment={'RANKSHARE_WAIT': '1000'}) as other:
        other.waiting()
        os.kill(other.pid, signal.SIGTERM)
        rank.equal(other.process.wait(timeout=40), -signal.SIGTERM, 'status')


@case('opendir', 'a stopped rank goes on waiting when it is continued', prepare=fresh('fx'))
def stopped(rank):
    produce(rank)
    with Other(rank, environment={'RANKSHARE_WAIT': '1000'}) as other:
        other.waiting()
        os.kill(other.pid, signal.SIGSTOP)
        time.sleep(0.7)
        os.kill(other.pid, signal.SIGCONT)
        other.waiting()
        store(rank)
        rank.equal(other.said()['names'], [[os.path.basename(rank.fx)]], 'what it saw')
        rank.equal(rank.counter('wait_interrupted', other.pid), 0, 'interrupted')


@case('opendir', 'a producer that becomes another program is dead', prepare=fresh('fx'),
      environment={'RANKSHARE_WAIT': '1000'})
def replaced(rank):
    with Other(rank, 'exec') as other:
        rank.equal(other.said()['names'], [[]], 'what the producer saw')
        rank.hash('fx')
        rank.equal(os.listdir(rank.fx_dir), [], 'what its heir saw')
        rank.counts(takeovers=1, leases=1, wait_timeouts=0)
        rank.check(other.process.poll() is None, 'the other program has ended')
