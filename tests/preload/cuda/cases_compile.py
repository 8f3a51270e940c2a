# SPDX-License-Identifier: Apache-2.0
"""PTX with RANKSHARE_PTX=1: what the driver is asked, what comes back, and when it is left alone."""
import glob
import json
import os
import re
import subprocess
import time

from cases_modules import expect, image, load
from room import DEADLINE, TOOL, VERSIONS, Failed, case, run

TEXT, CUBIN = image('kernels.sm_80.ptx'), image('plain.sm_90.cubin')
CLASS = ['cuDriverGetVersion', 'cuCtxGetDevice', 'cuDeviceGetAttribute', 'cuDeviceGetAttribute']
LINK = ['cuLinkCreate_v2', 'cuLinkAddData_v2', 'cuLinkComplete']
ALL = ['cuDeviceGetCount', 'cuDeviceGetAttribute', 'cuDeviceGetAttribute']
LOADS = {'data': 'cuModuleLoadData', 'ex': 'cuModuleLoadDataEx', 'library': 'cuLibraryLoadData'}


def steps(room, names, rank=0, road='dlsym', version=VERSIONS[0], **environment):
    """What the driver was asked in each step that asks; what comes back is that of a plain run."""
    program = room.program('compile-linked' if road == 'linked' else 'compile')
    command = [program, road, TEXT, CUBIN] + names
    environment = dict({'RANKSHARE_PTX': '1', 'RANK': str(rank)}, **environment)
    plain = room.run(command, 'plain', version, more=environment)
    got = room.run(command, 'active', version, more=environment)
    room.compare(re.sub('asked:.*', '', plain), re.sub('asked:.*', '', got), 'active')
    return [line.split()[1:] for line in re.findall('asked:.*', got)]


def compiles(function):
    return taken(function)[:-1] + LINK + [LOADS[function], 'cuLinkDestroy']


def taken(function):
    return CLASS + (ALL if function == 'library' else []) + [LOADS[function]]


def every(road, version=VERSIONS[0]):
    @case('PTX: every function, option and failure, %s, driver %d' % (road, version))
    def test(room):
        program = room.program('compile-linked' if road == 'linked' else 'compile')
        command = [program, road, TEXT, CUBIN]
        environment = {'RANKSHARE_PTX': '1', 'SAME': 'a'}
        plain = room.run(command, 'plain', version, more=environment)
        for mode in ('inactive', 'active'):
            room.compare(plain, room.run(command, mode, version, more=environment), mode)
        got = room.counters()
        # Which loads can be shared: of each function those without options; of two of them three kinds more. Compiled
        # where nothing fails, where only the end of the linker fails, and with a second device of the same kind; then
        # taken. What is asked of two devices matters to libraries alone.
        sets = {'data': 10, 'ex': 5, 'library': 4}
        good = {'data': 1 + 9 + 9 + 2, 'ex': 1 + 9 + 9 + 2, 'library': 1 + 9 + 1}
        number = sum(sets[function] * good[function] for function in sets)
        expect('compiled and taken', (got['ptx_compiled'], got['ptx_taken']), (number, number))
        expect('failed', got['loads_failed'], len(re.findall(r': [1-9]\d*, made', plain)) + 3)  # and three without a place for the result


every('dlsym')
every('query')
every('query-ptsz')
every('linked')


def shared(function, road):
    @case('PTX: compiled by one rank, taken by the others, %s, %s' % (function, road))
    def test(room):
        expect('first', steps(room, [function, function], 0, road), [compiles(function), taken(function)])
        for rank in (1, 2):
            expect('others', steps(room, [function], rank, road), [taken(function)])
        room.counted(ptx_compiled=1, ptx_taken=3, ptx_left=0, loads_failed=0, links=0)
        took = room.counters()['ptx_compile_ns']
        room.counted(ptx_saved_ns=3 * took)
        listed = json.loads(run([TOOL, 'ls', '--json', '--segment', room.segment]))['artifacts']
        one = [artifact for artifact in listed if artifact['kind'] == 'cubin']
        expect('bytes', [(artifact['bytes'], artifact['class']) for artifact in one],
               [(os.path.getsize(CUBIN), VERSIONS[0] << 32 | 9 << 8)])
        run([TOOL, 'verify', '--segment', room.segment])
        told = run([TOOL, 'stats', '--modules', '--segment', room.segment])
        if not re.search(r'PTX compiled for all: 1, .*; compiles saved: 3, some ', told):
            raise Failed(told)
        total = json.loads(run([TOOL, 'stats', '--modules', '--json', '--segment', room.segment]))['total']
        expect('total', (total['ptx_compiled'], total['ptx_taken']), (1, 3))


for each in LOADS:
    shared(each, 'dlsym')
    shared(each, 'query')
    shared(each, 'linked')


