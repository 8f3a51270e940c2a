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


@scenario('rank: file size limit of 1 KiB: a miss, never the raw bytes, never a signal')
def file_limit(room):
    status, output, error = room.rank('read', room.details, room.fx,
                                      preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)))
    if status or error or output.strip().split(' ', 1)[1:] == room.view(0).split(' ', 1)[1:]:
        raise Failed(short((status, output, error)))


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

