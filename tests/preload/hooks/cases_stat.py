# SPDX-License-Identifier: Apache-2.0
"""The stat families and access: they say what open would give."""
import ctypes
import errno
import os
import stat

from cases import case
from rank import AT_FDCWD, AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, STAT_VERSION

PLAIN = ('stat', 'stat64', 'lstat', 'lstat64')
OLD = ('__xstat', '__xstat64', '__lxstat', '__lxstat64')
AT = ('fstatat', 'fstatat64')
OLD_AT = ('__fxstatat', '__fxstatat64')
STATS = PLAIN + OLD + AT + OLD_AT + ('statx',)
# Offsets of size and blocks: struct stat is the same here on x86-64 and aarch64.
SIZE, BLOCKS = 48, 64
STATX_SIZE, STATX_BLOCKS, STATX_BASIC = 40, 48, 0x7ff
MODE = {'x86_64': 24, 'aarch64': 16}[os.uname().machine]


def call_stat(rank, name, path, dirfd=AT_FDCWD, flags=0):
    """Calls any of the family: (result, size, blocks, mode)."""
    buffer = ctypes.create_string_buffer(512)
    if name == 'statx':
        result = rank.call(name, dirfd, path, flags, STATX_BASIC, buffer)
        at, width = (STATX_SIZE, STATX_BLOCKS, 28), (8, 8, 2)
    else:
        at, width = (SIZE, BLOCKS, MODE), (8, 8, 4)
        if name in PLAIN:
            arguments = [path, buffer]
        elif name in OLD:
            arguments = [STAT_VERSION, path, buffer]
        else:
            arguments = ([STAT_VERSION] if name in OLD_AT else []) + [dirfd, path, buffer, flags]
        result = rank.call(name, *arguments)
    values = [int.from_bytes(buffer.raw[a:a + w], 'little') for a, w in zip(at, width)]
    return [result] + values


def sizes(rank, name, path, expected, **more):
    result, size, blocks, mode = call_stat(rank, name, path, **more)
    rank.equal(result, 0, 'result for ' + os.path.basename(path))
    rank.equal(size, expected, 'size of ' + os.path.basename(path))
    rank.check(stat.S_ISREG(mode), 'not a regular file')
    return blocks


for hook in STATS:
    @case(hook, 'the size is that of the view', name=hook)
    def view_size(rank, name):
        rank.check(len(rank.fx_view) != len(rank.fx_raw), 'this view has the size of the entry: it shows nothing')
        blocks = sizes(rank, name, rank.fx, len(rank.fx_view))
        rank.equal(blocks, (len(rank.fx_view) + 511) // 512, 'blocks')
        sizes(rank, name, rank.aot, len(rank.aot_view))
        other = os.path.join(rank.fx_dir, 'other')
        rank.put(other, b'12345')
        sizes(rank, name, other, 5)

    @case(hook, 'absent is ENOENT, a damaged entry is absent', name=hook)
    def absent(rank, name):
        rank.equal(call_stat(rank, name, rank.fx[:-1] + '2')[0], -1, 'result for an absent entry')
        rank.equal(rank.errno, errno.ENOENT, 'errno')
        rank.put(rank.fx, rank.fx_raw[:len(rank.fx_raw) // 2])
        rank.equal(call_stat(rank, name, rank.fx)[0], -1, 'result for half an entry')
        rank.equal(rank.errno, errno.ENOENT, 'errno')

    @case(hook, 'the first look at a key', name=hook)
    def first_look(rank, name):
        rank.equal(call_stat(rank, name, rank.fx_dir)[0], 0, 'result')
        call_stat(rank, name, rank.fx_dir)
        rank.counts(fx_hits=1, fx_misses=0)

for hook in AT + OLD_AT + ('statx',):
    @case(hook, 'directory descriptors, and none where the name is empty', name=hook)
    def relative(rank, name):
        dirfd = os.open(rank.fx_dir, os.O_RDONLY | os.O_DIRECTORY)
        sizes(rank, name, os.path.basename(rank.fx), len(rank.fx_view), dirfd=dirfd)
        sizes(rank, name, os.path.basename(rank.fx), len(rank.fx_view), dirfd=dirfd, flags=AT_SYMLINK_NOFOLLOW)
        fd = os.open(rank.fx, os.O_RDONLY)
        sizes(rank, name, '', len(rank.fx_view), dirfd=fd, flags=AT_EMPTY_PATH)

for hook in ('access', 'faccessat'):
    def call_access(rank, name, path, mode, dirfd=AT_FDCWD, flags=0):
        return rank.call(name, *([dirfd, path, mode, flags] if name == 'faccessat' else [path, mode]))

    @case(hook, 'an entry is there, a damaged one is not', name=hook)
    def reachable(rank, name):
        for mode in (os.F_OK, os.R_OK):
            rank.equal(call_access(rank, name, rank.fx, mode), 0, 'an entry')
        rank.put(rank.fx, rank.fx_raw[:1000])
        for mode in (os.F_OK, os.R_OK):
            rank.equal(call_access(rank, name, rank.fx, mode), -1, 'half an entry')
            rank.equal(rank.errno, errno.ENOENT, 'errno')
        rank.equal(call_access(rank, name, rank.aot[:-1] + '2', os.F_OK), -1, 'an absent entry')
        rank.equal(rank.errno, errno.ENOENT, 'errno')
        if name == 'faccessat':
            dirfd = os.open(rank.aot_dir, os.O_RDONLY | os.O_DIRECTORY)
            rank.equal(call_access(rank, name, os.path.basename(rank.aot), os.R_OK, dirfd), 0, 'relative')

    @case(hook, 'the first look at a key', name=hook)
    def first_access(rank, name):
        rank.equal(call_access(rank, name, rank.fx_dir, os.F_OK), 0, 'result')
        rank.counts(fx_hits=1, fx_misses=0)

    @case(hook, 'agrees with open about writing', name=hook)
    def writable(rank, name):
        opens = rank.call('open', rank.fx, os.O_RDWR) >= 0
        rank.equal(call_access(rank, name, rank.fx, os.W_OK) == 0, opens, 'W_OK of an entry')
