# SPDX-License-Identifier: Apache-2.0
"""Where the bytes of a file come from that the segment has, too: memory, or the file (RANKSHARE_READS).

tests/slow is about the same on a file system that is slow.
"""
import base64
import ctypes
import errno
import json
import os
import shutil
import subprocess

from cases import case
from cases_apart import Peer, apart, empty, moved, name_of, produced, same_as_shared, warm, write
from cases_kernels import CHILDREN, group_of, kernel_folder, store_kernel
from rank import Skipped, read_raw

MEMORY = {'RANKSHARE_READS': 'memory'}


def view_of(rank, peer, label):
    return moved(read_raw(rank.told['views'][str(peer.ordinal)][label]), peer.root)


def leave(rank, root, *labels):
    """What a plain process on cuda:0 leaves."""
    for label in labels:
        write(os.path.join(root, rank.told[label]), moved(read_raw(rank.told['views']['0'][label]), root))


def counts(rank, peer, **expected):
    rank.equal({name: peer.counter(name) for name in expected}, expected, 'counters of cuda:%d' % peer.ordinal)


@apart('the bytes of a published entry come from memory, while the file is the one that was published', directories=1,
       hooks='open')
def served(rank, start):
    first, zero = (start(ordinal, 0, **MEMORY) for ordinal in (11, 0))
    produced(rank, first)
    zero.hash('fx')
    path, canonical = first.path('fx'), moved(read_raw(rank.told['views']['0']['fx']), first.root)
    for peer in (first, zero):
        want = moved(read_raw(rank.told['views'][str(peer.ordinal)]['fx']), peer.root)
        rank.equal(peer.reads('fx'), want, 'the entry')
        rank.equal(peer.counter('reads_served'), 1, 'served')
    # Something else by the same name, size and time: whoever reads the file now sees it.
    info = os.stat(path)
    with open(path, 'r+b') as file:
        file.write(b'\x80\x04N.' + bytes(len(canonical) - 4))
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    for peer in (first, zero):
        want = moved(read_raw(rank.told['views'][str(peer.ordinal)]['fx']), peer.root)
        rank.equal(peer.reads('fx'), want, 'the entry, of which nothing was read')
        rank.equal(peer.counter('reads_served'), 2, 'served')
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns + 1))
    for peer, served in ((first, 2), (zero, 3)):
        rank.check(peer.reads('fx') != want, 'a file with another time is another file')
        counts(rank, peer, reads_served=served, reads_filled=3 - served)
    os.unlink(path)
    for peer in (first, zero):
        empty(rank, peer.reads('fx'), 'without the file')
        rank.equal(peer.finds('fx') in ([], {'errno': errno.ENOENT}), True, 'and at a look')


def traced(path, log):
    """Runs a command and notes what it reads of PATH."""
    return ('strace', '-f', '-q', '-o', log, '-P', path, '-e', 'trace=read,pread64,readv,preadv,preadv2,mmap')


def reads_of(log):
    with open(log) as lines:
        return [line for line in lines if '(' in line]


@apart('of a published entry no rank reads the file', directories=1, hooks='open')
def counted(rank, start):
    if not shutil.which('strace'):
        raise Skipped('no strace')
    first = start(11, 0)
    produced(rank, first)
    log = os.path.join(first.root, 'log')
    for ordinal in (0, 3, 12):
        with Peer(rank, ordinal, first.root, traced(first.path('fx'), log), **MEMORY) as peer:
            rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'what it saw')
            rank.equal(peer.reads('fx'), moved(read_raw(rank.told['views'][str(ordinal)]['fx']), first.root), 'the entry')
            peer.process.stdin.close()
            peer.process.wait()
        rank.equal(reads_of(log), [], 'what cuda:%d reads of the file' % ordinal)
    environment = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'RANKSHARE')}
    subprocess.run([*traced(first.path('fx'), log), 'cat', first.path('fx')], env=environment, stdout=subprocess.DEVNULL,
                   check=True)
    rank.check(reads_of(log), 'nothing is counted: this shows nothing')


