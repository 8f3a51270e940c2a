# SPDX-License-Identifier: Apache-2.0
"""open, openat, creat, fopen, freopen: what a descriptor or stream of an entry shows."""
import ctypes
import errno
import fcntl
import mmap
import os
import stat

from cases import case
from rank import AT_FDCWD, Failed, Skipped, read_all

OPENS = ('open', 'open64', 'openat', 'openat64', '__open_2', '__open64_2', '__openat_2', '__openat64_2')
WITH_MODE = ('open', 'open64', 'openat', 'openat64')


def opener(rank, name, path, flags, mode=None, dirfd=AT_FDCWD):
    """The arguments of any of the open family."""
    arguments = ([dirfd] if 'openat' in name else []) + [path, flags]
    if mode is not None:
        arguments.append(ctypes.c_uint(mode))
    return arguments


def is_view(rank, fd, expected):
    information = os.fstat(fd)
    rank.equal(read_all(fd), expected, 'what is read')
    rank.equal(information.st_size, len(expected), 'size by fstat')
    rank.check(stat.S_ISREG(information.st_mode), 'not a regular file')
    rank.equal(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE, os.O_RDONLY, 'access mode')
    os.lseek(fd, -5, os.SEEK_END)
    rank.equal(os.read(fd, 9), expected[-5:], 'the end by lseek')
    rank.equal(os.pread(fd, 7, 3), expected[3:10], 'pread')


