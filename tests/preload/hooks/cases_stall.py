# SPDX-License-Identifier: Apache-2.0
"""Producers whose store comes to nothing while they go on: a full disk, a program that passes over it.

The waiters run under a library that gives a store two seconds, and two more without a byte.
"""
import errno
import os
import subprocess
import sys

from cases import case
from cases_store import fresh, temporary
from others import HERE, Other
from rank import Failed, Skipped

PATIENT = {'RANKSHARE_WAIT': '1000'}


class Producer(Other):
    def __init__(self, rank, how):
        super().__init__(rank, 'store=' + how, 'ENTRY=' + rank.told['views']['11']['fx'], ordinal=11)
        rank.equal(self.process.stdout.readline().strip(), 'stores', 'the producer')


def waiter(rank):
    return Other(rank, environment=PATIENT, library=rank.told['impatient'])


def given_up(rank, other, left):
    rank.equal(other.said()['names'], [left], 'what the waiter saw')
    rank.equal(rank.counter('wait_stalled', other.pid), 1, 'stalled')
    rank.equal(rank.counter('wait_timeouts', other.pid), 0, 'timeouts')
    rank.equal(rank.counter('leases', other.pid), 0, "the waiter's leases")
    with waiter(rank) as next_one:
        rank.equal(next_one.said()['names'], [left], 'what the next one saw')
        rank.equal(rank.counter('wait_ns', next_one.pid), 0, 'what the next one waited')


@case('opendir', 'the producer meets a file size limit while it stores', prepare=fresh('fx'))
def limit(rank):
    with Producer(rank, 'limit') as producer:
        rank.equal(producer.said()['error'], errno.EFBIG, 'error of the store')
        with waiter(rank) as other:
            given_up(rank, other, rank.names(rank.fx_dir))


@case('opendir', 'the producer takes its temporary file away', prepare=fresh('fx'))
def gone(rank):
    with Producer(rank, 'gone') as producer, waiter(rank) as other:
        producer.said()
        given_up(rank, other, [])


@case('opendir', 'a store that takes its time is waited for', prepare=fresh('fx'))
def slow(rank):
    with Producer(rank, 'slow'), waiter(rank) as other:
        rank.equal(other.said()['names'], [['e' * 51]], 'what the waiter saw')
        rank.equal(rank.counter('fx_waited', other.pid), 1, 'waited')
        rank.equal(rank.counter('wait_stalled', other.pid), 0, 'stalled')


# In a mount namespace of its own, with a cache directory that is a disk of 64 kB: the same case once more.
FULL = """
mount -t tmpfs -o size=64k none "$1" || exit 76
exec "$2" "$3" "$4" "$1" "$5"
"""


def on_full_disk(rank):
    os.makedirs(rank.fx_dir)
    with Producer(rank, 'disk') as producer:
        rank.equal(producer.said()['error'], errno.ENOSPC, 'error of the store')
        with waiter(rank) as other:
            given_up(rank, other, rank.names(rank.fx_dir))


@case('opendir', 'the disk is full while the producer stores', prepare=fresh('fx'))
def full(rank):
    if 'INSIDE' in os.environ:
        on_full_disk(rank)
        return
    try:
        done = subprocess.run(['unshare', '-Urm', 'sh', '-c', FULL, 'sh', rank.root, sys.executable]
                              + [os.path.abspath(sys.argv[0]), sys.argv[1], sys.argv[3]], timeout=50,
                              env=dict(os.environ, INSIDE='1'), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except FileNotFoundError:
        raise Skipped('no unshare(1)')
    text = done.stdout.decode().strip()
    if done.returncode == 76 or text.startswith('unshare:'):
        raise Skipped('no mount namespace: ' + text)
    if done.returncode:
        raise Failed(text)


def lose_lease(rank, how, *arguments):
    """The rank is the producer; HOW fails; nobody waits for it any longer."""
    rank.hash('fx')
    os.listdir(rank.fx_dir) if os.path.isdir(rank.fx_dir) else rank.fail(errno.ENOENT, 'opendir', rank.fx_dir)
    rank.counts(leases=1, unproductive=0)
    rank.check(rank.call(how, *arguments) in (-1, None), how + ' has worked')
    rank.counts(unproductive=1)


for hook in ('creat', 'creat64', 'fopen', 'fopen64', 'open', 'openat64'):
    @case(hook, 'the temporary file cannot be made: the lease ends', name=hook, prepare=fresh('fx'))
    def no_file(rank, name):
        path = temporary(rank)
        os.mkdir(path)  # EISDIR
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        lose_lease(rank, name, *{'creat': (path, 0o600), 'fopen': (path, 'wb'), 'open': (path, flags, 0o600),
                                 'openat': (-100, path, flags, 0o600)}[name.replace('64', '')])

for hook in ('mkdir', 'mkdirat'):
    @case(hook, "the key's directory cannot be made: the lease ends", name=hook, prepare=fresh('fx'), above='')
    @case(hook, 'the directory above it cannot be made: the lease ends', name=hook, prepare=fresh('fx'), above='fxgraph/ab')
    @case(hook, 'the directory of all keys cannot be made: the lease ends', name=hook, prepare=fresh('fx'), above='fxgraph')
    def no_directory(rank, name, above):
        parent = os.path.dirname(rank.fx_dir)
        os.rmdir(rank.fx_dir)
        rank.hash('fx')
        rank.fail(errno.ENOENT, 'opendir', rank.fx_dir)
        rank.counts(leases=1, unproductive=0)
        os.rmdir(parent)
        rank.put(parent, b'')  # ENOTDIR
        path = os.path.join(parent, above) if above else rank.fx_dir
        rank.fail(errno.ENOTDIR, name, *((path, 0o755) if name == 'mkdir' else (-100, path, 0o755)))
        rank.counts(unproductive=1)

    @case(hook, 'a directory whose parent is missing, or that is there, ends no lease', name=hook, prepare=fresh('fx'))
    def made_later(rank, name):
        def make(path):
            return rank.call(name, *((path, 0o755) if name == 'mkdir' else (-100, path, 0o755))), rank.errno
        parent = os.path.dirname(rank.fx_dir)
        os.rmdir(rank.fx_dir)
        rank.hash('fx')
        rank.fail(errno.ENOENT, 'opendir', rank.fx_dir)
        os.rmdir(parent)
        rank.equal(make(rank.fx_dir), (-1, errno.ENOENT), 'without a parent')
        for path in (parent, rank.fx_dir):
            rank.equal(make(path), (0, 0), 'making it')
            rank.equal(make(path), (-1, errno.EEXIST), 'making it again')
        rank.counts(leases=1, unproductive=0)
