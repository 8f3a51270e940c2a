# SPDX-License-Identifier: Apache-2.0
"""A cache directory in which nothing can be written: a private one stands in for it, and shows what lies there.

The peers of cases_apart.py; each case has a directory that a plain process on cuda:0 has filled and that is closed before
the ranks start.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys

import configs
from cases import case
from cases_apart import Peer, empty, moved, name_of, same_as_shared, write
from cases_kernels import CHILDREN, finds_kernel, group_of, kernel_folder, whole_kernel
from others import HERE
from rank import Failed, Skipped, read_raw

sys.path.append(os.path.join(HERE, '..', '..', 'jobs'))
from closed import Unable, closed as takes_no_file  # noqa: E402

DROP = ('import os, sys\nos.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)\n'
        'os.execv(sys.argv[1], sys.argv[1:])')


class Theirs:
    """A directory filled by somebody else. Its path, and that of the private one, is as long as the recording's."""

    def __init__(self, rank, stack):
        self.rank, self.stack = rank, stack
        while True:
            self.base = '/tmp/r' + os.urandom(2).hex()
            try:
                os.mkdir(self.base, 0o755)
                break
            except FileExistsError:
                pass
        stack.callback(shutil.rmtree, self.base, ignore_errors=True)
        self.root = os.path.join(self.base, 'x' * 22)
        self.triton = os.path.join(self.root, 'triton', '0')
        self.private = self.base
        os.makedirs(self.triton)

    def fill(self, label, root=None, ordinal=0):
        data = moved(read_raw(self.rank.told['views'][str(ordinal)][label]), root or self.root)
        write(os.path.join(self.root, self.rank.told[label]), data)
        return data

    def kernel(self):
        folder = kernel_folder(self.rank, self)
        for name, data in CHILDREN.items():
            write(os.path.join(folder, name), data.replace(b'%s', self.root.encode()))
        text = json.dumps({'child_paths': {name: os.path.join(folder, name) for name in CHILDREN}})
        write(group_of(self.rank, self), text.encode())

    def close(self):
        try:
            self.stack.enter_context(takes_no_file(self.root))
        except Unable as why:
            raise Skipped(str(why))

    def start(self, ordinal, inside=(), **environment):
        """A rank, which tells where it works."""
        environment.setdefault('RANKSHARE_DIR', self.private)
        peer = self.stack.enter_context(Peer(self.rank, ordinal, self.root, inside, **{'TRITON_CACHE_DIR': None, **environment}))
        peer.root = peer.ask('get', 'TORCHINDUCTOR_CACHE_DIR')
        peer.triton = os.path.join(peer.root, 'triton', '0')
        return peer


def closed(title, hooks='opendir rename', **more):
    def add(function):
        @case(hooks, 'closed: ' + title, hashed=(), **more)
        def run(rank):
            with contextlib.ExitStack() as stack:
                function(rank, Theirs(rank, stack))
        return function
    return add


def redirected(rank, peer, theirs):
    rank.check(peer.root.startswith(theirs.private + '/cache-'), 'the rank works in %s' % peer.root)
    rank.equal(os.readlink(os.path.join(peer.root, '.rankshare-source')), theirs.root, 'the source')


@closed('what lies there is found, and each rank sees its own device')
def found(rank, theirs):
    theirs.fill('fx')
    theirs.close()
    for number, ordinal in enumerate((3, 0, 12)):
        peer = theirs.start(ordinal)
        redirected(rank, peer, theirs)
        rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'what it saw')
        same_as_shared(rank, peer, 'fx')
        for name, value in {'fx_hits': 1, 'leases': 0, 'roots_redirected': 1, 'redirect_copies': number == 0,
                            'redirect_failed': 0}.items():
            rank.equal(peer.counter(name), int(value), name)


@closed('what does not is compiled once, and the next job finds it')
def stored(rank, theirs):
    theirs.close()
    first, second = theirs.start(11), theirs.start(3)
    empty(rank, first.finds('fx'))
    second.look('fx')
    second.waiting()
    first.store('fx')
    rank.equal(second.said(), [name_of(rank, 'fx')], 'what it saw')
    same_as_shared(rank, second, 'fx')
    later = theirs.start(12, RANKSHARE_JOB='another')
    rank.equal(later.finds('fx'), [name_of(rank, 'fx')], 'what the next job saw')
    rank.equal(later.counter('redirect_copies'), 0, 'copies')
    rank.equal(os.listdir(theirs.root), ['triton'], 'the directory that was closed')


