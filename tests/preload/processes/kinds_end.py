# SPDX-License-Identifier: Apache-2.0
"""How a producer ends: whoever waits for it goes on at once, and what it counted stays."""
import ctypes
import os
import resource
import signal
import sys
import threading

from kinds import command, expect_word, finish, fork, hear, kind, part, piped, produce_when_told, reap, say
from walk import Walk


def by_signal(number):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), number)


def exec_in_thread():
    thread = threading.Thread(target=os.execv, args=('/bin/sleep', ['sleep', '600']))
    thread.start()
    thread.join()


# How; whether the process goes on as another program.
ENDS = {
    'return': (lambda: None, False),
    'os._exit': (lambda: os._exit(0), False),
    'quick_exit': (lambda: ctypes.CDLL(None).quick_exit(0), False),
    'SIGKILL': (lambda: by_signal(signal.SIGKILL), False),
    'SIGTERM': (lambda: by_signal(signal.SIGTERM), False),
    'abort': (lambda: by_signal(signal.SIGABRT), False),
    'exec of a program that is no rank': (lambda: os.execv('/bin/sleep', ['sleep', '600']), True),
    'exec by another thread': (exec_in_thread, True),
    'exec of a rank': (lambda: os.execv(sys.executable, command('second_image')), True),
}


@part
def producer(how):
    walk = Walk()
    walk.kernel('k', store=False)
    way, execs = ENDS[how]
    walk.close(leases=1, execs=execs)
    say('held')
    hear()
    way()


@part
def second_image():
    walk = Walk()
    walk.kernel('another')
    walk.close(leases=1)
    hear()


@part
def waiter(ordinal, **expect):
    walk = Walk(int(ordinal))
    walk.kernel('k', asking=lambda: say('asking'))
    walk.close(**{name: int(value) for name, value in expect.items()})


@part
def waiter_takes_over():
    waiter(3, takeovers=1, triton_misses=1)


@part
def waiter_goes_on():
    """Takes over or compiles without a lease: who asks in the very moment of an exec may see the thread
    gone before the process."""
    waiter(3, triton_misses=1, wait_timeouts=0)


@part
def waiter_compiles():
    waiter(3, takeovers=0, leases=0, triton_misses=1, wait_timeouts=0)


@part
def waiter_loads():
    waiter(3, takeovers=0, leases=0, triton_misses=0)


@part
def waiter_gives_up():
    waiter(3, leases=0, triton_misses=1, wait_timeouts=1)


def meet(first, second, go, **environment):
    """SECOND asks for what the process FIRST holds; GO ends FIRST's lease. Waits for SECOND's end."""
    expect_word(first, 'held')
    asker = piped(second, environment=dict(environment, RANK=2))
    expect_word(asker, 'asking')
    go(first)
    finish(asker)


@part
def ends(how, reaped='no'):
    def go(process):
        process.stdin.close()
        if reaped == 'reaped':
            process.wait()
    first = piped('producer', how, environment={'RANK': 1})
    try:
        meet(first, 'waiter_goes_on' if how == 'exec by another thread' else 'waiter_takes_over', go)
        if how == 'exec of a rank':
            finish(first)
    finally:
        first.kill()
        first.wait()


for how in ENDS:
    kind('end: ' + how, 'ends', 3 if how == 'exec of a rank' else 2, how, long=how in ('os._exit', 'SIGTERM', 'abort'))
kind('end: SIGKILL, reaped at once', 'ends', 2, 'SIGKILL', 'reaped', long=True)


@part
def stopped_producer():
    walk = Walk()
    produce_when_told(walk, 'k')


@part
def stop():
    """Its waiter leaves at its limit; what is stored later ends the lease all the same."""
    first = piped('stopped_producer', environment={'RANK': 1})
    meet(first, 'waiter_gives_up', lambda process: process.send_signal(signal.SIGSTOP), RANKSHARE_WAIT=1)
    first.send_signal(signal.SIGCONT)
    first.stdin.close()
    finish(first)


kind('end: SIGSTOP, then on', 'stop', 2)


@part
def forking_producer():
    """Its fork children look up and end while it produces: their ends are not its own."""
    walk = Walk()
    path = walk.group('k')
    walk.did['looks_triton'] += 1
    if os.path.exists(path):
        raise AssertionError('somebody stored before')
    reap(fork(child_of_producer, os._exit), fork(child_of_producer, ctypes.CDLL(None).exit))
    say('held')
    hear()
    walk.store_kernel(path)
    walk.close(leases=1, unproductive=0)


def child_of_producer(end):
    walk = Walk(12, 'child')
    walk.kernel('of child %d' % os.getpid())
    walk.kernel('another of child %d' % os.getpid(), store=False)
    walk.close(leases=2, unproductive=0)
    end(0)


@part
def fork_beside():
    first = piped('forking_producer', environment={'RANK': 1})
    meet(first, 'waiter_loads', lambda process: process.stdin.close())
    finish(first)


kind('end: of fork children, the producer goes on', 'fork_beside', 4)


# ---- ends of threads ----------------------------------------------------------------------------------

@part
def thread_ends():
    walk = Walk()
    thread = threading.Thread(target=walk.kernel, args=('k', False))
    thread.start()
    thread.join()
    walk.close(leases=1)
    say('held')
    hear()


def leave_main():
    """The main thread ends; the process goes on with the others."""
    sys.stdout.flush()
    ctypes.CDLL(None).pthread_exit(None)


def in_background(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()


@part
def main_thread_ends():
    walk = Walk()
    walk.kernel('k', store=False)

    def others():
        wait_for_leader()
        say('held')
        hear()
        walk.kernel('another')
        walk.close(leases=2)
        os._exit(0)
    in_background(others)
    leave_main()


def wait_for_leader():
    """Until the main thread has ended."""
    while True:
        with open('/proc/self/stat') as text:
            if text.read().rpartition(')')[2].split()[0] == 'Z':
                return


@part
def zombie_leader_produces():
    walk = Walk()

    def others():
        wait_for_leader()
        produce_when_told(walk, 'k')
        os._exit(0)
    in_background(others)
    leave_main()


@part
def thread(first_part, second_part):
    def go(process):
        if first_part == 'zombie_leader_produces':
            process.stdin.close()
    first = piped(first_part, environment={'RANK': 1})
    meet(first, second_part, go)
    first.stdin.close()
    finish(first)


kind('thread: ends with a lease', 'thread', 2, 'thread_ends', 'waiter_compiles')
kind('thread: the main one ends with a lease', 'thread', 2, 'main_thread_ends', 'waiter_compiles')
kind('thread: the main one has ended, another produces', 'thread', 2, 'zombie_leader_produces', 'waiter_loads')
