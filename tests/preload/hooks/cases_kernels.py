# SPDX-License-Identifier: Apache-2.0
"""Kernels and autotuning results of ranks with cache directories of their own (cases_apart.py)."""
import json
import os
import shutil
import time

import configs
import fixture
from cases_apart import Peer, apart, empty, name_of, produced, roots, same_as_shared, write
from rank import Failed, Skipped, read_raw

CHILDREN = {'kernel.source': b'#loc = loc("%s/ts/x.py":1:0)', 'kernel.cubin': b'\x7fELF kernel', 'kernel.json': b'{"a": 1}'}


def kernel_folder(rank, peer):
    return os.path.join(peer.triton, os.path.basename(os.path.dirname(rank.told['group'])))


def store_kernel(rank, peer, leave=()):
    """As Triton does: each file, then the group file."""
    folder = kernel_folder(rank, peer)
    os.makedirs(folder, exist_ok=True)
    for name, data in CHILDREN.items():
        if name not in leave:
            write(os.path.join(folder, name), data.replace(b'%s', peer.root.encode()))
    text = json.dumps({'child_paths': {name: os.path.join(folder, name) for name in CHILDREN}})
    write(os.path.join(peer.root, 'group'), text.encode())
    peer.ask('store', os.path.join(peer.root, 'group'), group_of(rank, peer))


def group_of(rank, peer):
    return os.path.join(kernel_folder(rank, peer), os.path.basename(rank.told['group']))


def finds_kernel(rank, peer):
    peer.ask('key', rank.told['triton_key'])
    return peer.ask('exists', group_of(rank, peer))


def whole_kernel(rank, peer, publisher):
    """Triton's own reading of the group."""
    folder = kernel_folder(rank, peer)
    with open(group_of(rank, peer)) as text:
        children = json.load(text)['child_paths']
    rank.equal(children, {name: os.path.join(folder, name) for name in CHILDREN}, 'child_paths')
    for name, data in CHILDREN.items():
        rank.equal(read_raw(children[name]), data.replace(b'%s', publisher.root.encode()), name)
    rank.equal(rank.names(peer.triton), [os.path.basename(folder)], 'names beside it')


for what in ('nothing', 'an empty directory', 'a lone cubin', 'half a kernel'):
    @apart('a kernel is put in whole where there is ' + what, hooks='stat rename')
    def kernel(rank, start, what=what):
        first, second = start(11, 0), start(3, 1)
        rank.equal(finds_kernel(rank, first), False, 'before')
        folder = kernel_folder(rank, second)
        if what != 'nothing':
            os.makedirs(folder)
        if what in ('a lone cubin', 'half a kernel'):
            write(os.path.join(folder, 'kernel.cubin'), b'\x7fELF half')
        if what == 'half a kernel':
            write(os.path.join(folder, 'kernel.json'), b'{')
        second.ask('key', rank.told['triton_key'])
        second.tell('exists', group_of(rank, second))
        second.waiting()
        store_kernel(rank, first)
        rank.equal(second.said(), True, 'what it saw')
        whole_kernel(rank, second, first)
        rank.equal(second.counter('triton_waited'), 1, 'waited')
        rank.equal(second.counter('groups_fetched'), 1, 'fetched')


@apart('what killed ranks have left beside kernels goes with the next kernel, an hour later', hooks='stat rename')
def leftovers(rank, start):
    first, second = start(11, 0), start(3, 1)
    old, young, file, other = (os.path.join(second.triton, name) for name in (
        '.rs.1.1.00000000000000aa', '.rs.1.1.00000000000000bb', '.rs.1.1.00000000000000cc', '.other'))
    for folder in (old, young, other):
        write(os.path.join(folder, 'kernel.cubin'), b'half')
    write(file, b'')
    for path in (old, file, other):
        os.utime(path, (time.time() - 3700,) * 2)
    rank.equal(finds_kernel(rank, first), False, 'before')
    second.ask('key', rank.told['triton_key'])
    second.tell('exists', group_of(rank, second))
    second.waiting()
    store_kernel(rank, first)
    rank.equal(second.said(), True, 'what it saw')
    rank.equal(rank.names(second.triton), sorted(os.path.basename(path) for path in (
        kernel_folder(rank, second), young, file, other)), 'what is left')


