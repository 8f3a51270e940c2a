# SPDX-License-Identifier: Apache-2.0
"""Every way in which a file can get an entry's name, and every way in which that fails.

What lies there afterwards is the canonical entry or nothing, and where the call would have failed without
the library, too, it fails alike.
"""
import ctypes
import errno
import os
import resource
import shutil
import stat
import struct

from cases import case
from cases_store import LINKS, RENAMES, arguments, fresh, temporary
from rank import AT_EMPTY_PATH, AT_FDCWD, SYS_OPENAT, Skipped

AT_SYMLINK_FOLLOW = 0x400
NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
NAMING = RENAMES + LINKS


def nothing_raw(rank, path=None):
    rank.check(rank.disk(path or rank.fx) in (None, rank.fx_raw), 'other bytes than the canonical ones are on disk')


def no_drafts(rank, folder=None):
    names = [n for n in rank.names(folder or rank.fx_dir) if n.startswith('.rs.')]
    rank.equal(names, [], 'left over')


# ---- a file without a name -----------------------------------------------------------------------------

for mode in (os.O_RDWR, os.O_WRONLY):
    for label, form in (('its descriptor', None), ('/proc', '/proc/self/fd/%d')):
        @case('linkat', 'a file without a name, opened %s, gets one through %s' % (
            'for writing' if mode == os.O_WRONLY else 'for both', label), mode=mode, form=form, prepare=fresh('fx'))
        def nameless(rank, mode, form):
            def named(folder, target):
                fd = os.open(folder, os.O_TMPFILE | mode, 0o640)
                os.write(fd, rank.fx_view)
                if form:
                    return rank.call('linkat', AT_FDCWD, form % fd, AT_FDCWD, target, AT_SYMLINK_FOLLOW), rank.errno
                return rank.call('linkat', fd, '', AT_FDCWD, target, AT_EMPTY_PATH), rank.errno
            native = named(rank.root, os.path.join(rank.root, 'plain'))
            result, error = named(rank.fx_dir, rank.fx)
            if native[0] == 0 or result == 0:
                rank.equal(result, 0, 'result (errno %d)' % error)
                rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')
                rank.equal(stat.S_IMODE(os.stat(rank.fx).st_mode), 0o640, 'mode')
                rank.counts(stores_rewritten=1)
            else:
                rank.equal(error, native[1], 'errno')
                nothing_raw(rank)
            no_drafts(rank)


@case('linkat', 'no name and no descriptor: what the kernel says', prepare=fresh('fx'))
def no_source(rank):
    for source in ('', None):
        for flags in (0, AT_EMPTY_PATH):
            native = rank.call('linkat', -5, source, AT_FDCWD, os.path.join(rank.root, 'plain'), flags), rank.errno
            rank.equal((rank.call('linkat', -5, source, AT_FDCWD, rank.fx, flags), rank.errno), native, 'result')


# ---- names of one file -----------------------------------------------------------------------------------

for hook in RENAMES:
    @case(hook, 'onto itself, and onto another name of the same file: nothing happens', name=hook)
    def itself(rank, name):
        other = os.path.join(rank.fx_dir, 'o' * 51)
        rank.put(rank.fx, rank.fx_view)  # as a program that writes in place leaves it
        rank.succeed(name, *arguments(name, rank.fx, rank.fx))
        rank.equal(rank.disk(rank.fx), rank.fx_view, 'the disk')
        os.unlink(rank.fx)
        rank.put(rank.fx, rank.fx_view)
        rank.succeed('linkat', AT_FDCWD, rank.fx, AT_FDCWD, other + '.', 0)  # canonical: a file of its own
        rank.equal(rank.disk(other + '.'), rank.fx_raw, 'the link')

    @case(hook, 'a source with a second name keeps it', name=hook, prepare=fresh('fx'))
    def second_name(rank, name):
        source = temporary(rank)
        rank.put(source, rank.fx_view)
        os.link(source, os.path.join(rank.root, 'kept'))
        rank.succeed(name, *arguments(name, source, rank.fx))
        rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')
        rank.equal(rank.disk(os.path.join(rank.root, 'kept')), rank.fx_view, 'the other name')
        rank.equal(rank.disk(source), None, 'the source')