@apart('a directory that was read in: its entries come from memory', directories=1, hooks='open')
def warmed(rank, start):
    peer = start(3, 0, **MEMORY)
    warm(rank, peer.root)
    rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'what it saw')
    same_as_shared(rank, peer, 'fx')
    for name, value in {'reads_served': 1, 'fx_hits': 1, 'groups_fetched': 0}.items():
        rank.equal(peer.counter(name), value, name)


def reads_file(rank, first, other):
    """OTHER finds what FIRST has left, and nothing of it comes out of the segment."""
    produced(rank, first)
    other.hash('fx')
    rank.equal(other.reads('fx'), view_of(rank, other, 'fx'), 'the entry')
    counts(rank, other, reads_served=0, reads_filled=0, artifact_hits=0)


@apart('on a disk of this machine the file is read', directories=1, hooks='open')
def local(rank, start):
    reads_file(rank, start(11, 0), start(3, 0))


@apart('RANKSHARE_READS=files: the file is read, whatever the disk', directories=1, hooks='open')
def files(rank, start):
    reads_file(rank, start(11, 0), start(3, 0, RANKSHARE_READS='files'))


@apart('what nobody has published is read by one rank for all', directories=1, hooks='open')
def filled(rank, start):
    peers = [start(ordinal, 0, **MEMORY) for ordinal in (11, 0, 3)]
    leave(rank, peers[0].root, 'fx')
    for i, peer in enumerate(peers):
        peer.hash('fx')
        rank.equal(peer.reads('fx'), view_of(rank, peer, 'fx'), 'the entry')
        counts(rank, peer, reads_filled=int(i == 0), reads_served=int(i > 0))
    # A file that was exchanged is another one: it is read again, once.
    path = peers[0].path('fx')
    os.utime(path, ns=(0, 1))
    for i, peer in enumerate(peers):
        rank.equal(peer.reads('fx'), view_of(rank, peer, 'fx'), 'the entry, once more')
        counts(rank, peer, reads_filled=2 * int(i == 0), reads_served=2 * int(i > 0))


@apart('a graph that a found AOT entry names is read by one rank for all, though nobody hashes its key', directories=1,
       hooks='open')
def behind(rank, start):
    peers = [start(ordinal, 0, **MEMORY) for ordinal in (11, 3)]
    leave(rank, peers[0].root, 'fx', 'aot')
    for i, peer in enumerate(peers):
        peer.hash('aot')
        for label in ('aot', 'fx'):
            rank.equal(peer.reads(label), view_of(rank, peer, label), label)
        counts(rank, peer, reads_filled=2 * int(i == 0), reads_served=2 * int(i > 0))


@apart('what was read for this directory is not taken into another', directories=2, hooks='open')
def not_elsewhere(rank, start):
    first, other = start(11, 0, **MEMORY), start(3, 1, **MEMORY)
    leave(rank, first.root, 'fx')
    first.hash('fx')
    rank.equal(first.reads('fx'), view_of(rank, first, 'fx'), 'the entry')
    counts(rank, first, reads_filled=1)
    empty(rank, other.finds('fx'))


@apart('without a store the file is read', directories=1, hooks='open')
def no_room(rank, start):
    peer = start(11, 0, RANKSHARE_SIZE='0', **MEMORY)
    leave(rank, peer.root, 'fx')
    peer.hash('fx')
    rank.equal(peer.reads('fx'), view_of(rank, peer, 'fx'), 'the entry')
    counts(rank, peer, reads_filled=0, reads_served=0, artifact_no_room=0)


@apart('an entry under a key of one device alone is read by each', directories=1, hooks='open')
def native(rank, start):
    peer = start(11, 0, TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE='1', **MEMORY)
    digest = bytes.fromhex(peer.ask('hash', rank.told['details']['11']['fx']))
    counts(rank, peer, refused_remote_cache=1)
    name = base64.b32encode(digest)[:51].decode().lower()
    entry = os.path.join(peer.root, 'fxgraph', name[:2], 'f' + name, 'e' * 51)
    write(entry, view_of(rank, peer, 'fx'))
    out = os.path.join(peer.root, 'out')
    rank.equal(isinstance(peer.ask('read', entry, out), int), True, 'a read')
    counts(rank, peer, reads_filled=0)