@case('PTX: what decides about the code is in its key')
def key(room):
    expect('devices, options', steps(room, ['minor=0', 'data', 'minor=1', 'data', 'minor=0', 'ex', 'registers=32', 'registers=64',
                                            'registers=32']),
           [compiles('data'), compiles('data'), taken('ex'), compiles('ex'), compiles('ex'), taken('ex')])
    expect('another driver', steps(room, ['data'], version=11030), [compiles('data')])
    room.counted(ptx_compiled=5, ptx_taken=2)


@case('PTX: left alone without the option, with others of the driver, with options that have results')
def left(room):
    steps(room, ['data'])
    expect('off', steps(room, ['data'], RANKSHARE_PTX='0'), [['cuModuleLoadData']])
    for name in ('CUDA_FORCE_JIT', 'CUDA_DISABLE_JIT', 'CUDA_FORCE_PTX_JIT', 'CUDA_DISABLE_PTX_JIT'):
        expect(name, steps(room, ['data'], **{name: '1'}), [['cuModuleLoadData']])
    expect('no store', steps(room, ['data'], RANKSHARE_SIZE='0'), [['cuModuleLoadData']])
    expect('log', steps(room, ['log']), [['cuModuleLoadDataEx']])
    room.counted(ptx_compiled=1, ptx_taken=0, ptx_left=6)


@case('PTX: nothing is asked of the driver while a stream is captured')
def capture(room):
    for road in ('dlsym', 'query', 'query-ptsz', 'linked'):
        begin, end = ['cuStreamBeginCapture_v2'], ['cuStreamEndCapture']
        if road == 'query-ptsz':
            begin, end = [begin[0] + '_ptsz'], [end[0] + '_ptsz']
        plain = ['cuModuleLoadData']
        steps(room, ['data'], 0, road)
        # One that fails to begin; two at once; ends that don't end it (wrong thread) and that do (invalidated).
        expect(road, steps(room, ['begin=900', 'data', 'begin=0', 'data', 'begin=0', 'end=0', 'data', 'end=908', 'data', 'end=901', 'data',
                                  'end=0', 'data'], 1, road),
               [begin, taken('data'), begin, plain, begin, end, plain, end, plain, end, taken('data'), end, taken('data')])
    room.counted(ptx_compiled=1)


@case('PTX: a library is for all devices')
def devices(room):
    # Devices of 9.1 and 9.0; two of 9.0.
    expect('library', steps(room, ['second=2', 'library', 'data', 'second=1', 'library']),
           [CLASS + ALL + ALL[1:] + ['cuLibraryLoadData'], compiles('data'), CLASS + ALL + ALL[1:] + ['cuLibraryLoadData']])
    room.counted(ptx_compiled=1, ptx_taken=1, ptx_left=1)


@case('PTX: what can\'t be compiled is tried once')
def once(room):
    tried = CLASS + LINK + ['cuLinkDestroy', 'cuModuleLoadData']
    expect('steps', steps(room, ['fails=218', 'data', 'data', 'fails=0', 'data']), [tried, ['cuModuleLoadData'], ['cuModuleLoadData']])
    expect('another process', steps(room, ['data'], 1), [compiles('data')])
    room.counted(ptx_compiled=1, ptx_left=3)


@case('PTX: code of a text that was written over meanwhile is for nobody else')
def overwritten(room):
    expect('steps', steps(room, ['overwritten', 'data', 'overwritten']), [compiles('data'), compiles('data'), taken('data')])
    room.counted(ptx_compiled=2, ptx_taken=1)


@case('PTX: a text that a library brings is the driver\'s')
def embedded(room):
    for rank in (0, 1):
        load(room, ['inside', room.program('embedded-text.so')], rank, RANKSHARE_PTX='1')
    room.counted(loads_mapped=4, ptx_compiled=0, ptx_taken=0, ptx_left=0)


@case('PTX: no room for the code, and it is used all the same')
def no_room(room):
    expect('steps', steps(room, ['data', 'data'], RANKSHARE_SIZE='1'), [compiles('data'), compiles('data')])
    room.counted(ptx_compiled=2, ptx_taken=0, artifact_no_room=2)


@case('PTX: nobody waits; loads that overlap all compile, and one code is kept')
def overlapping(room):
    gate = os.path.join(room.folder, 'gate')
    command = [room.program('compile'), 'dlsym', TEXT, CUBIN, 'data', 'data']
    ranks = [subprocess.Popen(command, stdout=subprocess.PIPE, universal_newlines=True,
                              env=room.environment('active', VERSIONS[0], None, {'RANKSHARE_PTX': '1', 'RANK': str(rank), 'FAKE_GATE': gate}))
             for rank in range(4)]
    deadline = time.monotonic() + DEADLINE
    while len(glob.glob(gate + '.*')) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    with open(gate, 'w'):
        pass
    for process in ranks:
        out, _ = process.communicate(timeout=DEADLINE)
        expect('asked', [line.split()[1:] for line in re.findall('asked:.*', out)], [compiles('data'), taken('data')])
    room.counted(ptx_compiled=4, ptx_taken=4, artifact_puts=2)  # the code and, as four processes have loaded it, the text