@case('renameat2', 'an exchange with an entry, from either side, is EINVAL; so are flags nobody knows')
def exchange(rank):
    other = os.path.join(rank.root, 'other')
    rank.put(other, rank.fx_view)
    for pair in ((other, rank.fx), (rank.fx, other)):
        for flags in (EXCHANGE, WHITEOUT, EXCHANGE | NOREPLACE, 1 << 20):
            rank.fail(errno.EINVAL, 'renameat2', AT_FDCWD, pair[0], AT_FDCWD, pair[1], flags)
            rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')
            rank.equal(rank.disk(other), rank.fx_view, 'the other file')
    third = os.path.join(rank.root, 'third')
    rank.put(third, b'3')
    rank.succeed('renameat2', AT_FDCWD, third, AT_FDCWD, other, EXCHANGE)
    rank.equal(rank.disk(other), b'3', 'an exchange elsewhere')


# ---- odd sources -------------------------------------------------------------------------------------------

ALL = ' '.join(NAMING)


class Other:
    """Another user, where the tests run as root."""
    def __enter__(self):
        if os.geteuid() == 0:
            os.seteuid(65534)

    def __exit__(self, *error):
        if os.getuid() == 0:
            os.seteuid(0)


def away(*paths):
    for path in paths:  # without asking whether it exists: a damaged entry does not
        try:
            os.unlink(path)
        except IsADirectoryError:
            shutil.rmtree(path)
        except FileNotFoundError:
            pass


@case(ALL, 'a link, a directory or a pipe as the source: what the kernel says', prepare=fresh('fx'))
def odd_sources(rank):
    plain, source = os.path.join(rank.root, 'plain'), temporary(rank)
    for name in NAMING:
        for make in (lambda path: os.symlink(rank.aot, path), os.mkdir, os.mkfifo):
            results = []
            for target in (plain, rank.fx):
                make(source)
                results.append((rank.call(name, *arguments(name, source, target)), rank.errno))
                away(source, target)
            rank.equal(results[1], results[0], name)
    rank.counts(stores_dropped=0)


@case(ALL, 'a source that may not be read is not stored', prepare=fresh('fx'))
def unreadable(rank):
    os.chmod(rank.fx_dir, 0o777)
    for name in NAMING:
        with Other():
            rank.put(temporary(rank), rank.fx_view, 0o200)
            rank.call(name, *arguments(name, temporary(rank), rank.fx))
        nothing_raw(rank)
        away(temporary(rank))
    rank.check(rank.counter('stores_dropped') >= 3, 'not counted')


@case(ALL, 'no descriptor left: not stored', prepare=fresh('fx'))
def no_descriptor(rank):
    source = temporary(rank)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    free = os.open('/dev/null', os.O_RDONLY)
    os.close(free)
    for name in NAMING:
        for left in (0, 1, 2):
            rank.put(source, rank.fx_view)
            resource.setrlimit(resource.RLIMIT_NOFILE, (free + left, hard))
            result = rank.call(name, *arguments(name, source, rank.fx))
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            rank.equal(result, 0, 'result')
            rank.equal(rank.disk(rank.fx), rank.fx_raw if left == 2 else None, 'the disk with %d descriptors' % left)
            away(source, rank.fx)


# ---- places that take nothing ---------------------------------------------------------------------------------

def removed(folder):
    shutil.rmtree(folder)


def read_only(folder):
    os.chmod(folder, 0o555)


def occupied(folder):
    os.makedirs(os.path.join(folder, 'x' * 51, 'y'))


def sticky(folder):
    """Somebody else's file under this name, in a directory where one may not replace it."""
    with open(os.path.join(folder, 'x' * 51), 'wb') as out:
        out.write(b'theirs')
    if os.geteuid() == 0:
        os.chown(os.path.join(folder, 'x' * 51), 12345, 12345)
        os.chown(folder, 12345, 12345)
    os.chmod(folder, 0o1777)


PLACES = {'that was removed': removed, 'that is read-only': read_only, 'where a directory has the name': occupied,
          "where another user's file has the name": sticky}