# ---- kernels ------------------------------------------------------------------------------------


def reads_kernel(rank, peer):
    """As Triton does. Returns how often the library served it."""
    out = os.path.join(peer.root, 'out')
    before = peer.counter('reads_served')
    folder = kernel_folder(rank, peer)
    for name in (os.path.basename(group_of(rank, peer)), *CHILDREN):
        path = os.path.join(folder, name)
        rank.equal(peer.ask('read', path, out), os.path.getsize(path), 'size of ' + name)
        rank.equal(read_raw(out), read_raw(path), name)
    return peer.counter('reads_served') - before


@apart('the files of a kernel are read by one rank for all', directories=1, hooks='open rename')
def kernel(rank, start):
    writer, *peers = [start(ordinal, 0, **MEMORY) for ordinal in (0, 11, 3)]
    store_kernel(rank, writer)
    for peer in peers:
        peer.hash('fx')  # a rank is who hashes
        reads_kernel(rank, peer)
    counts(rank, peers[0], reads_filled=1, reads_served=len(CHILDREN))
    counts(rank, peers[1], reads_filled=0, reads_served=len(CHILDREN) + 1)
    write(os.path.join(kernel_folder(rank, writer), 'kernel.cubin'), b'\x7fELF another')
    for peer in peers:
        reads_kernel(rank, peer)
    counts(rank, peers[0], reads_filled=2)
    counts(rank, peers[1], reads_filled=0)


@case('freopen freopen64', 'a file of a kernel is reopened for writing: the file itself', environment=MEMORY)
def rewritten(rank):
    path = os.path.join(os.path.dirname(rank.group), 'kernel.cubin')
    write(path, b'\x7fELF code')
    write(rank.group, json.dumps({'child_paths': {'kernel.cubin': path}}).encode())
    for name in (rank.group, path) * 2:
        with open(name, 'rb') as file:
            file.read()
    rank.check(rank.counter('reads_served') > 0, 'nothing was served from memory: the test tests nothing')
    for name in ('freopen', 'freopen64'):
        for mode in ('a', 'r+'):
            stream = ctypes.c_void_p(rank.succeed('fopen', '/dev/null', 'r'))
            stream = ctypes.c_void_p(rank.succeed(name, path, mode, stream))
            rank.libc.fputs(mode.encode(), stream)
            rank.equal(rank.libc.fclose(stream), 0, 'close after mode ' + mode)
    rank.equal(rank.disk(path), b'r+LF codeaa', 'what is on disk')


@apart('a lone file of a kernel is read as it is', directories=1, hooks='open')
def lone(rank, start):
    peer = start(11, 0, **MEMORY)
    peer.hash('fx')
    path = os.path.join(kernel_folder(rank, peer), 'kernel.cubin')
    write(path, b'\x7fELF alone')
    out = os.path.join(peer.root, 'out')
    rank.equal(peer.ask('read', path, out), 10, 'size')
    rank.equal(read_raw(out), b'\x7fELF alone', 'bytes')
    counts(rank, peer, reads_filled=0, reads_served=0)


@apart('a group file without one of its files is read as it is', directories=1, hooks='open rename')
def half(rank, start):
    writer, peer = start(0, 0, **MEMORY), start(11, 0, **MEMORY)
    store_kernel(rank, writer, leave=('kernel.cubin',))
    peer.hash('fx')
    path = group_of(rank, peer)
    out = os.path.join(peer.root, 'out')
    rank.equal(peer.ask('read', path, out), os.path.getsize(path), 'size')
    rank.equal(sorted(json.loads(read_raw(out))['child_paths']), sorted(CHILDREN), 'children')
    counts(rank, peer, reads_filled=0, reads_served=0)
