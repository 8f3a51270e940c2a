# SPDX-License-Identifier: Apache-2.0
"""What a load gets: the table of modules, with real images in front of a driver that only remembers."""
import json
import os

from room import TOOL, TOP, Failed, case, run

IMAGES = os.path.join(TOP, 'tests', 'data', 'images')


def image(name):
    return os.path.join(IMAGES, name)


def modules(room):
    document = json.loads(run([TOOL, 'stats', '--modules', '--json', '--segment', room.segment]))
    return {module['hash']: module for module in document['modules']}, document['total']


def load(room, steps, rank=0, **environment):
    """Runs tests/preload/cuda/load with STEPS as a rank; what it prints is that of a plain run."""
    command = [room.program('load')] + [str(step) for step in steps]
    plain = room.run(command, 'plain', more=environment)
    got = room.run(command, 'active', more=dict(environment, RANK=str(rank)))
    room.compare(plain, got, 'active')
    return plain


def expect(what, got, wanted):
    if got != wanted:
        raise Failed('%s: %s, not %s' % (what, got, wanted))


def one(table):
    expect('modules', len(table), 1)
    return next(iter(table.values()))


@case('modules: equal bytes are one module, whoever loads them and from where')
def content(room):
    cubin = image('plain.sm_90.cubin')
    for rank in (0, 5, 5):
        load(room, ['memory', cubin, 'heap', cubin, 'file', cubin, 'library', cubin], rank)
    table, total = modules(room)
    module = one(table)
    expect('module', {key: module[key] for key in ('kind', 'arch', 'library', 'loads', 'failed', 'ranks', 'refused_by')},
           {'kind': 'cubin', 'arch': 'sm_90', 'library': False, 'loads': 12, 'failed': 0, 'ranks': 2, 'refused_by': None})
    expect('size', module['size'], os.path.getsize(cubin))
    expect('total', {key: total[key] for key in ('modules', 'loads', 'copies', 'copied_bytes')},
           {'modules': 1, 'loads': 12, 'copies': 1, 'copied_bytes': os.path.getsize(cubin)})
    room.counted(loads_file=3, loads_dlsym=12, loads_unknown=0, loads_mapped=0)


@case('modules: kernels and architectures are those of the images')
def facts(room):
    names = ('plain.sm_80.cubin', 'plain.sm_90a.cubin', 'lines.sm_100f.cubin', 'kernels.sm_80.ptx', 'zstd.fatbin', 'lz4.fatbin')
    load(room, [word for name in names for word in ('heap', image(name))])
    table, _ = modules(room)
    got = sorted((module['kind'], module['arch'] or '') for module in table.values())
    expect('kinds', got, [('cubin', 'sm_100'), ('cubin', 'sm_80'), ('cubin', 'sm_90a'), ('fatbin', ''), ('fatbin', ''), ('ptx', 'sm_80')])
    for module in table.values():
        if module['kind'] != 'fatbin' and not (module['kernel'] and module['kernels'] > 0):
            raise Failed('no kernel: %s' % module)


@case('modules: an image at the very end of what is mapped, and images that are none')
def ends(room):
    for name in ('plain.sm_90.cubin', 'kernels.sm_80.ptx', 'zstd.fatbin'):
        load(room, ['edge', image(name)])
        load(room, ['cut', image(name)])
    table, _ = modules(room)
    expect('modules', len(table), 3)
    load(room, ['null', '-', 'garbage', '-', 'unmapped', '-'])
    # Cut images and the three that are none: as the driver was given them, and not known.
    room.counted(loads_unknown=6, loads_dlsym=9)


@case('modules: the driver refuses code for another device, and the reason is told by name')
def foreign(room):
    cubin = image('plain.sm_80.cubin')
    load(room, ['refused209', cubin, 'refused200', image('plain.sm_90.cubin'), 'refused2', cubin])
    table, _ = modules(room)
    by_arch = {module['arch']: module for module in table.values()}
    expect('sm_80', (by_arch['sm_80']['refused_by'], by_arch['sm_80']['failed'], by_arch['sm_80']['loads']), (90, 2, 0))
    expect('sm_90', (by_arch['sm_90']['refused_by'], by_arch['sm_90']['failed']), (None, 1))
    room.counted(loads_failed=3, loads_foreign=1)
    sentence = 'a cubin for sm_80, which devices of compute capability 9.0 do not run'
    with open(os.path.join(room.folder, 'log')) as log:
        if sentence not in log.read():
            raise Failed('not in the log')
    if sentence not in run([TOOL, 'stats', '--segment', room.segment]):
        raise Failed('not in stats')


@case('modules: the driver is asked only when it has refused')
def asked(room):
    cubin = image('plain.sm_90.cubin')
    text = load(room, ['heap', cubin, 'file', cubin, 'questions', '-'])
    if not text.endswith('questions 0\n'):
        raise Failed(text)
    command = [room.program('load'), 'refused209', cubin, 'questions', '-']
    got = room.run(command, 'active')
    if not got.endswith('questions 3\n'):
        raise Failed(got)


@case('modules: code in a loaded library is known by the library, and never read')
def mapped(room):
    for rank in (0, 1):
        load(room, ['inside', room.program('embedded.so')], rank)
    table, _ = modules(room)
    module = one(table)
    expect('module', (module['library'], module['loads'], module['ranks'], module['kernel']), (True, 4, 2, None))
    room.counted(loads_mapped=4, loads_unknown=0)


@case('modules: more than 8 MB are counted and not hashed')
def large(room):
    load(room, ['large', '-'])
    table, _ = modules(room)
    expect('modules', len(table), 0)
    room.counted(loads_large=1)


@case('modules: a pipe by a module\'s name is not opened')
def pipe(room):
    path = os.path.join(room.folder, 'pipe')
    os.mkfifo(path)
    holder = os.open(path, os.O_RDWR)
    try:
        load(room, ['file', path])
    finally:
        os.close(holder)
    room.counted(loads_file=1, loads_unknown=1)


@case('modules: no room for a segment, and the loads go on')
def no_segment(room):
    cubin = image('plain.sm_90.cubin')
    command = ['/bin/sh', '-c', 'ulimit -f 0; exec "$0" "$@"', room.program('load'), 'heap', cubin, 'file', cubin]
    room.compare(room.run(command, 'plain'), room.run(command, 'active', more={'RANKSHARE_LOG': ''}), 'active')
    expect('counters', room.counters(), {})


@case('modules: what can\'t be listed gets its name when a kernel is looked up')
def named(room):
    text = load(room, ['kernel-scale', image('zstd.fatbin'), 'kernel-other', image('plain.sm_90.cubin')], OTHER=image('lz4.fatbin'))
    expect('look-ups', text, 'look up 0 0\nlook up 0 0\n')
    table, _ = modules(room)
    got = sorted((module['kind'], module['size'], module['kernel']) for module in table.values())
    sizes = {name: os.path.getsize(image(name)) for name in ('zstd.fatbin', 'lz4.fatbin', 'plain.sm_90.cubin')}
    expect('names', got, sorted([('fatbin', sizes['zstd.fatbin'], 'scale'), ('fatbin', sizes['lz4.fatbin'], 'scale'),
                                 ('cubin', sizes['plain.sm_90.cubin'], 'scale')]))
    room.counted(functions=8)