for hook in OPENS:
    @case(hook, 'an FX entry shows the view', name=hook)
    @case(hook, 'an AOT entry shows the view', name=hook, label='aot')
    def read_view(rank, name, label='fx'):
        path, view = getattr(rank, label), getattr(rank, label + '_view')
        fd = rank.succeed(name, *opener(rank, name, path, os.O_RDONLY))
        is_view(rank, fd, view)
        rank.check(not fcntl.fcntl(fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC, 'close-on-exec out of nowhere')
        again = rank.succeed(name, *opener(rank, name, path, os.O_RDONLY | os.O_CLOEXEC))
        rank.check(fcntl.fcntl(again, fcntl.F_GETFD) & fcntl.FD_CLOEXEC, 'O_CLOEXEC is lost')
        rank.equal(rank.disk(path), getattr(rank, label + '_raw'), 'the disk afterwards')

    @case(hook, 'O_RDWR, O_WRONLY and O_APPEND of an entry are EACCES', name=hook)
    def refuse_writing(rank, name):
        for flags in (os.O_RDWR, os.O_WRONLY, os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_APPEND):
            rank.fail(errno.EACCES, name, *opener(rank, name, rank.fx, flags))
        if name in WITH_MODE:
            rank.fail(errno.EACCES, name, *opener(rank, name, rank.fx, os.O_RDWR | os.O_CREAT, 0o600))
            rank.fail(errno.EACCES, name, *opener(rank, name, rank.fx, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
        rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk afterwards')

    @case(hook, 'an absent entry is ENOENT, other files are themselves', name=hook)
    def others(rank, name):
        rank.fail(errno.ENOENT, name, *opener(rank, name, rank.fx[:-1] + '2', os.O_RDONLY))
        other = os.path.join(rank.fx_dir, 'other')
        rank.put(other, b'other bytes')
        fd = rank.succeed(name, *opener(rank, name, other, os.O_RDWR))
        rank.equal(read_all(fd), b'other bytes', 'an unrelated file')

for hook in WITH_MODE:
    @case(hook, 'O_CREAT and O_TMPFILE keep their mode', name=hook)
    def modes(rank, name):
        os.umask(0o027)
        path = os.path.join(rank.fx_dir, '.%d.1.tmp' % os.getpid())
        fd = rank.succeed(name, *opener(rank, name, path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        os.write(fd, b'x')
        rank.equal(stat.S_IMODE(os.fstat(fd).st_mode), 0o640, 'mode with O_CREAT')
        rank.equal(rank.disk(path), b'x', 'the file')
        fd = rank.call(name, *opener(rank, name, rank.fx_dir, os.O_TMPFILE | os.O_RDWR, 0o604))
        if fd < 0 and rank.errno in (errno.EOPNOTSUPP, errno.EISDIR):
            raise Skipped('no O_TMPFILE on this file system')
        rank.check(fd >= 0, 'O_TMPFILE failed with errno %d' % rank.errno)
        rank.equal(stat.S_IMODE(os.fstat(fd).st_mode), 0o600, 'mode with O_TMPFILE')

    @case(hook, 'O_RDONLY with O_CREAT is no way to the raw bytes', name=hook)
    def creating_reader(rank, name):
        fd = rank.call(name, *opener(rank, name, rank.fx, os.O_RDONLY | os.O_CREAT, 0o644))
        if fd < 0:
            rank.equal(rank.errno, errno.EACCES, 'errno')
        else:
            is_view(rank, fd, rank.fx_view)

for hook in (h for h in OPENS if 'openat' in h):
    @case(hook, 'a directory descriptor and a relative name', name=hook)
    def relative(rank, name):
        for folder, path in ((rank.fx_dir, os.path.basename(rank.fx)), (rank.root, os.path.relpath(rank.fx, rank.root)),
                             (rank.aot_dir, '../../' + os.path.relpath(rank.fx, rank.root))):
            dirfd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            is_view(rank, rank.succeed(name, *opener(rank, name, path, os.O_RDONLY, dirfd=dirfd)), rank.fx_view)
            rank.fail(errno.EACCES, name, *opener(rank, name, path, os.O_RDWR, dirfd=dirfd))
            os.close(dirfd)
        dirfd = os.open(rank.fx, os.O_RDONLY)
        rank.fail(errno.ENOTDIR, name, *opener(rank, name, 'f' * 52, os.O_RDONLY, dirfd=dirfd))
        # An absolute name has no use for its descriptor, not even a bad one.
        is_view(rank, rank.succeed(name, *opener(rank, name, rank.fx, os.O_RDONLY, dirfd=-5)), rank.fx_view)

for hook in ('creat', 'creat64'):
    @case(hook, 'makes a file with its mode and empties an old one', name=hook)
    def creating(rank, name):
        os.umask(0o022)
        path = os.path.join(rank.fx_dir, '.%d.2.tmp' % os.getpid())
        fd = rank.succeed(name, path, ctypes.c_uint(0o666))
        rank.equal(stat.S_IMODE(os.fstat(fd).st_mode), 0o644, 'mode')
        rank.equal(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE, os.O_WRONLY, 'access mode')
        os.write(fd, b'12345')
        rank.succeed(name, path, ctypes.c_uint(0o666))
        rank.equal(rank.disk(path), b'', 'the file, made anew')
        rank.fail(errno.ENOENT, name, os.path.join(rank.root, 'none', 'f' * 52), ctypes.c_uint(0o666))


def read_stream(rank, stream):
    libc = rank.libc
    libc.fileno.argtypes, libc.fclose.argtypes = [ctypes.c_void_p], [ctypes.c_void_p]
    libc.fread.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
    libc.fread.restype = ctypes.c_size_t
    buffer = ctypes.create_string_buffer(16 << 20)
    size = libc.fread(buffer, 1, len(buffer), stream)
    flags = fcntl.fcntl(libc.fileno(stream), fcntl.F_GETFD)
    return buffer.raw[:size], bool(flags & fcntl.FD_CLOEXEC)


for hook in ('fopen', 'fopen64'):
    @case(hook, 'r shows the view, r+ and a are EACCES, w is a new file', name=hook)
    def streams(rank, name):
        for mode, cloexec in (('r', False), ('rb', False), ('re', True), ('rbe', True)):
            got = read_stream(rank, rank.succeed(name, rank.fx, mode))
            rank.equal(got[0], rank.fx_view, 'stream of mode ' + mode)
            rank.equal(got[1], cloexec, 'close-on-exec of mode ' + mode)
        for mode in ('r+', 'rb+', 'a', 'ab', 'a+'):
            rank.fail(errno.EACCES, name, rank.fx, mode)
        rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk afterwards')
        rank.equal(read_stream(rank, rank.succeed(name, rank.aot, 'r'))[0], rank.aot_view, 'the AOT entry')
        rank.fail(errno.ENOENT, name, rank.fx[:-1] + '2', 'r')
        rank.fail(errno.EINVAL, name, rank.fx, 'nonsense')
        path = os.path.join(rank.fx_dir, '.%d.3.tmp' % os.getpid())
        stream = rank.succeed(name, path, 'w')
        rank.libc.fputs(b'text', ctypes.c_void_p(stream))
        rank.libc.fclose(ctypes.c_void_p(stream))
        rank.equal(rank.disk(path), b'text', 'the new file')

for hook in ('freopen', 'freopen64'):
    @case(hook, 'r shows the view in the old stream, a is EACCES', name=hook)
    def reopened(rank, name):
        first = ctypes.c_void_p(rank.succeed('fopen', '/dev/null', 'r'))
        second = ctypes.c_void_p(rank.succeed(name, rank.fx, 'rb', first))
        rank.equal(second.value, first.value, 'the stream')
        rank.equal(read_stream(rank, second)[0], rank.fx_view, 'what is read')
        third = ctypes.c_void_p(rank.succeed(name, rank.aot, 'r', second))
        rank.equal(read_stream(rank, third)[0], rank.aot_view, 'the AOT entry')
        rank.fail(errno.EACCES, name, rank.fx, 'a', third)
        rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk afterwards')
        # Without a name: the same file in another mode. The hook has no path to look at.
        other = os.path.join(rank.root, 'plain')
        rank.put(other, b'plain text')
        stream = ctypes.c_void_p(rank.succeed('fopen', other, 'r+'))
        rank.equal(read_stream(rank, ctypes.c_void_p(rank.succeed(name, None, 'r', stream)))[0], b'plain text',
                   'the stream reopened without a name')


@case('open', "Python's own ways: open(), mmap, dup, fork")
def python_reads(rank):
    with open(rank.fx, 'rb') as entry:
        rank.equal(entry.read(), rank.fx_view, 'open().read()')
        with mmap.mmap(entry.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            rank.equal(mapped[:], rank.fx_view, 'mmap')
        copy = os.dup(entry.fileno())
        os.lseek(copy, 0, os.SEEK_SET)
        child = os.fork()
        if child == 0:
            os._exit(0 if read_all(copy) == rank.fx_view else 9)
        rank.equal(os.waitpid(child, 0)[1], 0, 'a child that reads the descriptor')


@case('open', 'a view has the times and, for its owner, the mode of the entry')
def looks_alike(rank):
    os.utime(rank.fx, ns=(1700000000123456789, 1600000000987654321))
    os.chmod(rank.fx, 0o640)
    fd = rank.succeed('open', rank.fx, os.O_RDONLY)
    information = os.fstat(fd)
    rank.equal(information.st_mtime_ns, 1600000000987654321, 'modification time')
    rank.equal(stat.S_IMODE(information.st_mode), 0o640, 'mode')
    if read_all(fd) != rank.fx_view:
        raise Failed('not the view')
