# SPDX-License-Identifier: Apache-2.0
"""Ranks with cache directories of their own: what one stores the others get into theirs, as if there were one directory,
and what was emptied stays empty.

The case's own process takes no part; the ranks are peers (peer.py). Each directory's path is as long as that of the
recording, so that the paths inside a recorded entry can be exchanged without touching anything else.
"""
import contextlib
import errno
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from cases import case
from others import LIMIT, Other
from rank import Skipped, read_raw

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = b'/tmp/zoo/usertriton/dev0_inductor'
numbers = itertools.count()


def moved(data, root):
    """The entry as a process with the cache directory ROOT would have written it: whole strings that are paths."""
    return re.sub(rb'(?s)(\x8c.)' + re.escape(RECORDED), lambda found: found[1] + root.encode(), data)


class Peer(Other):
    """A rank of the job, on ORDINAL, with the cache directory ROOT."""

    def __init__(self, rank, ordinal, root, inside=(), **environment):
        self.rank, self.ordinal, self.root = rank, ordinal, root
        self.triton = os.path.join(root, 'triton', '0')
        own = {**os.environ, 'TORCHINDUCTOR_CACHE_DIR': root, 'TRITON_CACHE_DIR': self.triton, 'RANK': str(ordinal), **environment}
        own = {name: value for name, value in own.items() if value is not None}
        self.process = subprocess.Popen([*inside, sys.executable, os.path.join(HERE, 'peer.py')], env=own,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        self.pid = self.process.pid

    def tell(self, *words):
        self.process.stdin.write(json.dumps(words) + '\n')
        self.process.stdin.flush()

    def ask(self, *words):
        self.tell(*words)
        return self.said()

    def path(self, label):
        return os.path.join(self.root, self.rank.told[label])

    def hash(self, label):
        self.ask('hash', self.rank.told['details'][str(self.ordinal)][label])

    def look(self, label):
        """Hashes, then looks up without waiting for the answer."""
        self.hash(label)
        self.tell('list', os.path.dirname(self.path(label)))

    def finds(self, label):
        """What a look-up gives: names, or an errno."""
        self.look(label)
        return self.said()

    def entry(self, label):
        """What this rank would compile."""
        name = os.path.join(self.root, 'compiled')
        write(name, moved(read_raw(self.rank.told['views'][str(self.ordinal)][label]), self.root))
        return name

    def store(self, label):
        self.ask('store', self.entry(label), self.path(label))

    def reads(self, label):
        out = os.path.join(self.root, 'out')
        size = self.ask('read', self.path(label), out)
        return read_raw(out) if isinstance(size, int) else size

    def counter(self, name):
        return self.rank.counter(name, self.pid)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as out:
        out.write(data)


@contextlib.contextmanager
def roots(count):
    """Directories for as many ranks."""
    made = []
    try:
        while len(made) < count:
            name = tempfile.mkdtemp(prefix='rs%d-' % next(numbers), dir='/tmp')
            path = os.path.join(name, 'x' * (len(RECORDED) - len(name) - 1))
            os.makedirs(os.path.join(path, 'triton', '0'))
            made.append(path)
        yield made
    finally:
        for path in made:
            subprocess.run(['chmod', '-R', 'u+rwx', os.path.dirname(path)], stderr=subprocess.DEVNULL)
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)


def apart(title, directories=2, hooks='opendir rename', **more):
    """A case on some cache directories."""
    def add(function):
        @case(hooks, 'apart: ' + title, hashed=(), **more)
        def run(rank):
            with roots(directories) as made, contextlib.ExitStack() as stack:
                function(rank, lambda ordinal, at, **environment: stack.enter_context(Peer(rank, ordinal, made[at], **environment)))
        return function
    return add


def name_of(rank, label):
    return os.path.basename(rank.told[label])


def empty(rank, got, what='what it saw'):
    rank.equal(got, {'errno': errno.ENOENT}, what)


def same_as_shared(rank, peer, label):
    """The peer's directory holds the canonical entry with its own paths, and the peer sees its own device in it."""
    canonical, view = (read_raw(rank.told['views'][str(n)][label]) for n in (0, peer.ordinal))
    rank.equal(rank.disk(peer.path(label)), moved(canonical, peer.root), 'the disk of cuda:%d' % peer.ordinal)
    rank.equal(peer.reads(label), moved(view, peer.root), 'what cuda:%d reads' % peer.ordinal)
    folder = os.path.dirname(peer.path(label))
    rank.equal(rank.names(folder), [os.path.basename(peer.path(label))], 'names')


