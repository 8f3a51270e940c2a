# SPDX-License-Identifier: Apache-2.0
"""What stands in an entry's place that did not come by rename: judged when it is read.

A table of contents by reader: a rank of cuda:11 and one of cuda:0, with the key hashed and without (a warm
AOT hit opens an FX entry whose key was never hashed).
"""
import base64
import ctypes
import errno
import hashlib
import os
import socket
import stat
import subprocess
import sys

import fixture
from cases import case
from cases_open import OPENS, opener
from cases_stat import call_stat
from cases_store import fresh, temporary
from rank import Failed, Skipped, read_all, read_raw

HASHES = {'hashed': ('aot', 'fx'), 'unhashed': ('aot',)}


def read(rank, path):
    """'absent', or the bytes that open() and read() give."""
    fd = rank.call('open', path, os.O_RDONLY)
    if fd < 0:
        rank.equal(errno.errorcode[rank.errno], 'ENOENT', 'errno')
        return 'absent'
    data = read_all(fd)
    os.close(fd)
    return data


def content(rank, what):
    """What another program may have put there."""
    pickled = {'canonical': rank.fx_raw, 'third': read_raw(rank.told['views']['3']['fx']),
               'own': read_raw(rank.told['views']['11']['fx'])}
    if what in pickled:
        return pickled[what]
    return {'half': rank.fx_raw[:len(rank.fx_raw) // 2], 'grown': rank.fx_raw + b'more',
            'grown third': pickled['third'] + b'more', 'text': b'{"a": 1}\n', 'nothing': b''}[what]


# What a rank of cuda:11 and one of cuda:0 read, under a name that torch gives to entries and under any
# other name: 'as it is', 'view' or 'absent'. Bytes that are no pickle harm nobody: under another name
# they are somebody's file.
SEEN = {
    'canonical': ('view', 'as it is', 'view', 'as it is'),
    'third': ('absent', 'absent', 'absent', 'absent'),
    'own': ('as it is', 'absent', 'as it is', 'absent'),
    'half': ('absent', 'absent', 'absent', 'absent'),
    'grown': ('absent', 'absent', 'absent', 'absent'),
    'grown third': ('absent', 'absent', 'absent', 'absent'),
    'text': ('absent', 'as it is', 'as it is', 'as it is'),
    'nothing': ('absent', 'as it is', 'as it is', 'as it is'),
}
NAMES = {'an entry': None, 'a copy': '{entry}.bak', 'a short name': 'x', 'a file on its way': '.12.34.tmp'}

for place, pattern in NAMES.items():
    for hashed, labels in HASHES.items():
        for ordinal in (11, 0):
            @case('open fopen', 'cuda:%d reads what others wrote into the place of %s, key %s' % (ordinal, place, hashed),
                  prepare=fresh('fx'), hashed=labels, ordinal=ordinal, pattern=pattern)
            def judged(rank, pattern):
                path = rank.fx
                if pattern:
                    path = os.path.join(rank.fx_dir, pattern.format(entry=os.path.basename(rank.fx)))
                for what, seen in SEEN.items():
                    data = content(rank, what)
                    rank.put(path, data)
                    expected = seen[(2 if pattern else 0) + (rank.ordinal == 0)]
                    wanted = {'view': rank.fx_view, 'as it is': data, 'absent': 'absent'}[expected]
                    got = read(rank, path)
                    if got != wanted:
                        known = {'canonical bytes': rank.fx_raw, 'the view': rank.fx_view, 'the bytes as they are': data}
                        raise Failed('%s: %s, expected %s' % (what, next((n for n, b in known.items() if b == got), got), expected))
                    rank.equal(rank.disk(path), data, 'the disk')


@case('open', 'a process that hashed nothing reads all of them as they are', hashed=())
def plain(rank):
    for what in SEEN:
        rank.put(rank.fx, content(rank, what))
        rank.equal(read(rank, rank.fx), content(rank, what), what)


@case('open', 'several entries under one key: each is judged for itself', ordinal=11)
def several(rank):
    paths = {what: os.path.join(rank.fx_dir, chr(ord('b') + i) * 51) for i, what in enumerate(SEEN)}
    for what, path in paths.items():
        rank.put(path, content(rank, what))
    for what, path in paths.items():
        wanted = {'view': rank.fx_view, 'as it is': content(rank, what), 'absent': 'absent'}[SEEN[what][0]]
        rank.equal(read(rank, path), wanted, what)
    rank.equal(read(rank, rank.fx), rank.fx_view, 'the entry that was there')


@case('open access', "a marked entry of another device under a canonical key is absent")
def marked_elsewhere(rank):
    rank.put(rank.fx, read_raw(rank.told['views']['3']['fx']) + b'\nrankshare:private:3\n')
    rank.equal(read(rank, rank.fx), 'absent', 'what is read')


@case('open stat', "a file on its way to its name: its writer may open, measure and append to it")
def on_its_way(rank):
    path = os.path.join(rank.fx_dir, '.%d.5.tmp' % os.getpid())
    half = len(rank.fx_view) // 2
    rank.put(path, rank.fx_view[:half])
    rank.equal(os.stat(path).st_size, half, 'size')
    fd = rank.succeed('open', path, os.O_WRONLY | os.O_APPEND)
    os.write(fd, rank.fx_view[half:])
    rank.equal(read(rank, path), rank.fx_view, 'what its writer reads')


# ---- not a file --------------------------------------------------------------------------------------

def special(path, what):
    if what == 'pipe':
        os.mkfifo(path)
    elif what == 'socket':
        server = socket.socket(socket.AF_UNIX)
        here = os.open('.', os.O_RDONLY)
        os.chdir(os.path.dirname(path))
        server.bind(os.path.basename(path))
        os.fchdir(here)
        os.close(here)
        return server
    elif what == 'device':
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        except PermissionError:
            raise Skipped('no right to make a device')
    return None


STREAMS = ('fopen', 'fopen64', 'freopen', 'freopen64')

for what in ('pipe', 'socket', 'device'):
    @case(' '.join(OPENS + STREAMS), "a %s in an entry's place is a miss, at once" % what, what=what, prepare=fresh('fx'))
    def not_a_file(rank, what):
        held = special(rank.fx, what)
        for name in OPENS:
            rank.fail(errno.ENOENT, name, *opener(rank, name, rank.fx, os.O_RDONLY))
        for name in STREAMS:
            other = [ctypes.c_void_p(rank.succeed('fopen', '/dev/null', 'r'))] if name.startswith('fre') else []
            rank.fail(errno.ENOENT, name, rank.fx, 'r', *other)
        rank.counts(views_failed=len(OPENS + STREAMS), refused_malformed=len(OPENS + STREAMS))
        rank.equal(call_stat(rank, 'lstat', rank.fx)[0], 0, 'lstat')
        del held


@case('open', "a directory in an entry's place is what it is", prepare=fresh('fx'))
def directory(rank):
    os.mkdir(rank.fx)
    fd = rank.succeed('open', rank.fx, os.O_RDONLY)
    rank.check(stat.S_ISDIR(os.fstat(fd).st_mode), 'no directory')
    rank.counts(views_failed=0)


@case('open', "gigabytes of nothing in an entry's place are a miss that reads none of it", prepare=fresh('fx'))
def sparse(rank):
    import resource
    rank.put(rank.fx, b'')
    os.truncate(rank.fx, 2 << 30)
    rank.equal(read(rank, rank.fx), 'absent', 'what is read')
    rank.put(rank.fx, rank.fx_raw[:1000])
    os.truncate(rank.fx, 3 << 30)
    rank.equal(read(rank, rank.fx), 'absent', 'what is read of one that begins like an entry')
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rank.check(used < 1 << 20, '%d KiB of memory were used' % used)


# ---- more keys than a process can remember -----------------------------------------------------------------

def small(module, name, number=0):
    """The pickle of an object with one field."""
    body = b''.join(b'\x8c' + bytes([len(text)]) + text for text in (module, name))
    body += b'\x93)\x81}(\x8c\x01a\x8c\x08%08dub.' % number
    return b'\x80\x04\x95' + len(body).to_bytes(8, 'little') + body


def small_details(number):
    """Details of a graph as the digest hook recognises them, and nothing in them."""
    return small(b'torch._inductor.codecache', b'FxGraphHashDetails', number)


@case('open rename', 'a native key may have been forgotten: unknown keys are neither shown nor rewritten', hashed=('aot',),
      environment={'TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE': '1'}, prepare=fresh('fx'))
def forgotten(rank):
    rank.put(rank.fx, content(rank, 'canonical'))
    rank.equal(read(rank, rank.fx), rank.fx_view, 'what is read as long as all keys are remembered')
    for number in range(16000):
        hashlib.sha256(small_details(number))
    rank.check(rank.counter('keys_native') > 16000, 'these keys are not native: the case shows nothing')
    for what, expected in (('canonical', 'absent'), ('own', content(rank, 'own')), ('third', 'absent')):
        rank.put(rank.fx, content(rank, what))
        rank.equal(read(rank, rank.fx), expected, 'what is read of one that is ' + what)
    for what, expected in (('canonical', rank.fx_raw), ('own', None)):
        if rank.disk(rank.fx) is not None:
            os.unlink(rank.fx)
        rank.put(temporary(rank), content(rank, what))
        rank.succeed('rename', temporary(rank), rank.fx)
        rank.equal(rank.disk(rank.fx), expected, 'the disk after a store of one that is ' + what)


# What ranks of cuda:11 and cuda:0 read under a key whose details name no device.
UNNAMED = {'canonical': ('absent', 'as it is'), 'third': ('absent', 'absent'), 'own': ('as it is', 'absent'),
           'no device': ('as it is', 'as it is')}

for ordinal in (11, 0):
    @case('open rename', 'cuda:%d under a key that names no device: nothing of another device' % ordinal, hashed=('aot',), ordinal=ordinal)
    def unnamed(rank):
        digest = hashlib.sha256(small_details(1)).digest()
        key = base64.b32encode(digest)[:51].decode().lower()
        path = os.path.join(rank.root, 'fxgraph', key[:2], 'f' + key, 'e' * 51)
        os.makedirs(os.path.dirname(path))
        for what, seen in UNNAMED.items():
            data = small(b'torch._inductor.output_code', b'CompiledFxGraph') if what == 'no device' else content(rank, what)
            rank.put(path, data)
            rank.equal(read(rank, path), data if seen[rank.ordinal == 0] == 'as it is' else 'absent', what)
            os.unlink(path)
            rank.put(path + '.new', data)
            os.link(path + '.new', path)
            rank.equal(rank.disk(path), data if what == 'no device' else None, 'the disk after a store of ' + what)
            if rank.disk(path) is not None:
                os.unlink(path)


# ---- blobs --------------------------------------------------------------------------------------------------

READER = '''
import hashlib, json, os, sys
told, ordinal, labels = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[4].split()
for label in labels:
    hashlib.sha256(open(told['details'][ordinal][label], 'rb').read()).digest()
for label in ('fx', 'aot'):
    with open(os.path.join(sys.argv[3], told[label]), 'rb') as entry:
        print(hashlib.sha256(entry.read()).hexdigest())
'''


def digests(rank, to, files, details):
    """SHA-256 of the tool's rewriting of each file, which knows no more than the rank does."""
    result = []
    for file in files:
        out = os.path.join(rank.root, 'rewritten')
        fixture.rewrite(to, file, out, details)
        result.append(hashlib.sha256(rank.disk(out)).hexdigest())
    return result


@case('rename open', 'a blob unpacked before anything was hashed: right for every rank, and for a plain cuda:0',
      hashed=(), prepare=lambda root: (fresh('fx')(root), fresh('aot')(root)))
def unpacked(rank):
    native = [rank.told['views']['11'][label] for label in ('fx', 'aot')]
    expected = digests(rank, 0, native, None)
    for label in ('fx', 'aot'):  # as torch.compiler.load_cache_artifacts() does
        rank.put(temporary(rank, label), getattr(rank, label + '_view'))
        rank.succeed('rename', temporary(rank, label), getattr(rank, label))
    rank.equal([hashlib.sha256(rank.disk(path)).hexdigest() for path in (rank.fx, rank.aot)], expected, 'the disk')
    told = os.path.join(os.path.dirname(rank.told['template']), 'told')
    plain = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'RANKSHARE')}
    for ordinal, labels, environment in (('0', 'aot fx', None), ('3', 'aot fx', None), ('11', 'aot', None), ('12', 'fx aot', None),
                                         ('0', '', plain)):
        done = subprocess.run([sys.executable, '-c', READER, told, ordinal, rank.root, labels], env=environment,
                              stdout=subprocess.PIPE, universal_newlines=True, check=True)
        expected = digests(rank, int(ordinal), (rank.fx, rank.aot), rank.told['details']['0']['fx'])
        rank.equal(done.stdout.split(), expected, 'what cuda:%s reads after hashing "%s"' % (ordinal, labels))