for label, spoil in PLACES.items():
    @case(ALL, 'a directory ' + label + ': as without the library', spoil=spoil, prepare=fresh('fx'))
    def no_place(rank, spoil):
        if spoil is sticky and os.geteuid() != 0:
            raise Skipped('not root')
        plain = os.path.join(rank.root, 'plain')
        os.mkdir(plain)
        for folder in (rank.root, os.path.dirname(rank.fx_dir)):
            os.chmod(folder, 0o777)
        for folder in (plain, rank.fx_dir):
            spoil(folder)
        for name in NAMING:
            results = []
            for i, folder in enumerate((plain, rank.fx_dir)):
                source = os.path.join(rank.root, 'source%d' % i)
                with Other():
                    rank.put(source, rank.fx_view)
                    result = rank.call(name, *arguments(name, source, os.path.join(folder, 'x' * 51)))
                    results.append((result, rank.errno, rank.disk(source)))
                away(source)
            rank.equal(results[1][:2], results[0][:2], 'result and errno of ' + name)
            rank.check(results[0][0] == -1, 'this place takes files: the case shows nothing')
            rank.equal(results[1][2], results[0][2], 'the source')
            if os.path.isdir(rank.fx_dir):
                no_drafts(rank)
        rank.counts(stores_dropped=0, stores_rewritten=0)


@case(ALL, 'names as long as they may be, and longer: as without the library', prepare=fresh('fx'))
def long_names(rank):
    plain, source = os.path.join(rank.root, 'plain'), os.path.join(rank.root, 'source')
    os.mkdir(plain)
    for name in NAMING:
        for length in (255, 256, 4000):
            results = []
            for folder in (plain, rank.fx_dir):
                rank.put(source, rank.fx_view)
                results.append((rank.call(name, *arguments(name, source, os.path.join(folder, 'n' * length))), rank.errno))
            rank.equal(results[1], results[0], '%s to a name of %d bytes' % (name, length))
            if length == 255:
                rank.equal(rank.disk(os.path.join(rank.fx_dir, 'n' * length)), rank.fx_raw, 'the disk')
                away(os.path.join(rank.fx_dir, 'n' * length), os.path.join(plain, 'n' * length))
    rank.counts(stores_dropped=0)


@case('rename', 'from another file system: stored or EXDEV', prepare=fresh('fx'))
def across(rank):
    if os.stat('/dev/shm').st_dev == os.stat(rank.fx_dir).st_dev:
        raise Skipped('one file system')
    source = '/dev/shm/rankshare-test-%d' % os.getpid()
    rank.put(source, rank.fx_view)
    try:
        rank.call('rename', source, rank.fx)
    finally:
        if os.path.exists(source):
            os.unlink(source)
    nothing_raw(rank)


@case(ALL, 'the copy has the mode and group that the file itself would have had', prepare=fresh('fx'))
def ownership(rank):
    os.umask(0o077)
    if os.geteuid() == 0:
        os.chown(rank.fx_dir, -1, 4321)
    os.chmod(rank.fx_dir, 0o2775)
    # A file made in the directory inherits its group; one made elsewhere keeps its own.
    for source in (temporary(rank), os.path.join(rank.root, 'source')):
        for name, mode in zip(NAMING, (0o444, 0o640, 0o664, 0o600, 0o755)):
            rank.put(source, rank.fx_view)
            os.chmod(source, mode)
            expected = os.stat(source)
            rank.succeed(name, *arguments(name, source, rank.fx))
            got = os.stat(rank.fx)
            rank.equal((oct(got.st_mode), got.st_uid, got.st_gid), (oct(expected.st_mode), expected.st_uid, expected.st_gid),
                       'mode, owner and group after ' + name)
            rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')
            away(source, rank.fx)


# ---- other names in an entry's directory -----------------------------------------------------------------------

@case(ALL, "another tool's file beside the entries is stored as it is, an entry by another name is not", prepare=fresh('fx'))
def other_names(rank):
    source = temporary(rank)
    for name in NAMING:
        for target in ('notes.json', 'x', rank.fx[-51:] + '.bak'):
            path = os.path.join(rank.fx_dir, target)
            for data, kept in ((b'{"a": 1}', b'{"a": 1}'), (b'', b''), (rank.fx_view, rank.fx_raw)):
                rank.put(source, data)
                rank.succeed(name, *arguments(name, source, path))
                rank.equal(rank.disk(path), kept, 'the file ' + target)
                away(source, path)
    rank.counts(stores_dropped=0, stores_rewritten=3 * len(NAMING), stores_fx=3 * len(NAMING))


@case(ALL, 'a name that begins with a dot is no entry yet', prepare=fresh('fx'))
def dots(rank):
    source, path = temporary(rank), os.path.join(rank.fx_dir, '.9.9.tmp')
    for name in NAMING:
        rank.put(source, rank.fx_view)
        rank.succeed(name, *arguments(name, source, path))
        rank.equal(rank.disk(path), rank.fx_view, 'the disk')
        away(source, path)
    rank.counts(stores_fx=0, stores_rewritten=0)


