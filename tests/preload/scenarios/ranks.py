# SPDX-License-Identifier: Apache-2.0
"""Small ranks: each sees its view, whatever stands around it."""
import os
import resource

from room import PYTHON, Failed, scenario, short


@scenario('rank: sees its view; a plain process sees the canonical entry')
def rank_view(room):
    room.is_view(room.rank('read', room.details, room.fx))
    plain = room.rank('read', room.told['details']['0']['fx'], room.fx, mode='plain')
    if plain[1].strip() != room.view(0):
        raise Failed('a plain process saw ' + short(plain[1]))


@scenario('rank: 16 threads')
def rank_threads(room):
    room.is_view(room.rank('threads', room.details, room.fx))


@scenario('rank: fork, exec, vfork, posix_spawn')
def rank_spawn(room):
    room.is_view(room.rank('spawn', room.details, room.fx), times=5)


@scenario('rank: stores, then a plain process on the same directory loads')
def rank_stores(room):
    os.unlink(room.fx)
    result = room.rank('store', room.details, room.fx, room.told['views']['11']['fx'])
    if result != (0, 'stored\n', ''):
        raise Failed(short(result))
    plain = room.rank('read', room.told['details']['0']['fx'], room.fx, mode='plain')
    if plain != (0, room.view(0) + '\n', ''):
        raise Failed('a plain process saw ' + short(plain[1]))
    room.is_view(room.rank('read', room.details, room.fx))


@scenario('rank: an unwritable cache directory fails as it does natively')
def rank_unwritable(room):
    os.unlink(room.fx)
    folder = os.path.dirname(room.fx)
    os.chmod(folder, 0o555)
    drop = ['65534'] if os.geteuid() == 0 else []
    room.open_to_others()
    results = [room.rank('store', room.details, room.fx, room.told['views']['11']['fx'], *drop, mode=mode)
               for mode in ('plain', 'active')]
    if results[0] != (0, 'Permission denied\n', '') or results[1] != results[0]:
        raise Failed('plain %s, preloaded %s' % (short(results[0]), short(results[1])))


@scenario('rank: PYTHONMALLOC=debug and a tiny stack')
def debug_malloc(room):
    small = 1 << 20
    room.is_view(room.rank('threads', room.details, room.fx, PYTHONMALLOC='debug',
                           preexec=lambda: resource.setrlimit(resource.RLIMIT_STACK, (small, small))))


SMALL_FILES = '''
import hashlib, os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, programs around a Python may not
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
hashlib.sha256(open(sys.argv[2], "rb").read()).digest()
try:
    data = open(sys.argv[3], "rb").read()
except OSError as error:
    data = error.strerror.encode()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
os.write(1, data)
'''


@scenario('rank: file size limits: a miss, never the raw bytes, never a signal')
def file_limit(room):
    for limit in (0, 1, 1024):
        got = room.run([PYTHON, '-c', SMALL_FILES, str(limit), room.details, room.fx], 'active')
        if got != (0, 'No such file or directory', ''):
            raise Failed('%d bytes: %s' % (limit, short(got)))
    # The log, too: what does not fit is not written.
    room.write(os.path.basename(room.log), 'x' * 1000)
    room.run([PYTHON, '-c', SMALL_FILES, '1024', room.details, room.fx], 'active')
    if os.path.getsize(room.log) > 1024:
        raise Failed('the log grew past the limit')


@scenario('rank: closed standard descriptors stay closed')
def closed(room):
    program = ('import os, sys, hashlib\nhashlib.sha256(open(sys.argv[1], "rb").read()).digest()\n'
               'os.closerange(0, 3)\nfd = os.open(sys.argv[2], os.O_RDONLY)\n'
               'data = os.read(fd, 1 << 24)\nsize = os.fstat(fd).st_size\n'
               'open(sys.argv[3], "w").write("%d %d %d" % (fd, len(data), size))\n')
    for mode, ordinal in (('plain', 0), ('active', 11)):
        out = os.path.join(room.folder, 'out-' + mode)
        room.run([PYTHON, '-c', program, room.details, room.fx, out], mode)
        size = os.path.getsize(room.told['views'][str(ordinal)]['fx'])
        with open(out) as text:
            said = text.read()
        if said != '0 %d %d' % (size, size):
            raise Failed('%s: %s, expected descriptor 0 and %d bytes' % (mode, said, size))

