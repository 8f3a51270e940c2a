# SPDX-License-Identifier: Apache-2.0
"""Debuggers, checkers and sanitizers, which bring interposers and loaders of their own."""
import os
import re

import fixture
from room import PYTHON, RANK, Failed, Skipped, compare, library, need, scenario, short

MODES = ('inactive', 'active')


def told(text):
    """Without numbers of processes and addresses, which differ between two runs anyway."""
    return re.sub(r'0x[0-9a-f]+|==\d+==|\(LWP \d+\)|process \d+|[^ ]*librankshare.so|[^ ]*trivial.so', 'N', text)


@scenario('tools: gdb, a breakpoint in a program under the library')
def gdb(room):
    need('gdb')
    source = room.write('p.c', '#include <stdio.h>\n#include <sys/stat.h>\nint work(int n) { struct stat s; return stat("/", &s) + n; }\n'
                               'int main(void) { printf("%d\\n", work(41) + work(1)); return 3; }\n')
    program = room.compile(source, 'p', '-g', '-O0')
    said = []
    for mode in ('plain', *MODES):
        environment = room.environment(mode)
        command = ['gdb', '--batch', '-nx', '-ex', 'set startup-with-shell off', '-ex', 'break work']
        for name in ('LD_PRELOAD', 'RANKSHARE', 'RANKSHARE_SEGMENT'):
            if name in environment:
                command += ['-ex', 'set environment %s %s' % (name, environment[name])]
        command += ['-ex', 'run', '-ex', 'print n', '-ex', 'backtrace', '-ex', 'delete', '-ex', 'continue', program]
        said.append(room.run(command, 'plain', DEBUGINFOD_URLS=''))
    if '$1 = 41' not in said[0][1]:
        raise Skipped('gdb does not work here: ' + short(said[0][2]))
    for mode, got in zip(MODES, said[1:]):
        compare(mode, [said[0][0], *map(told, said[0][1:])], [got[0], *map(told, got[1:])])


@scenario('tools: valgrind finds nothing in small programs')
def valgrind(room):
    need('valgrind')
    for program in (['/bin/ls', 'root'], [room.compile('descriptors.c', 'p'), room.fx]):
        command = ['valgrind', '-q', '--error-exitcode=99', '--leak-check=no', *program]
        plain = room.run(command, 'plain')
        if plain[0] == 99 or 'valgrind:' in plain[2]:
            raise Skipped('it finds something without us: ' + short(plain[2]))
        for mode in MODES:
            compare(mode, plain, room.run(command, mode))


@scenario('tools: a rank under valgrind: no other findings than without us', long=True)
def valgrind_rank(room):
    """Python itself makes valgrind complain here and there; what counts is in which functions."""
    need('valgrind')
    report = os.path.join(room.folder, 'memcheck')
    found = []
    for mode in ('plain', 'active'):
        command = ['valgrind', '--leak-check=no', '--log-file=' + report, PYTHON, RANK, 'job', room.details, room.root,
                   room.told['views']['11']['fx']]
        status, output, _ = room.run(command, mode, PYTHONMALLOC='malloc', deadline=600)
        with open(report, errors='replace') as lines:
            text = lines.read()
        if status or 'right' not in output or 'ERROR SUMMARY' not in text:
            raise (Failed if found else Skipped)(short((mode, status, output, text)))
        found.append(set(re.findall(r' at 0x[0-9A-F]+: (.*)', text)))
    if found[1] - found[0]:
        raise Failed(short(sorted(found[1] - found[0])))


def sanitizer(name, runtime, **options):
    """A program made with gcc -fsanitize=NAME, which wants its RUNTIME loaded first."""
    @scenario('tools: a program with -fsanitize=%s' % name)
    def run(room):
        try:
            program = room.compile('files.c', 'p', '-fsanitize=' + name, '-g')
        except Failed as failure:
            raise Skipped('it does not build: ' + str(failure)[-200:])
        command = [program, room.fx]
        files = set(os.listdir(room.folder))

        def answer(mode, **more):
            status, output, error = room.run(command, mode, **more)
            room.forget(files | {'trivial.so'})
            return status, output, told(error)
        plain = answer('plain', **options)
        trivial = room.compile(room.write('trivial.c', 'int trivial_library;\n'), 'trivial.so', '-shared', '-fPIC')
        files.add('trivial.c')
        # Some runtimes refuse to stand behind any other library: no less, and no more, because of us.
        other = answer('plain', LD_PRELOAD=trivial, **options)
        for mode in MODES:
            compare(mode + ', as with any preloaded library', other, answer(mode, **options))
        first = library(runtime)
        expected = answer('plain', LD_PRELOAD=first, **options)
        if expected[0] != plain[0]:
            raise Failed('the helper itself: %s, %s' % (short(plain), short(expected)))
        for mode in MODES:
            compare(mode + ', its runtime first', expected, answer(mode, LD_PRELOAD=first + ' ' + fixture.LIBRARY, **options))


sanitizer('address', 'libasan.so.*', ASAN_OPTIONS='detect_leaks=0')
sanitizer('thread', 'libtsan.so.*')
sanitizer('undefined', 'libubsan.so.*')


@scenario('tools: an AddressSanitizer program behind the library, when it is told not to mind')
def asan_behind(room):
    try:
        program = room.compile('files.c', 'p', '-fsanitize=address')
    except Failed as failure:
        raise Skipped('it does not build: ' + str(failure)[-200:])
    room.same([program, room.fx], ASAN_OPTIONS='verify_asan_link_order=0:detect_leaks=0')


def beside(name, where, **more):
    """A rank beside another interposer of the same calls, before and behind it."""
    @scenario('tools: a rank and %s' % name)
    def run(room):
        other = library(where)
        settings = {key: value.format(folder=room.folder) for key, value in more.items()}
        if room.run(['/bin/true'], 'plain', LD_PRELOAD=other, **settings)[0]:
            raise Skipped('it does not work here')
        for order in (other + ' ' + fixture.LIBRARY, fixture.LIBRARY + ' ' + other):
            room.is_view(room.rank('read', room.details, room.fx, LD_PRELOAD=order, **settings))
            room.is_view(room.rank('threads', room.details, room.fx, LD_PRELOAD=order, **settings))


beside('libfaketime', 'faketime/libfaketime.so.1', FAKETIME='-10d')
beside('fakechroot with nothing of its own', 'fakechroot/libfakechroot.so', FAKECHROOT_EXCLUDE_PATH='/')