# ---- killed on the way --------------------------------------------------------------------------------------------

SYSCALLS = {'x86_64': {'writev': 20, 'linkat': 265, 'renameat2': 316, 'unlinkat': 263, 'fchmod': 91, 'utimensat': 280},
            'aarch64': {'writev': 66, 'linkat': 37, 'renameat2': 276, 'unlinkat': 35, 'fchmod': 52, 'utimensat': 88}}


LOAD, EQUAL, ANY_BIT, GIVE = 0x20, 0x15, 0x45, 0x06
KILL, FAIL, ALLOW = 0x80000000, 0x00050000, 0x7fff0000


def seccomp(*steps):
    """Puts a filter on this process's system calls. False where there is no seccomp."""
    program = b''.join(struct.pack('<HBBI', *step) for step in steps)
    buffer = ctypes.create_string_buffer(program, len(program))

    class Filter(ctypes.Structure):
        _fields_ = [('count', ctypes.c_ushort), ('steps', ctypes.c_void_p)]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    return libc.prctl(22, 2, ctypes.byref(Filter(len(steps), ctypes.addressof(buffer)))) == 0  # PR_SET_SECCOMP


def die_at(number):
    """From now on the system call NUMBER kills the process at once."""
    return seccomp((LOAD, 0, 0, 0), (EQUAL, 0, 1, number), (GIVE, 0, 0, KILL), (GIVE, 0, 0, ALLOW))


def no_nameless_files():
    """From now on O_TMPFILE is EOPNOTSUPP, as on network file systems."""
    third_argument = 16 + 2 * 8
    return seccomp((LOAD, 0, 0, 0), (EQUAL, 0, 3, SYS_OPENAT), (LOAD, 0, 0, third_argument),
                   (ANY_BIT, 0, 1, os.O_TMPFILE & ~os.O_DIRECTORY), (GIVE, 0, 0, FAIL | errno.EOPNOTSUPP),
                   (GIVE, 0, 0, ALLOW))


@case(ALL, 'a file system that knows no files without names', prepare=fresh('fx'))
def named_draft(rank):
    if not no_nameless_files():
        raise Skipped('no seccomp')
    rank.fail(errno.EOPNOTSUPP, 'open', rank.fx_dir, os.O_TMPFILE | os.O_RDWR, 0o600)
    source = temporary(rank)
    for name in NAMING:
        rank.put(source, rank.fx_view)
        for again in (False, True):
            native = name in LINKS and again
            rank.equal(rank.call(name, *arguments(name, source, rank.fx)), -1 if native else 0, 'result of ' + name)
            rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')
            no_drafts(rank)
            rank.put(source, rank.fx_view)
        away(source, rank.fx)
    rank.put(source, rank.fx_view)
    rank.put(rank.fx, b'theirs')
    rank.fail(errno.EEXIST, 'renameat2', AT_FDCWD, source, AT_FDCWD, rank.fx, NOREPLACE)
    rank.equal(rank.disk(rank.fx), b'theirs', 'the disk')
    away(rank.fx)
    os.mkdir(rank.fx)
    rank.fail(errno.EISDIR, 'rename', source, rank.fx)
    no_drafts(rank)


@case('rename', 'a rank killed at any step of a store leaves the entry or its own file, nothing else', prepare=fresh('fx'))
def killed(rank):
    probe = os.open(rank.fx_dir, os.O_TMPFILE | os.O_RDWR)
    os.close(probe)
    for name, number in SYSCALLS[os.uname().machine].items():
        source = temporary(rank)
        rank.put(source, rank.fx_view)
        child = os.fork()
        if child == 0:
            try:
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                rank.hash('fx')
                if die_at(number):
                    os.rename(source, rank.fx)
                    os._exit(1)
            finally:
                os._exit(2)
        status = os.waitpid(child, 0)[1]
        if status == 2 << 8:
            raise Skipped('no seccomp')
        if name != 'renameat2':  # rename() itself is another call where nothing has to be replaced
            rank.check(os.WIFSIGNALED(status), '%s: the rank lived on (%d)' % (name, status))
        nothing_raw(rank)
        left = rank.names(rank.fx_dir)
        rank.check(set(left) <= {os.path.basename(source), os.path.basename(rank.fx)}, 'left over: %s' % left)
        for path in (source, rank.fx):
            if os.path.exists(path):
                os.unlink(path)
