# SPDX-License-Identifier: Apache-2.0
"""Programs in programs/ that use the calls we stand in front of in every way: the same output as without
the library, as a program of their own and inside a Python that has hashed details."""
import os
import shutil

from room import PYTHON, RANK, Failed, Skipped, compare, need, scenario, short

# (source, further compiler flags, arguments; {entry} is an FX entry; where else it runs: 0 inside a rank on
# cuda:0, 11 inside one on cuda:11, where it must say what it says of that rank's own entry)
PROGRAMS = (
    ('files.c', (), ('{entry}',), (0,)),
    ('smallstack.c', ('-pthread',), ('{entry}',), (0, 11)),
    ('descriptors.c', (), ('{entry}',), (0, 11)),
    ('signals.c', (), ('{entry}',), (0, 11)),
    ('children.c', (), ('{entry}',), (0, 11)),
    ('rings.c', (), ('{entry}',), (0,)),
    ('strict.c', (), ('{entry}',), ()),
    ('crash.c', (), ('{root}',), (0, 11)),
    ('cancelled.c', ('-pthread',), ('{entry}',), (0, 11)),
)


def words(room, arguments):
    return [word.format(entry=room.fx, root=room.root) for word in arguments]


def put(room, ordinal):
    """The entry becomes that of ORDINAL, as a native run on that device leaves it."""
    shutil.copyfile(room.told['views'][str(ordinal)]['fx'], room.fx)


def command(room, source, flags, arguments, ordinal):
    """SOURCE's program inside a rank."""
    library = room.compile(source, os.path.splitext(source)[0] + '.so', *flags, '-shared', '-fPIC', '-Dmain=program')
    return [PYTHON, RANK, 'inside', library, room.told['details'][str(ordinal)]['fx'], *words(room, arguments)]


def as_own(room, program, ordinal):
    """PROGRAM, inside a rank, says of cuda:0's entry what it says of the rank's own one without the library."""
    files = set(os.listdir(room.folder))
    put(room, ordinal)
    plain = room.run(program, 'plain')
    if 'status 3' not in plain[1]:
        raise Failed('the helper itself: ' + short(plain))
    room.forget(files)
    put(room, 0)
    compare('active', plain, room.run(program, 'active'))
    if not room.segments():
        raise Failed('no segment: the library saw no rank')


def add_program(source, flags, arguments, ordinals):
    name = os.path.splitext(source)[0]

    @scenario('program: %s' % name)
    def alone(room):
        status, _, _ = room.same([room.compile(source, name, *flags), *words(room, arguments)])
        room.no_segment()
        if status == 77:
            raise Skipped('it cannot run here')
        if status != 3:
            raise Failed('the helper itself ended with %d' % status)

    def inside(ordinal):
        @scenario('program: %s inside a rank on cuda:%d' % (name, ordinal))
        def run(room):
            as_own(room, command(room, source, flags, arguments, ordinal), ordinal)

    for ordinal in ordinals:
        inside(ordinal)


for line in PROGRAMS:
    add_program(*line)


@scenario('program: jump inside a rank on cuda:11')
def jump(room):
    driver = room.compile('jump.c', 'libcuda.so.1', '-shared', '-fPIC', '-DDRIVER', '-Wl,-soname,libcuda.so.1')
    as_own(room, command(room, 'jump.c', (driver, '-Wl,-rpath,$ORIGIN'), ('{entry}',), 11), 11)


@scenario('program: files under musl')
def musl(room):
    need('musl-gcc')
    room.same([room.compile('files.c', 'files', compiler='musl-gcc'), room.fx])
    room.no_segment()