def produced(rank, peer, label='fx'):
    empty(rank, peer.finds(label))
    peer.store(label)


@apart('one compiles, those that waited get it into their directories', directories=4)
def waits(rank, start):
    producer, *others = [start(ordinal, at) for at, ordinal in enumerate((11, 0, 3, 12))]
    empty(rank, producer.finds('fx'))
    for other in others:
        other.look('fx')
        other.waiting()
    producer.store('fx')
    for other in others:
        rank.equal(other.said(), [name_of(rank, 'fx')], 'what it saw')
        same_as_shared(rank, other, 'fx')
        for name, value in {'fx_waited': 1, 'fx_misses': 0, 'leases': 0, 'groups_fetched': 1}.items():
            rank.equal(other.counter(name), value, name)
    same_as_shared(rank, producer, 'fx')


@apart('who comes late finds it, and it is his own from then on')
def late(rank, start):
    first, second = start(11, 0), start(3, 1)
    produced(rank, first)
    rank.equal(second.finds('fx'), [name_of(rank, 'fx')], 'what it saw')
    same_as_shared(rank, second, 'fx')
    rank.equal(second.finds('fx'), [name_of(rank, 'fx')], 'the second look')
    for name, value in {'fx_hits': 2, 'fx_misses': 0, 'groups_fetched': 1}.items():
        rank.equal(second.counter(name), value, name)


@apart('the producer dies: one of the others takes over, in its own directory', directories=3)
def dies(rank, start):
    first, second, third = (start(ordinal, at) for at, ordinal in enumerate((11, 0, 3)))
    empty(rank, first.finds('fx'))
    for other in (second, third):
        other.look('fx')
        other.waiting()
    first.process.kill()
    first.process.wait()
    # One of them becomes the producer and sees nothing; the other goes on waiting for it.
    ready = []
    for _ in range(LIMIT * 10):
        ready = [peer for peer in (second, third) if not peer.in_futex()]
        if ready:
            break
        time.sleep(0.1)
    rank.check(len(ready) == 1, '%d ranks go on' % len(ready))
    heir, = ready
    waiter = third if heir is second else second
    empty(rank, heir.said())
    rank.equal(heir.counter('takeovers'), 1, 'takeovers')
    heir.store('fx')
    rank.equal(waiter.said(), [name_of(rank, 'fx')], 'what the other saw')
    same_as_shared(rank, waiter, 'fx')


@apart('an AOT entry brings the graphs that it names')
def aot(rank, start):
    first, second = start(11, 0), start(3, 1)
    empty(rank, first.finds('aot'))
    produced(rank, first)
    first.store('aot')
    rank.equal(second.finds('aot'), [name_of(rank, 'aot')], 'what it saw')
    same_as_shared(rank, second, 'aot')
    same_as_shared(rank, second, 'fx')
    rank.equal(second.counter('groups_fetched'), 2, 'groups')


@apart('an AOT entry whose graph is nowhere is no entry')
def aot_alone(rank, start):
    first, second = start(11, 0), start(3, 1)
    empty(rank, first.finds('aot'))
    first.store('aot')
    empty(rank, second.finds('aot'))
    rank.check(not os.path.exists(os.path.join(second.root, 'aotautograd')), 'it was put there')


@apart('ranks with one directory and one with another: one compiles', directories=2)
def mixed(rank, start):
    first, second, third = start(11, 0), start(3, 0), start(12, 1)
    empty(rank, third.finds('fx'))
    for other in (first, second):
        other.look('fx')
        other.waiting()
    third.store('fx')
    for other in (first, second):
        rank.equal(other.said(), [name_of(rank, 'fx')], 'what it saw')
        same_as_shared(rank, other, 'fx')
    rank.equal(first.counter('groups_fetched') + second.counter('groups_fetched') >= 1, True, 'fetched')


# ---- an emptied cache is empty ------------------------------------------------------------------


@apart('a directory that was removed and made again is empty', directories=1)
def removed(rank, start):
    first = start(11, 0)
    produced(rank, first)
    shutil.rmtree(first.root)
    os.makedirs(first.triton)
    empty(rank, first.finds('fx'), 'what the same process saw')
    empty(rank, start(3, 0).finds('fx'), 'what another one saw')


