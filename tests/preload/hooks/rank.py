# SPDX-License-Identifier: Apache-2.0
"""One rank: a process under the library that hashes details, then runs one case.

    python3 rank.py TOLD ROOT CASE

Exit status 0: all right; 1: a check failed (its text on standard output); 77: skipped.
"""
import ctypes
import errno
import hashlib
import json
import os
import sys

SYS_OPENAT = {'x86_64': 257, 'aarch64': 56}[os.uname().machine]
SYS_RENAMEAT2 = {'x86_64': 316, 'aarch64': 276}[os.uname().machine]
AT_FDCWD = -100
AT_REMOVEDIR, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH = 0x200, 0x100, 0x1000
STAT_VERSION = {'x86_64': 1, 'aarch64': 0}[os.uname().machine]
POINTERS = {'fopen', 'fopen64', 'freopen', 'freopen64', 'opendir', 'dlsym', 'readdir', 'getenv'}


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


class Info(ctypes.Structure):
    _fields_ = [('file', ctypes.c_char_p), ('base', ctypes.c_void_p), ('name', ctypes.c_char_p),
                ('address', ctypes.c_void_p)]


def argument(value):
    return os.fsencode(value) if isinstance(value, str) else value


class Rank:
    def __init__(self, told, root, ordinal):
        self.told, self.root, self.ordinal = told, root, ordinal
        # Handle of the global scope: dlsym finds the preloaded definition, as a program's own
        # relocations do.
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.errno = 0
        self.keep = []  # buffers that libc holds on to (putenv)
        for label in ('fx', 'aot'):
            setattr(self, label, os.path.join(root, told[label]))
            setattr(self, label + '_dir', os.path.join(root, os.path.dirname(told[label])))
            setattr(self, label + '_raw', read_raw(told['views']['0'][label]))
            setattr(self, label + '_view', read_raw(told['views'][str(ordinal)][label]))
        self.group = os.path.join(root, told['group'])

    # ---- calling ---------------------------------------------------------------------------------

    def function(self, name):
        function = getattr(self.libc, name)
        function.restype = ctypes.c_void_p if name in POINTERS else ctypes.c_int
        return function

    def call(self, name, *arguments):
        """Calls NAME; the result, with self.errno. The definition must be the library's."""
        ctypes.set_errno(0)
        result = self.function(name)(*map(argument, arguments))
        self.errno = ctypes.get_errno()
        return result

    def origin(self, name):
        """File that the definition of NAME comes from."""
        info = Info()
        self.libc.dladdr(ctypes.cast(self.function(name), ctypes.c_void_p), ctypes.byref(info))
        return os.path.realpath(os.fsdecode(info.file))

    def succeed(self, name, *arguments):
        result = self.call(name, *arguments)
        if result in (-1, None):
            raise Failed('%s failed: %s' % (name, errno.errorcode.get(self.errno, self.errno)))
        return result

    def fail(self, error, name, *arguments):
        result = self.call(name, *arguments)
        if result not in (-1, None):
            raise Failed('%s worked (%s), expected %s' % (name, result, errno.errorcode[error]))
        self.equal(errno.errorcode.get(self.errno, self.errno), errno.errorcode[error], 'errno of ' + name)

    # ---- hashing ---------------------------------------------------------------------------------

    def hash(self, label, ordinal=None):
        ordinal = self.ordinal if ordinal is None else ordinal
        return hashlib.sha256(read_raw(self.told['details'][str(ordinal)][label])).digest()

    def hash_triton(self):
        return hashlib.sha256(self.told['triton_key'].encode()).digest()

    # ---- the other side: the disk and the counters -----------------------------------------------

    disk = staticmethod(lambda path: read_raw(path))

    def put(self, path, data, mode=0o644):
        """Writes a file without any hook."""
        fd = raw_open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        if fd < 0:
            raise Failed('cannot write ' + path)
        while data:
            data = data[os.write(fd, data):]
        os.close(fd)

    def names(self, folder):
        fd = raw_open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return sorted(os.listdir(fd))
        finally:
            os.close(fd)

    def counter(self, name, pid=None):
        """A process's counter (this one's by default) as `rankshare stats` shows it."""
        import subprocess
        environment = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'RANKSHARE')}
        environment['RANKSHARE_SEGMENT'] = self.segment
        done = subprocess.run([self.told['tool'], 'stats', '--json'], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=20)
        if done.returncode:
            raise Failed('rankshare stats: ' + done.stderr.decode().strip())
        for job in json.loads(done.stdout)['jobs']:
            for rank in job['ranks']:
                if rank['pid'] == (pid or os.getpid()):
                    return rank['counters'][name]
        raise Failed('rankshare stats does not know the process')

    def counts(self, **expected):
        for name, value in expected.items():
            self.equal(self.counter(name), value, 'counter ' + name)

    # ---- judging ---------------------------------------------------------------------------------

    @staticmethod
    def check(good, text):
        if not good:
            raise Failed(text)

    def equal(self, got, expected, what):
        if got == expected:
            return
        if isinstance(expected, bytes) and isinstance(got, bytes):
            named = {'the bytes on disk of the FX entry': self.fx_raw, "the rank's FX view": self.fx_view,
                     'the bytes on disk of the AOT entry': self.aot_raw, "the rank's AOT view": self.aot_view}
            said = [next((n for n, b in named.items() if b == x), '%d bytes' % len(x)) for x in (got, expected)]
            raise Failed('%s: got %s, expected %s' % (what, *said))
        raise Failed('%s: got %r, expected %r' % (what, got, expected))


def raw_open(path, flags, mode=0):
    """openat(2) past every hook."""
    fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_OPENAT, AT_FDCWD, os.fsencode(path),
                                                   flags | os.O_CLOEXEC, mode)
    return fd


def read_all(fd):
    pieces = []
    while True:
        piece = os.read(fd, 1 << 20)
        if not piece:
            return b''.join(pieces)
        pieces.append(piece)


def read_raw(path):
    fd = raw_open(path, os.O_RDONLY)
    if fd < 0:
        return None
    try:
        return read_all(fd)
    finally:
        os.close(fd)


def main():
    told_path, root, name = sys.argv[1:4]
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import cases
    case = cases.load()[name]
    told = json.loads(read_raw(told_path))
    rank = Rank(told, root, case.ordinal)
    rank.segment = os.environ.get('RANKSHARE_SEGMENT', '')
    try:
        for hook in case.hooks:
            rank.equal(rank.origin(hook), os.path.realpath(told['library']), 'where %s comes from' % hook)
        for label in case.hashed:
            rank.hash(label)
        case.function(rank)
    except Failed as failure:
        print(failure)
        return 1
    except Skipped as reason:
        print(reason)
        return 77
    return 0


if __name__ == '__main__':
    sys.modules['rank'] = sys.modules['__main__']
    sys.exit(main())