@apart('a kernel of which a file is missing is no kernel', hooks='stat rename')
def incomplete(rank, start):
    first, second = start(11, 0), start(3, 1)
    rank.equal(finds_kernel(rank, first), False, 'before')
    second.ask('key', rank.told['triton_key'])
    second.tell('exists', group_of(rank, second))
    second.waiting()
    store_kernel(rank, first, leave=('kernel.cubin',))
    rank.equal(second.said(), False, 'what it saw')
    rank.equal(rank.names(second.triton), [], 'names')


@apart('what is never to be had is waited for a few times only', hooks='stat rename')
def in_vain(rank, start):
    first, second = start(11, 0), start(3, 1)
    for number in range(5):
        text = '%s %d' % (rank.told['triton_key'], number)
        folder = fixture.triton_name(text)
        paths = [os.path.join(peer.triton, folder, '__grp__kernel.json') for peer in (first, second)]
        first.ask('key', text)
        rank.equal(first.ask('exists', paths[0]), False, 'before')
        second.ask('key', text)
        second.tell('exists', paths[1])
        if number < 3:
            second.waiting()
        else:
            rank.equal(second.said(), False, 'what it saw at once')
        # A group file that names a file which isn't there: nobody can have this kernel.
        write(os.path.join(first.root, 'group'),
              json.dumps({'child_paths': {'a': os.path.join(first.triton, folder, 'a')}}).encode())
        first.ask('store', os.path.join(first.root, 'group'), paths[0])
        if number < 3:
            rank.equal(second.said(), False, 'what it saw')
    rank.equal(second.counter('triton_misses'), 5, 'misses')
    rank.equal(second.counter('leases'), 0, 'leases')


# What the library calls on the way, and Python does not.
STEPS = {'mkdirat': 4, 'writev': 5, 'linkat': 1, 'renameat2': 1}


@apart('with torch\'s caches switched off no kernel comes from another directory', directories=3, hooks='stat rename')
def switched_off(rank, start):
    first, off, other = start(11, 0), start(3, 1, TORCHINDUCTOR_FORCE_DISABLE_CACHES='1'), start(3, 2)
    rank.equal(finds_kernel(rank, first), False, 'before')
    other.ask('key', rank.told['triton_key'])
    other.tell('exists', group_of(rank, other))
    other.waiting()
    rank.equal(finds_kernel(rank, off), False, 'at once')
    store_kernel(rank, first)
    rank.equal(other.said(), True, 'where caches are on')
    rank.equal(finds_kernel(rank, off), False, 'where they are off')
    rank.equal(rank.names(off.triton), [], 'names')


def survived(peer, rank):
    """Looks up a graph and a kernel, and lives."""
    try:
        peer.finds('fx')
        finds_kernel(rank, peer)
        return True
    except (Failed, OSError):
        return False


