# SPDX-License-Identifier: Apache-2.0
"""The segment's place is taken by something else."""
import os
import re
import stat
import zlib

from environment import unshared
from room import PYTHON, RANK, Failed, Skipped, scenario, short


def with_segment(name, make, check=None):
    """MAKE(path, genuine bytes) puts something in the segment's place; a rank must go on as without."""
    @scenario('segment: ' + name)
    def run(room):
        path = room.segment_path()
        with open(path, 'rb') as data:
            genuine = data.read()
        os.unlink(path)
        if os.path.exists(room.log):
            os.unlink(room.log)
        make(path, genuine)
        before = describe(path)
        room.is_view(room.rank('read', room.details, room.fx, deadline=20))
        if describe(path) != before:
            raise Failed('what lay there was changed: %s, now %s' % (before, describe(path)))
        with open(room.log) as lines:
            if not any('segment ' in line for line in lines):
                raise Failed('the log does not say what is wrong with the segment')
        if check:
            check(path)


def describe(path):
    information = os.lstat(path)
    content = None
    if stat.S_ISREG(information.st_mode):
        with open(path, 'rb') as data:
            content = zlib.crc32(data.read())
    return information.st_ino, information.st_mode, information.st_uid, information.st_size, content


def put(path, data, mode=0o600, size=None):
    with open(path, 'wb') as out:
        out.write(data)
        if size is not None:
            out.truncate(size)
    os.chmod(path, mode)


def patch(offset, data):
    return lambda path, genuine: put(path, genuine[:offset] + data + genuine[offset + len(data):])


def foreign(path, genuine):
    if os.geteuid() != 0:
        raise Skipped('not root')
    put(path, genuine)
    os.chown(path, 65534, 65534)


def no_target(path):
    if os.path.exists(path + '.target'):
        raise Failed('the target of the link was made')


with_segment('zeros', lambda path, genuine: put(path, b'', size=len(genuine)))
with_segment('an empty file', lambda path, genuine: put(path, b''))
with_segment('text', lambda path, genuine: put(path, b'not a segment\n' * 100))
with_segment('wrong magic', patch(0, b'\xff' * 8))
with_segment('another layout', patch(8, b'\x63\0\0\0'))
with_segment('cut short behind the header', lambda path, genuine: put(path, genuine[:4096]))
with_segment('a page short', lambda path, genuine: put(path, genuine[:-4096]))
with_segment('writable by everyone', lambda path, genuine: put(path, genuine, 0o666))
with_segment("another user's", foreign)
with_segment('a symbolic link to nowhere', lambda path, genuine: os.symlink(path + '.target', path), no_target)
with_segment('a directory', lambda path, genuine: os.mkdir(path))
with_segment('a FIFO', lambda path, genuine: os.mkfifo(path, 0o600))


@scenario('segment: a link to a genuine one is not followed')
def linked_segment(room):
    path = room.segment_path()
    os.rename(path, path + '.real')
    try:
        os.symlink(path + '.real', path)
        before = describe(path + '.real')
        room.is_view(room.rank('read', room.details, room.fx))
        if describe(path + '.real') != before:
            raise Failed('the target was written')
    finally:
        os.unlink(path + '.real')


@scenario('segment: mode 0600, and made by ranks only')
def segment_mode(room):
    for command in ('ls', 'bash -c ls', '%s -c "import hashlib; hashlib.sha256(bytes(9))"' % PYTHON):
        room.run(command, 'active')
        if room.segments():
            raise Failed('%s made a segment' % command)
    mode = stat.S_IMODE(os.stat(room.segment_path()).st_mode)
    if mode != 0o600:
        raise Failed('mode %o' % mode)


@scenario('segment: a name that cannot be used means the default one')
def bad_name(room):
    # The default segment of this user is not a test's to make: a /dev/shm of its own.
    prefix = unshared('mount -t tmpfs shm /dev/shm')
    if room.run([*prefix, 'true'], 'plain')[0]:
        raise Skipped('no mounts here')
    for name in ('a/b', '../x', 'x' * 300):
        status, output, error = room.run([*prefix, 'sh', '-c', '"$@"; cd /dev/shm; ls -A', 'sh', PYTHON, RANK, 'read',
                                          room.details, room.fx], 'active', RANKSHARE_SEGMENT=name)
        lines = output.splitlines()
        if (status, error, lines[:1], len(lines)) != (0, '', [room.view()], 2) or \
                not re.fullmatch(r'rankshare\.\d+\.\d+', lines[1]):
            raise Failed(short((status, output, error)))