@closed('an AOT entry and its graph')
def aot(rank, theirs):
    theirs.fill('fx')
    theirs.fill('aot')
    theirs.close()
    peer = theirs.start(3)
    rank.equal(peer.finds('aot'), [name_of(rank, 'aot')], 'what it saw')
    rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'its graph')
    same_as_shared(rank, peer, 'aot')
    same_as_shared(rank, peer, 'fx')


for ordinal in (0, 3):
    @closed('a kernel, which is named by where it lies now, looked for below triton/%d' % ordinal, hooks='stat mkdir')
    def kernel(rank, theirs, ordinal=ordinal):
        theirs.kernel()
        theirs.close()
        peer = theirs.start(ordinal)
        peer.ask('makedirs', os.path.join(peer.root, 'triton', str(ordinal)))
        peer.triton = os.path.join(peer.root, 'triton', str(ordinal))
        rank.equal(finds_kernel(rank, peer), True, 'what it saw')
        whole_kernel(rank, peer, theirs)
        rank.equal((peer.counter('triton_hits'), peer.counter('leases')), (1, 0), 'hits and leases')
        rank.equal(os.path.realpath(peer.triton), os.path.join(peer.root, 'triton', '0'), 'one directory for all ordinals')


@closed('a kernel of which a file is missing has the others', hooks='stat')
def incomplete(rank, theirs):
    theirs.kernel()
    os.unlink(os.path.join(kernel_folder(rank, theirs), 'kernel.source'))
    theirs.close()
    peer = theirs.start(0)
    rank.equal(finds_kernel(rank, peer), True, 'what it saw')
    names = sorted([*CHILDREN, os.path.basename(rank.told['group'])])
    rank.equal(sorted(rank.names(kernel_folder(rank, peer))), [name for name in names if name != 'kernel.source'], 'names')


@closed("a result of autotuning, by a name that another ordinal's rank has given to it", hooks='open stat')
def result(rank, theirs):
    theirs.fill('fx')
    name = {ordinal: configs.paths(rank.told, ordinal)[0] for ordinal in (0, 3)}
    write(os.path.join(theirs.root, name[0]), configs.result(64))
    theirs.close()
    peer = theirs.start(3)
    peer.finds('fx')
    rank.check(isinstance(peer.reads('fx'), bytes), 'no graph')
    rank.equal(peer.ask('exists', os.path.join(peer.root, name[3])), True, 'what it saw')
    rank.equal(rank.disk(os.path.join(peer.root, name[3])), configs.result(64), 'its result')
    rank.equal(peer.counter('configs_taken'), 1, 'taken')


@closed('any other file, but no directory', hooks='open stat access')
def others(rank, theirs):
    write(os.path.join(theirs.root, 'ab', 'cabc.so'), b'\x7fELF any library')
    write(os.path.join(theirs.root, 'ab', 'cabc.cpp'), b'int main() {}')
    write(os.path.join(theirs.root, 'locks', 'cabc.lock'), b'')
    os.symlink('cabc.cpp', os.path.join(theirs.root, 'ab', 'link.cpp'))
    os.mkfifo(os.path.join(theirs.root, 'ab', 'pipe'))
    theirs.close()
    peer = theirs.start(3)
    peer.ask('hash', rank.told['details']['3']['fx'])
    for name, there in {'ab': False, 'ab/pipe': False, 'ab/nothing': False, 'locks/cabc.lock': False, '../x': False, 'ab/../ab/cabc.so': False,
                        '.rankshare-source/ab/cabc.so': True, 'ab/cabc.so': True, 'ab/link.cpp': True}.items():
        rank.equal(peer.ask('exists', os.path.join(peer.root, name)), there, name)
    out = os.path.join(peer.root, 'out')
    for name, data in {'cabc.so': b'\x7fELF any library', 'link.cpp': b'int main() {}', 'cabc.cpp': b'int main() {}'}.items():
        rank.equal(peer.ask('read', os.path.join(peer.root, 'ab', name), out), len(data), name)
        rank.equal(read_raw(out), data, name)
    rank.equal(rank.names(os.path.join(peer.root, 'ab')), ['cabc.cpp', 'cabc.so', 'link.cpp'], 'what was found')
    # Its owner may be writing it: what is read is what lies there now.
    rank.check(os.path.islink(os.path.join(peer.root, 'ab', 'cabc.so')), 'a copy')


@closed('an entry with a path into a third directory is copied as it is')
def third(rank, theirs):
    data = theirs.fill('fx', '/elsewhere'.ljust(len(theirs.root), 'x'))
    theirs.close()
    peer = theirs.start(0)
    rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'what it saw')
    rank.equal(rank.disk(peer.path('fx')), data, 'the entry')


