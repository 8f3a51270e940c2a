# SPDX-License-Identifier: Apache-2.0
"""Programs in programs/ that use the calls we stand in front of in every way: the same output as without
the library, as a program of their own and inside a Python that has hashed details."""
import os

from room import PYTHON, RANK, Failed, Skipped, compare, need, scenario

# (source, further compiler flags, arguments; {entry} is an FX entry)
PROGRAMS = (
    ('files.c', (), ('{entry}',)),
)


def words(room, arguments):
    return [word.format(entry=room.fx, root=room.root) for word in arguments]


def add_program(source, flags, arguments):
    name = os.path.splitext(source)[0]

    @scenario('program: %s' % name)
    def alone(room):
        room.same([room.compile(source, name, *flags), *words(room, arguments)])
        room.no_segment()

    @scenario('program: %s inside a rank on cuda:0' % name)
    def inside(room):
        """The entry's canonical form is what this rank sees, so nothing at all may differ."""
        library = room.compile(source, name + '.so', *flags, '-shared', '-fPIC', '-Dmain=program')
        command = [PYTHON, RANK, 'inside', library, room.told['details']['0']['fx'], *words(room, arguments)]
        room.same(command)
        if not room.segments():
            raise Failed('no segment: the library saw no rank')


for line in PROGRAMS:
    add_program(*line)


@scenario('program: files under musl')
def musl(room):
    need('musl-gcc')
    room.same([room.compile('files.c', 'files', compiler='musl-gcc'), room.fx])
    room.no_segment()
