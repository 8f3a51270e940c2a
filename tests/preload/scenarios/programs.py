# SPDX-License-Identifier: Apache-2.0
"""Programs in programs/ that use the calls we stand in front of in every way: the same output as without
the library, as a program of their own and inside a Python that has hashed details."""
import os
import shutil

from room import PYTHON, RANK, Failed, compare, need, scenario

# (source, further compiler flags, arguments; {entry} is an FX entry, whether it says only what a rank on
# another device may see of its views)
PROGRAMS = (
    ('files.c', (), ('{entry}',), False),
    ('smallstack.c', ('-pthread',), ('{entry}',), True),
)


def words(room, arguments):
    return [word.format(entry=room.fx, root=room.root) for word in arguments]


def put(room, ordinal):
    """The entry becomes that of ORDINAL, as a native run on that device leaves it."""
    shutil.copyfile(room.told['views'][str(ordinal)]['fx'], room.fx)


def add_program(source, flags, arguments, views):
    name = os.path.splitext(source)[0]

    @scenario('program: %s' % name)
    def alone(room):
        room.same([room.compile(source, name, *flags), *words(room, arguments)])
        room.no_segment()

    def command(room, ordinal):
        library = room.compile(source, name + '.so', *flags, '-shared', '-fPIC', '-Dmain=program')
        return [PYTHON, RANK, 'inside', library, room.told['details'][str(ordinal)]['fx'], *words(room, arguments)]

    @scenario('program: %s inside a rank on cuda:0' % name)
    def inside(room):
        """The entry's canonical form is what this rank sees, so nothing at all may differ."""
        room.same(command(room, 0))
        if not room.segments():
            raise Failed('no segment: the library saw no rank')

    if views:
        @scenario('program: %s inside a rank on cuda:11' % name)
        def viewed(room):
            program = command(room, 11)
            put(room, 11)
            plain = room.run(program, 'plain')
            put(room, 0)
            compare('active', plain, room.run(program, 'active'))


for line in PROGRAMS:
    add_program(*line)


@scenario('program: files under musl')
def musl(room):
    need('musl-gcc')
    room.same([room.compile('files.c', 'files', compiler='musl-gcc'), room.fx])
    room.no_segment()