@closed('an entry of another device is copied, and not shown')
def foreign(rank, theirs):
    theirs.fill('fx', ordinal=11)
    theirs.close()
    peer = theirs.start(3)
    rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'the name')
    rank.equal(peer.ask('read', peer.path('fx'), os.path.join(peer.root, 'out')), {'errno': 2}, 'what it reads')
    rank.equal(peer.counter('refused_not_canonical'), 1, 'refusals')


@closed('switched off, it is used as it is')
def off(rank, theirs):
    theirs.fill('fx')
    theirs.close()
    peer = theirs.start(0, RANKSHARE_REDIRECT='0')
    rank.equal(peer.root, theirs.root, 'where it works')
    rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'what it saw')


for what, make in {'a file': lambda path: write(path, b''), 'nowhere': lambda path: None,
                   'open to others': lambda path: (os.mkdir(path), os.chmod(path, 0o777))}.items():
    @closed('where RANKSHARE_DIR is %s, it is used as it is' % what)
    def no_place(rank, theirs, what=what, make=make):
        theirs.fill('fx')
        theirs.close()
        place = os.path.join(theirs.base, 'dir')
        make(place)
        peer = theirs.start(0, RANKSHARE_DIR=place + '/below' if what == 'nowhere' else place)
        rank.equal(peer.root, theirs.root, 'where it works')
        rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'what it saw')
        rank.equal(peer.counter('roots_redirected'), 0, 'redirected')


@closed('a program that a redirected one starts goes on in the same place')
def child(rank, theirs):
    theirs.fill('fx')
    theirs.close()
    again = 'import os, sys; assert "cache-" in os.environ["TORCHINDUCTOR_CACHE_DIR"]; os.execv(sys.argv[1], sys.argv[1:])'
    peer = theirs.start(3, (sys.executable, '-c', again))
    redirected(rank, peer, theirs)
    rank.equal(peer.finds('fx'), [name_of(rank, 'fx')], 'what it saw')
    same_as_shared(rank, peer, 'fx')


@closed('other spellings of a variable: slashes behind it, and what is no such directory')
def spellings(rank, theirs):
    theirs.close()
    peer = theirs.start(3, TORCHINDUCTOR_CACHE_DIR=theirs.root + '//')
    redirected(rank, peer, theirs)
    for value in ('', '/', 'relative', theirs.root + '/nothing', theirs.base + '/' + 'x' * 1100):
        peer = theirs.start(3, TORCHINDUCTOR_CACHE_DIR=value)
        rank.equal(peer.root, value, 'a value that is left alone')


@closed("Triton's own variable", hooks='stat')
def triton(rank, theirs):
    theirs.kernel()
    theirs.close()
    own = os.path.join(theirs.base, 'own')
    os.mkdir(own)
    peer = theirs.start(3, TORCHINDUCTOR_CACHE_DIR=own, TRITON_CACHE_DIR=theirs.triton)
    rank.equal(peer.root, own, "torch's directory")
    peer.triton = peer.ask('get', 'TRITON_CACHE_DIR')
    rank.check(peer.triton.startswith(theirs.private + '/cache-'), 'Triton works in %s' % peer.triton)
    rank.equal(finds_kernel(rank, peer), True, 'what it saw')
    rank.equal(sorted(rank.names(kernel_folder(rank, peer))), sorted([*CHILDREN, os.path.basename(rank.told['group'])]), 'names')


@closed('what the program has removed whole stays empty')
def removed(rank, theirs):
    theirs.fill('fx')
    theirs.close()
    peer = theirs.start(3)
    shutil.rmtree(peer.root)
    os.makedirs(peer.triton)
    empty(rank, peer.finds('fx'))


@closed('a private directory that is full: a miss')
def full(rank, theirs):
    theirs.fill('fx')
    write(os.path.join(theirs.root, 'ab', 'cabc.so'), bytes(100000))
    theirs.close()
    place = os.path.join(theirs.base, 'dir')
    os.mkdir(place, 0o700)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=32k,mode=700', 'small', place], stderr=subprocess.DEVNULL).returncode:
        raise Skipped('mount is not allowed')
    theirs.stack.callback(subprocess.run, ['umount', '-l', place], check=True)
    peer = theirs.start(3, RANKSHARE_DIR=place)
    rank.check(peer.root.startswith(place), 'the rank works in %s' % peer.root)
    rank.check(peer.finds('fx') in ([], {'errno': 2}), 'an entry is there')
    out = os.path.join(theirs.base, 'out')
    rank.equal(peer.ask('read', os.path.join(peer.root, 'ab', 'cabc.so'), out), 100000, 'a file that is read where it lies')
    rank.equal(read_raw(out), bytes(100000), 'its bytes')
    rank.equal(peer.counter('redirect_failed'), 1, 'failed')
    rank.equal(peer.counter('fx_misses'), 1, 'misses')


