# SPDX-License-Identifier: Apache-2.0
"""Other preloaded libraries, tools and allocators beside us."""
import re

import fixture
from room import PYTHON, Failed, library, scenario, short


def orders(other):
    """LD_PRELOAD with OTHER before and behind us."""
    return other + ' ' + fixture.LIBRARY, fixture.LIBRARY + ' ' + other


@scenario('other interposers: a constructor that opens files, before and behind us')
def constructors(room):
    helper = room.compile('early.c', 'early.so', '-shared', '-fPIC', '-ldl')
    expected = room.run(['/bin/true'], 'plain', LD_PRELOAD=helper)
    if expected != (0, 'early: 1 1 1 1 1 1\n', ''):
        raise Failed('the helper itself: ' + short(expected))
    for order in orders(helper):
        for mode in ('inactive', 'active'):
            got = room.run(['/bin/true'], mode, LD_PRELOAD=order)
            if got != expected:
                raise Failed('%s: %s' % (mode, short(got)))
    for order in orders(helper):
        status, output, error = room.rank('read', room.details, room.fx, LD_PRELOAD=order)
        if (status, output, error) != (0, expected[1] + room.view() + '\n', ''):
            raise Failed('a rank: ' + short((status, output, error)))


@scenario('other interposers: each call reaches them once, before and behind us')
def stacked(room):
    helper = room.compile('stack.c', 'stack.so', '-shared', '-fPIC', '-U_FORTIFY_SOURCE', '-ldl')
    room.write('count-me', 'x')
    command = [PYTHON, '-c', 'import os, hashlib\nfor i in range(10): open("count-me").close(); os.stat("count-me")']
    expected = room.run(command, 'plain', LD_PRELOAD=helper)
    if not re.match(r'opens 10 stats [1-9]', expected[1]):
        raise Failed('the helper itself: ' + short(expected))
    for order in orders(helper):
        got = room.run(command, 'active', LD_PRELOAD=order)
        if got != expected:
            raise Failed('plain %s, preloaded %s' % (short(expected[1]), short(got)))


def allocator(name, *libraries):
    @scenario('allocator: %s before and behind the library' % name)
    def run(room):
        for order in orders(library(*libraries)):
            room.is_view(room.rank('threads', room.details, room.fx, LD_PRELOAD=order))


allocator('jemalloc', 'libjemalloc.so.2')
allocator('tcmalloc', 'libtcmalloc_minimal.so.4', 'libtcmalloc.so.4')