@apart('a directory whose content was removed is empty', directories=1)
def cleaned(rank, start):
    first = start(11, 0)
    produced(rank, first)
    shutil.rmtree(os.path.join(first.root, 'fxgraph'))
    other = start(3, 0)
    empty(rank, first.finds('fx'), 'what the same process saw')
    other.look('fx')
    other.waiting()
    first.store('fx')
    rank.equal(other.said(), [name_of(rank, 'fx')], 'after it was compiled again')


@apart('a fresh directory in the middle of a process (fresh_cache) is empty')
def fresh(rank, start):
    first, second = start(11, 0), start(3, 0)
    produced(rank, first)
    rank.equal(second.finds('fx'), [name_of(rank, 'fx')], 'what it saw')
    with roots(1) as made:
        for peer in (first, second):
            peer.root = made[0]
            peer.ask('set', 'TORCHINDUCTOR_CACHE_DIR', made[0])
        empty(rank, first.finds('fx'), 'what it saw')
        second.look('fx')
        second.waiting()
        first.store('fx')
        rank.equal(second.said(), [name_of(rank, 'fx')], 'what it saw after waiting')


@apart('another job with another directory sees nothing')
def other_job(rank, start):
    produced(rank, start(11, 0, RANKSHARE_JOB='one'))
    empty(rank, start(3, 1, RANKSHARE_JOB='two').finds('fx'))


@apart('the next run of the job with another directory sees nothing')
def next_run(rank, start):
    first = start(11, 0, RANKSHARE_JOB='one')
    produced(rank, first)
    first.process.kill()
    first.process.wait()
    empty(rank, start(3, 1, RANKSHARE_JOB='one').finds('fx'))


# ---- what can't be had --------------------------------------------------------------------------


@apart('a path into a third directory is not taken along')
def third(rank, start):
    first, second = start(11, 0), start(3, 1)
    empty(rank, first.finds('fx'))
    entry = read_raw(rank.told['views']['11']['fx'])
    name = os.path.join(first.root, 'compiled')
    write(name, moved(entry, '/elsewhere'.ljust(len(RECORDED), 'x')))
    first.ask('store', name, first.path('fx'))
    empty(rank, second.finds('fx'))
    for name, value in {'refused_other_root': 1, 'groups_not_fetched': 1, 'fx_misses': 1}.items():
        rank.equal(second.counter(name), value, name)
    rank.check(not os.path.exists(os.path.join(second.root, 'fxgraph')), 'something was put there')


@apart('the second directory is read-only: a miss')
def read_only(rank, start):
    first, second = start(11, 0), start(3, 1)
    produced(rank, first)
    done = subprocess.run(['mount', '--bind', second.root, second.root], stderr=subprocess.DEVNULL)
    if done.returncode:
        raise Skipped('mount is not allowed')
    try:
        subprocess.run(['mount', '-o', 'remount,ro,bind', second.root], check=True)
        empty(rank, second.finds('fx'))
        rank.equal(second.counter('groups_not_fetched'), 1, 'groups')
    finally:
        subprocess.run(['umount', '-l', second.root], check=True)


@apart('without a store each directory is a matter of its own')
def no_store(rank, start):
    first, second = (start(ordinal, at, RANKSHARE_SIZE='0') for at, ordinal in enumerate((11, 3)))
    for peer in (first, second):
        empty(rank, peer.finds('fx'))
        rank.equal(peer.counter('leases'), 1, 'leases')
    for peer in (first, second):
        peer.store('fx')
        same_as_shared(rank, peer, 'fx')
        rank.equal(peer.counter('artifact_puts'), 0, 'artifacts')


# ---- rankshare warm -----------------------------------------------------------------------------


def warm(rank, root):
    """A plain process on cuda:0 has filled ROOT, and the user reads it in."""
    canonical = moved(read_raw(rank.told['views']['0']['fx']), root)
    write(os.path.join(root, rank.told['fx']), canonical)
    environment = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'RANKSHARE')}
    done = subprocess.run([rank.told['tool'], 'warm', root], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    rank.equal((done.returncode, done.stdout[:11]), (0, '1 artifact '), done.stdout)


@apart('another directory finds what was read in, in any job')
def warmed_elsewhere(rank, start):
    warmer, peer = start(0, 0), start(3, 1, RANKSHARE_JOB='another')
    warm(rank, warmer.root)
    rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'what it saw')
    same_as_shared(rank, peer, 'fx')


@apart('a directory that was read in and then removed is empty', directories=1)
def warmed_and_removed(rank, start):
    peer = start(3, 0)
    warm(rank, peer.root)
    shutil.rmtree(peer.root)
    os.makedirs(peer.triton)
    empty(rank, peer.finds('fx'))
