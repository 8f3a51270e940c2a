# SPDX-License-Identifier: Apache-2.0
"""Roads: every function, every answer of the driver, every version."""
import re

from room import Failed, VERSIONS, case, roles, table

CALL = re.compile(r'([\w -]+?) (cu\w+) (\d+): (\w+), (\d+) of (\d+) arguments, (\d+), made (\w+),')
COUNTER = {'dlsym': 'loads_dlsym', 'linked': 'loads_linked', 'next': 'loads_linked', 'default': 'loads_linked',
           'query': 'loads_query', 'query-1': 'loads_query'}


def books(text, counter):
    """What the library must count of the calls in TEXT, all made on one road."""
    bases = {row['name']: row['base'] for row in table()}
    kinds, sums = roles(), dict.fromkeys(('loads_linked', 'loads_dlsym', 'loads_query', 'loads_file', 'loads_failed',
                                          'unloads', 'functions', 'links'), 0)
    calls = CALL.findall(text)
    for _, name, _, reached, same, count, result, _ in calls:
        if bases.get(reached) != bases[name] or same != count:
            raise Failed('%s reached %s with %s of %s arguments' % (name, reached, same, count))
        role, good = kinds[reached], result == '0'
        if role in ('image', 'file'):
            sums[counter] += 1
            sums['loads_file'] += role == 'file'
            sums['loads_failed'] += not good
        elif role in ('unload', 'lookup', 'linked'):
            sums[{'unload': 'unloads', 'lookup': 'functions', 'linked': 'links'}[role]] += good
    return sums, len(calls)


def road(program, mode, version):
    @case('road %s of %s, driver %d' % (mode, program, version))
    def test(room):
        text = room.same([room.program(program), mode], version)
        sums, calls = books(text, COUNTER[mode])
        absent = len(re.findall(' absent$', text, re.M))
        if calls < 24 * (len(roles()) - absent) or not 0 <= absent < len(roles()):
            raise Failed('%d calls, %d functions absent' % (calls, absent))
        room.counted(**sums)


for which in VERSIONS:
    for each in ('dlsym', 'query', 'query-1'):
        if which >= 11030 or each == 'dlsym':
            road('roads', each, which)
for each in ('linked', 'dlsym', 'query', 'next', 'default'):
    road('roads-linked', each, VERSIONS[0])
for each in ('next', 'default'):
    road('roads', each, VERSIONS[0])


def asking(version):
    @case('answers of cuGetProcAddress: names, versions, flags; driver %d' % version)
    def test(room):
        text = room.same([room.program('roads'), 'questions'], version)
        kinds = roles()
        reached = re.findall(r'^\w+ \w*@\d+/\d: 0, status \d+, (cu\w+), \d+$', text, re.M)
        if version >= 12000 and set(reached) != set(kinds):
            raise Failed('reached only %s' % sorted(set(reached)))
        room.counted(loads_query=sum(kinds[name] in ('image', 'file') for name in reached), loads_dlsym=0, loads_linked=0)


for which in VERSIONS:
    asking(which)


@case('a driver that calls and asks for its own functions meets no hook')
def within(room):
    text = room.same([room.program('roads'), 'within'])
    sums, calls = books(text, 'loads_dlsym')
    if calls != 12:
        raise Failed('%d calls' % calls)
    room.counted(**sums)


@case('eight threads find the driver at once')
def threads(room):
    text = room.same([room.program('roads'), 'threads'])
    if text != 'threads: 0 wrong\n':
        raise Failed(text)
    kinds = roles()
    loads = sum(kind in ('image', 'file') for kind in kinds.values())
    room.counted(loads_dlsym=8 * 150 * loads, loads_query=8 * 150 * loads, loads_failed=8 * 100 * loads)


@case('fork: parent and child count for themselves')
def forked(room):
    text = room.same([room.program('roads'), 'fork'])
    room.counted(**books(text, 'loads_dlsym')[0])
    room.counted(loads_dlsym=4, loads_failed=1)


@case('time in the driver is the driver\'s')
def slow(room):
    room.same([room.program('roads'), 'slow'])
    spent = room.counters()['load_ns']
    if not 50e6 <= spent < 5e9:
        raise Failed('%d ns' % spent)


@case('libcuda closed by the program, and opened again')
def closed(room):
    text = room.same([room.program('roads'), 'closed'])
    room.counted(**books(text, 'loads_dlsym')[0])
    room.counted(loads_dlsym=2)
