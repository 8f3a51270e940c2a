# SPDX-License-Identifier: Apache-2.0
"""Ranks where the machine withholds something: other users, no /proc, no shared memory, no memfd, full disks."""
import errno
import os
import resource
import shutil
import sys

import fixture
from room import PYTHON, RANK, Failed, Skipped, need_root, scenario, short


def segment_of(room, uid):
    return room.segment_path().replace('rankshare.%d.' % os.geteuid(), 'rankshare.%d.' % uid)


@scenario('users: who drops its rights leaves the segment of its old user')
def users(room):
    need_root()
    room.open_to_others()
    mine, theirs = room.segment_path(), segment_of(room, 65534)
    status, output, error = room.rank('users', '65534', mine, room.details, room.told['details']['12']['fx'], room.fx)
    lines = output.splitlines()
    raw = room.view(0).split(' ', 1)[1]
    if status or error or len(lines) != 3:
        raise Failed(short((status, output, error)))
    if raw in output or not lines[0].endswith(' child True') or ' unchanged True' not in lines[2] or lines[1] != room.view():
        raise Failed(short(output))
    if not os.path.exists(theirs) or os.stat(theirs).st_uid != 65534:
        raise Failed('the child made no segment of its own')


def unshared(script):
    """A prefix for commands that run where the mounts of SCRIPT (for sh) have been made."""
    user = [] if os.geteuid() == 0 else ['-Ur']
    return ['unshare', *user, '-m', '--propagation', 'private', 'sh', '-ec', script + '\nexec "$@"', 'sh']


def denied(room, name, error):
    return [room.compile('deny.c', 'deny'), str(SYSTEM_CALLS[name][os.uname().machine]), str(error)]


SYSTEM_CALLS = {'memfd_create': {'x86_64': 319, 'aarch64': 279}}
READ_ONLY = 'for d in /tmp /var/tmp /dev/shm; do mount --bind $d $d; mount -o remount,bind,ro $d; done'
# The rank's own files stay where they are, and writable.
KEEP_ROOM = 'mount -t tmpfs kept /mnt; mkdir /mnt/room; mount --bind "$PWD" /mnt/room; '


def limit(what, value):
    return lambda: resource.setrlimit(what, (value, value))


def outcomes(room, prefix, preexec=None, empty=False):
    """What a rank's job says plainly and under the library, from the same files."""
    command = [*prefix, PYTHON, RANK, 'job', room.details, room.root, room.told['views']['11']['fx']]
    said = []
    for mode in ('plain', 'active'):
        shutil.rmtree(room.root)
        shutil.copytree(room.told['template'], room.root)
        if empty:
            os.unlink(room.fx)
        said.append(room.run(command, mode, preexec=preexec))
    return said


def add(name, make, expected, empty=False, preexec=None, long=False):
    """MAKE(room) gives the prefix of the command. EXPECTED: 'shared': the entry that lies there is taken;
    'native': all is as without the library; 'right': one of the two, or a miss and a store; 'safe': misses, too,
    where a plain rank would have hit."""
    @scenario('environment: ' + name, long)
    def run(room):
        prefix = make(room)
        if prefix and room.run([*prefix, 'true'], 'plain')[0]:
            raise Skipped('cannot be made here: ' + short(room.run([*prefix, 'true'], 'plain')[2]))
        plain, got = outcomes(room, prefix, preexec, empty)
        if plain[0] or 'right' not in plain[1] and 'not stored' not in plain[1]:
            raise Skipped('a plain rank fails, too: ' + short(plain))
        key = 'f' + room.view().split()[0]
        allowed = {'shared': [key + ' right\n'], 'native': [plain[1]],
                   'right': [key + ' right\n', plain[1], plain[1].replace(plain[1].split()[0], key)],
                   'safe': [got[1] if 'WRONG' not in got[1] else '']}[expected]
        if got[0] or got[2] != plain[2] or got[1] not in allowed:
            raise Failed('plain %s, preloaded %s' % (short(plain), short(got)))


for number in (errno.ENOSYS, errno.EPERM, errno.EACCES):
    add('no memfd (%s)' % errno.errorcode[number], lambda room, number=number: denied(room, 'memfd_create', number), 'shared')
add('no memfd and no place for temporary files',
    lambda room: unshared(KEEP_ROOM + READ_ONLY + '; mount --bind /mnt/room "$PWD"') + denied(room, 'memfd_create', errno.ENOSYS), 'native')
add('no /proc', lambda room: unshared('mkdir -p proc; mount --bind proc /proc'), 'native')
add('hidepid', lambda room: unshared('mount -t proc -o hidepid=2 proc /proc'), 'shared')
add('a read-only /dev/shm', lambda room: unshared('mount -t tmpfs -o ro shm /dev/shm'), 'shared')
add('no /dev/shm', lambda room: unshared('mkdir -p dev; touch dev/null; mount --bind /dev/null dev/null; mount --rbind dev /dev'), 'shared')
add('a full /dev/shm', lambda room: unshared('mount -t tmpfs -o size=64k shm /dev/shm; head -c 1M /dev/zero >/dev/shm/full 2>/dev/null || true'), 'shared')
add('a /dev/shm without a free inode', lambda room: unshared('mount -t tmpfs -o nr_inodes=1 shm /dev/shm'), 'shared')
for empty in (False, True):
    state = 'empty' if empty else 'filled'
    expected = 'native' if empty else 'shared'
    add('a read-only cache directory, ' + state, lambda room: unshared('mount --bind root root; mount -o remount,bind,ro root'),
        'right' if empty else expected, empty)
    add('a full disk, ' + state, lambda room: unshared(
        'mkdir -p disk; mount -t tmpfs -o size=4m disk disk; cp -r root/. disk; head -c 8M /dev/zero >disk/full 2>/dev/null || true; '
        'mount --bind disk root'), 'right' if empty else expected, empty)