for call, count in STEPS.items():
    @apart('killed at each %s on the way: a graph and a kernel are there whole or not at all' % call, directories=1,
           hooks='opendir stat')
    def killed(rank, start, call=call, count=count):
        if not shutil.which('strace'):
            raise Skipped('no strace')
        first = start(11, 0)
        empty(rank, first.finds('fx'))
        rank.equal(finds_kernel(rank, first), False, 'before')
        with roots(1) as made, Peer(rank, 0, made[0]) as other:  # a second directory is seen: kernels are published, too
            other.ask('key', rank.told['triton_key'])
            other.tell('exists', group_of(rank, other))
            other.waiting()
            store_kernel(rank, first)
            rank.equal(other.said(), True, 'the kernel')
            first.store('fx')
        died = 0
        for number in range(1, count + 2):
            with roots(1) as made:
                inject = ('strace', '-f', '-q', '-o', '/dev/null', '-e', 'trace=' + call,
                          '-e', 'inject=%s:signal=KILL:when=%d' % (call, number))
                with Peer(rank, 3, made[0], inject) as victim:
                    died += not survived(victim, rank)
                with Peer(rank, 12, made[0]) as heir:
                    rank.equal(heir.finds('fx'), [name_of(rank, 'fx')], 'what is there after %s %d' % (call, number))
                    same_as_shared(rank, heir, 'fx')
                    rank.equal(finds_kernel(rank, heir), True, 'a kernel after %s %d' % (call, number))
                    left = [name for name in rank.names(heir.triton) if name.startswith('.rs.')]
                    rank.check(len(left) <= 1, 'left behind: %s' % left)
                    for name in left:
                        shutil.rmtree(os.path.join(heir.triton, name))
                    whole_kernel(rank, heir, first)
        rank.equal(died, count, 'deaths at ' + call)


# ---- autotuning results -------------------------------------------------------------------------


@apart('a result that one rank has measured is there for the others, under their own name', directories=3)
def results(rank, start):
    first, zero, third = start(11, 0), start(0, 1), start(3, 2)
    produced(rank, first)
    rank.equal(first.reads('fx') is not None, True, 'its own entry')
    for peer in (zero, third):
        rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'what it saw')
        rank.check(isinstance(peer.reads('fx'), bytes), 'no graph')
    name = {peer: os.path.join(peer.root, configs.paths(rank.told, peer.ordinal)[0]) for peer in (first, zero, third)}
    measured = os.path.join(first.root, 'measured')
    write(measured, configs.result(64))
    first.ask('store', measured, name[first])
    for peer in (zero, third):
        out = os.path.join(peer.root, 'out')
        rank.equal(peer.ask('read', name[peer], out), len(configs.result(64)), 'size')
        rank.equal(read_raw(out), configs.result(64), 'the result')
        rank.equal(rank.disk(os.path.join(peer.root, configs.paths(rank.told, 0)[0])), configs.result(64), 'the shared name')


@apart("a result of Triton's own autotuner that one rank has measured is there for the others", directories=3,
       hooks='stat rename')
def timings(rank, start):
    first, second, late = (start(ordinal, at) for at, ordinal in enumerate((11, 3, 12)))
    path = {peer: os.path.join(peer.triton, fixture.triton_name('the timings of a kernel'), 'kernel.autotune.json')
            for peer in (first, second, late)}
    for peer in path:
        peer.hash('fx')
    rank.equal(first.ask('exists', path[first]), False, 'before')
    second.tell('exists', path[second])
    second.waiting()
    measured, result = os.path.join(first.root, 'measured'), b'{"configs_timings": []}'
    write(measured, result)
    first.ask('store', measured, path[first])
    rank.equal(second.said(), True, 'what who waited saw')
    rank.equal(late.ask('exists', path[late]), True, 'what came late saw')
    for peer in (second, late):
        rank.equal(rank.disk(path[peer]), result, 'the result')
        rank.equal(peer.counter('groups_fetched'), 1, 'fetched')
    rank.equal(second.counter('configs_waited'), 1, 'waited')


@apart("what Triton's autotuner has saved and was removed is gone", directories=1, hooks='stat rename')
def timings_removed(rank, start):
    first = start(11, 0)
    first.hash('fx')
    path = os.path.join(first.triton, fixture.triton_name('the timings of a kernel'), 'kernel.autotune.json')
    rank.equal(first.ask('exists', path), False, 'before')
    write(os.path.join(first.root, 'measured'), b'{}')
    first.ask('store', os.path.join(first.root, 'measured'), path)
    rank.equal(first.ask('exists', path), True, 'after')
    shutil.rmtree(os.path.dirname(path))
    rank.equal(first.ask('exists', path), False, 'removed')