@closed('a private directory from which no library can be loaded is not used')
def noexec(rank, theirs):
    theirs.close()
    place = os.path.join(theirs.base, 'dir')
    os.mkdir(place, 0o700)
    for options in ('mode=700,noexec', 'remount,mode=700,exec'):
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'small', place], stderr=subprocess.DEVNULL).returncode:
            raise Skipped('mount is not allowed')
        if 'noexec' in options:
            theirs.stack.callback(subprocess.run, ['umount', '-l', place], check=True)
        peer = theirs.start(3, RANKSHARE_DIR=place)
        rank.equal(peer.root == theirs.root, 'noexec' in options, options)


@closed('two settings of one name: the first counts, the second stays')
def twice(rank, theirs):
    theirs.close()
    tell = ('import ctypes; e = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ"); i = 0\n'
            'while e[i]:\n if e[i].startswith(b"TORCHINDUCTOR_CACHE_DIR="): print(e[i].decode().partition("=")[2])\n i += 1')
    start = ('import ctypes, os, sys\nl = [k + b"=" + v for k, v in os.environb.items() if k != b"TORCHINDUCTOR_CACHE_DIR"]\n'
             'l += [b"TORCHINDUCTOR_CACHE_DIR=" + os.fsencode(v) for v in sys.argv[2:]]\n'
             'a = [os.fsencode(sys.executable), b"-c", os.fsencode(sys.argv[1])]\n'
             'make = lambda words: (ctypes.c_char_p * (len(words) + 1))(*words)\n'
             'ctypes.CDLL(None).execve(a[0], make(a), make(l))')
    for first, private in (('relative', False), (theirs.root, True)):
        done = subprocess.run([sys.executable, '-c', start, tell, first, theirs.root], stdout=subprocess.PIPE,
                              env=dict(os.environ, RANKSHARE_DIR=theirs.private), universal_newlines=True)
        shown = done.stdout.split()
        rank.equal(shown[1:], [theirs.root], 'the second setting')
        rank.equal(shown[0].startswith(theirs.private + '/cache-'), private, 'whether the first one leads away: %s' % shown[0])


@closed("another user's directory")
def users(rank, theirs):
    if os.geteuid():
        raise Skipped('not root')
    theirs.fill('fx')
    private = os.path.join(theirs.base, 'dir')
    os.mkdir(private, 0o700)
    os.chown(private, 65534, 65534)
    tell = 'import os; print(os.environ["TORCHINDUCTOR_CACHE_DIR"])'
    # sys.executable may be in a home directory that is closed to others.
    command = ('/usr/bin/python3' if os.path.exists('/usr/bin/python3') else sys.executable, '-c', tell)
    for folder in (theirs.root, private):
        done = subprocess.run([sys.executable, '-c', DROP, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, TORCHINDUCTOR_CACHE_DIR=folder, RANKSHARE_DIR=private), universal_newlines=True)
        if done.returncode:
            raise Skipped('no program can be started there: ' + done.stderr[-200:])
        rank.equal(done.stdout.startswith(private + '/cache-'), folder == theirs.root, done.stdout)
        rank.check(folder == theirs.root or done.stdout.strip() == private, done.stdout)


def survived(theirs, inject):
    """Starts, looks up a graph, and lives."""
    try:
        theirs.start(3, inject).finds('fx')
        return True
    except (Failed, OSError):
        return False


STEPS = {'mkdirat': 4, 'symlinkat': 1, 'writev': 1, 'linkat': 1}


@closed('killed at each step on the way: an entry is there whole or not at all')
def killed(rank, theirs):
    if not shutil.which('strace'):
        raise Skipped('no strace')
    theirs.fill('fx')
    theirs.close()
    for call, count in STEPS.items():
        for number in range(1, count + 1):
            inject = ('strace', '-f', '-q', '-o', '/dev/null', '-e', 'trace=' + call,
                      '-e', 'inject=%s:signal=KILL:when=%d' % (call, number))
            rank.check(not survived(theirs, inject), 'it lives after %s %d' % (call, number))
            heir = theirs.start(12)
            rank.equal(heir.finds('fx'), [name_of(rank, 'fx')], 'what is there after %s %d' % (call, number))
            same_as_shared(rank, heir, 'fx')
            shutil.rmtree(heir.root)