for number in (4, 5, 6, 7, 8, 12):
    add('%d descriptors' % number, lambda room: [], 'right', preexec=limit(resource.RLIMIT_NOFILE, number), long=number % 2 == 0)
for megabytes in (28, 32, 40, 48, 64, 96):
    add('%d MB of address space' % megabytes, lambda room: [], 'safe', preexec=limit(resource.RLIMIT_AS, megabytes << 20),
        long=megabytes not in (28, 48))
add('no core files, no locked memory, few processes', lambda room: [], 'shared', preexec=lambda: (
    limit(resource.RLIMIT_CORE, 0)(), limit(resource.RLIMIT_MEMLOCK, 0)(), limit(resource.RLIMIT_SIGPENDING, 0)()))


@scenario('environment: a setuid Python, with the library from /etc/ld.so.preload')
def secure(room):
    """There the loader does not ask who the user is; the library does, and ignores the user's variables."""
    need_root()
    python = os.path.join(room.folder, 'python')
    shutil.copy(os.path.realpath(PYTHON), python)
    os.chmod(python, 0o4755)
    room.open_to_others()
    prefix = unshared('mkdir etc; cp -a /etc/. etc; echo %s >etc/ld.so.preload; mount --bind etc /etc' % fixture.LIBRARY)
    if room.run([*prefix, 'true'], 'plain')[0]:
        raise Skipped('no mounts here')
    drop = ('import os, sys\nos.setresuid(65534, 65534, 65534)\nos.execv(sys.argv[1], sys.argv[1:])')
    hashing = ('import base64, hashlib, os, sys\ndata = open(sys.argv[1], "rb").read()\n'
               'print(os.getuid() == os.geteuid(), base64.b32encode(hashlib.sha256(data).digest())[:51].decode().lower(), '
               '"librankshare" in open("/proc/self/maps").read())')
    said = []
    for words in ([], [PYTHON, '-c', drop]):
        shutil.rmtree(os.path.join(room.folder, 'etc'), ignore_errors=True)
        said.append(room.run([*prefix, *words, python, '-c', hashing, room.details], 'active', LD_PRELOAD=None,
                             PYTHONHOME=sys.base_prefix))
    canonical = room.view().split()[0]
    if said[1][1].split()[:1] != ['False']:
        raise Skipped('no setuid programs here: ' + short(said))
    if said[0][1].split() != ['True', canonical, 'True'] or said[1][1].split()[2:] != ['True'] or canonical in said[1][1]:
        raise Failed(short(said))


@scenario('environment: a rank that enters a chroot after its first key')
def chroot(room):
    """Another root, no /proc, the cache by another name: a miss at worst."""
    need_root()
    program = ('import hashlib, os, sys, zlib\nhashlib.sha256(open(sys.argv[1], "rb").read()).digest()\nos.chroot(sys.argv[2]); os.chdir("/")\n'
               'for path in sys.argv[3:]:\n try:\n  data = open(path, "rb").read(); print(len(data), zlib.crc32(data) & 0xffffffff, os.stat(path).st_size)\n'
               ' except OSError as error: print(error.strerror)')
    inside = os.path.relpath(room.fx, room.folder)
    command = [PYTHON, '-c', program, room.details, room.folder, '/' + inside, inside, '/nothing']
    plain, got = room.run(command, 'plain'), room.run(command, 'active')
    raw = plain[1].splitlines()[0]
    if got[0] or got[2] or plain[0] or raw in got[1] or got[1].splitlines()[2:] != ['No such file or directory']:
        raise Failed(short((plain, got)))


@scenario('environment: the first looks at what lies in a read-only directory, on the smallest stack')
def bring(room):
    """What is copied then needs more than any other look."""
    library = room.compile('smallbring.c', 'smallbring.so', '-pthread', '-shared', '-fPIC', '-Dmain=program')
    prefix = unshared('mount --bind root root; mount -o remount,bind,ro root')
    if room.run([*prefix, 'true'], 'plain')[0]:
        raise Skipped('no mounts here')
    fx, aot, group = (room.told[label] for label in ('fx', 'aot', 'group'))
    looks = [('d', os.path.dirname(fx)), ('o', fx), ('s', fx), ('d', os.path.dirname(aot)), ('o', aot), ('s', group), ('o', group)]
    for number, (letter, path) in enumerate(looks):
        own = {'RANKSHARE_DIR': os.path.join(room.folder, 'private%d' % number)}
        where = room.run([*prefix, PYTHON, '-c', 'import os; print(os.environ["TORCHINDUCTOR_CACHE_DIR"])'], 'active', **own)[1].strip()
        if not where.startswith(own['RANKSHARE_DIR']):
            raise Failed('not redirected: ' + short(where))
        said = room.run([*prefix, PYTHON, RANK, 'inside', library, room.details, letter, os.path.join(where, path)], 'active', **own)
        if said[0] or said[1] != '%s: there\nstatus 3\n' % letter:
            raise Failed('%s of %s: %s' % (letter, path, short(said)))
