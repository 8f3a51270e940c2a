# SPDX-License-Identifier: Apache-2.0
"""What is loaded and what the artifact store keeps of it: one copy of what two processes load, and files from memory."""
import ctypes
import json
import os
import shutil
import struct

from cases_modules import expect, image, load, modules
from room import TOOL, Failed, Skipped, case, run

KEY = 'A' * 52  # a kernel's directory: base32 of 32 bytes


def artifacts(room):
    listed = json.loads(run([TOOL, 'ls', '--json', '--segment', room.segment]))['artifacts']
    return sorted((one['kind'], one['key']) for one in listed), listed


def objects(room):
    return json.loads(run([TOOL, 'stats', '--json', '--segment', room.segment]))['artifacts']['objects']


@case('stored: what two processes load, once, and under the hash that stats prints')
def twice(room):
    cubin, text = image('plain.sm_90.cubin'), image('kernels.sm_80.ptx')
    load(room, ['heap', cubin, 'heap', cubin, 'heap', text], 0)
    room.counted(modules_stored=0, artifact_puts=0)
    for rank in (1, 2, 3):
        load(room, ['heap', cubin, 'memory', cubin, 'heap', text, 'library', text], rank)
    room.counted(modules_stored=2, artifact_puts=2, artifact_no_room=0, artifact_busy=0)
    table, _ = modules(room)
    keys, listed = artifacts(room)
    expect('keys', keys, sorted((module['kind'], name + 32 * '0') for name, module in table.items()))
    for name, module in table.items():
        told = run([TOOL, 'inspect', '--segment', room.segment, name])
        if module['kernel'] not in told:
            raise Failed('no %s in what inspect says of %s:\n%s' % (module['kernel'], name, told))
    run([TOOL, 'verify', '--segment', room.segment])
    expect('bytes', sorted(one['bytes'] for one in listed), sorted(module['size'] for module in table.values()))


@case('stored: equal code from two directories is one object')
def meaning(room):
    for rank in (0, 1):
        load(room, ['heap', image('lines-one.sm_90.cubin'), 'heap', image('lines-two.sm_90.cubin')], rank)
    room.counted(modules_stored=2)
    expect('objects', objects(room), 3)  # two lists and one code
    expect('stored', [kind for kind, _ in artifacts(room)[0]], ['cubin', 'cubin'])


@case('stored: not what one process loads alone, nor fat binaries, libraries, failures, or with RANKSHARE_SIZE=0')
def left_out(room):
    cubin = image('plain.sm_90.cubin')
    for rank in (0, 1):
        load(room, ['heap', image('zstd.fatbin'), 'inside', room.program('embedded.so'), 'large', '-', 'refused209', cubin,
                    'null', '-', 'garbage', '-'], rank)
        load(room, ['heap', image('plain.sm_80.cubin')], rank, RANKSHARE_SIZE='0')
    load(room, ['heap', cubin, 'heap', cubin, 'heap', image('extra.sm_90.cubin')], 0)
    room.counted(modules_stored=0, artifact_puts=0, artifact_hits=0)
    expect('artifacts', artifacts(room)[0], [])


@case('stored: no room, and the loads go on; after three times nobody tries again')
def no_room(room):
    names = ('plain.sm_80.cubin', 'plain.sm_90.cubin', 'plain.sm_90a.cubin', 'extra.sm_90.cubin', 'factor.sm_90.cubin')
    for rank in (0, 1):
        load(room, [word for name in names for word in ('heap', image(name))], rank, RANKSHARE_SIZE='1')
    room.counted(modules_stored=0, artifact_no_room=3)


def cache(room, root='triton', name='plain.sm_90.cubin'):
    """A kernel in a cache: its root, and its cubin."""
    root = os.path.join(room.folder, root)
    path = os.path.join(root, KEY, 'kernel.cubin')
    os.makedirs(os.path.dirname(path))
    shutil.copyfile(image(name), path)
    with open(os.path.join(root, KEY, '__grp__kernel.json'), 'w') as out:
        json.dump({'child_paths': {'kernel.cubin': path}}, out)
    return root, path


def served(room, steps, rank, root, **environment):
    """How many loads came from memory; what the driver was asked."""
    before = room.counters().get('loads_served', 0)
    command = [room.program('load')] + [str(step) for step in steps] + ['trace', '-']
    settings = dict({'RANK': str(rank), 'TRITON_CACHE_DIR': root, 'RANKSHARE_READS': 'memory'}, **environment)
    told = room.run(command, 'active', more=settings)
    return room.counters()['loads_served'] - before, told.splitlines()[-1].split()[1:]


@case('from memory: a file of the cache, read once for the node')
def from_memory(room):
    root, path = cache(room)
    for rank in (0, 1):
        expect('rank %d' % rank, served(room, ['file', path, 'file-library', path], rank, root),
               (2, ['cuModuleLoadData', 'cuLibraryLoadData']))
    link = os.path.join(room.folder, 'link')
    os.symlink(root, link)
    expect('by another spelling', served(room, ['file', os.path.join(link, KEY, '..', KEY, 'kernel.cubin')], 3, root),
           (1, ['cuModuleLoadData']))
    room.counted(reads_filled=1, reads_served=4, loads_file=5, loads_unknown=0, loads_failed=0)
    table, _ = modules(room)
    expect('loads', [module['loads'] for module in table.values()], [5])


@case('from memory: not where RANKSHARE_READS says so, nor while a stream is captured')
def files(room):
    root, path = cache(room)
    served(room, ['file', path], 0, root)
    expect('files', served(room, ['file', path], 1, root, RANKSHARE_READS='files'), (0, ['cuModuleLoad']))
    expect('captured', served(room, ['capture', 'begin', 'file', path, 'capture', 'end', 'file', path], 1, root),
           (1, ['cuStreamBeginCapture_v2', 'cuModuleLoad', 'cuStreamEndCapture', 'cuModuleLoadData']))


@case('from memory: under Inductor\'s root, by the link of another ordinal')
def inductor(room):
    root, path = cache(room, os.path.join('inductor', 'triton', '0'))
    os.symlink('0', os.path.join(room.folder, 'inductor', 'triton', '3'))
    environment = {'TORCHINDUCTOR_CACHE_DIR': os.path.dirname(os.path.dirname(root))}
    for rank, name in ((0, path), (3, path.replace('/triton/0/', '/triton/3/')), (0, path)):
        expect(name, served(room, ['file', name], rank, '/nowhere', **environment), (1, ['cuModuleLoadData']))
    room.counted(reads_filled=1, reads_served=2)


@case('from memory: only while the file is the one that was read')
def another_file(room):
    root, path = cache(room)
    expect('first', served(room, ['file', path], 0, root), (1, ['cuModuleLoadData']))
    elsewhere = os.path.join(room.folder, 'kernel.cubin')
    os.rename(path, elsewhere)
    expect('gone', served(room, ['file', path], 2, root), (0, ['cuModuleLoad']))
    expect('outside of the cache', served(room, ['file', elsewhere], 2, root), (0, ['cuModuleLoad']))
    room.counted(loads_failed=1)  # the one that was gone
    shutil.copyfile(image('factor.sm_90.cubin'), path)
    expect('another', served(room, ['file', path], 2, root), (1, ['cuModuleLoadData']))
    room.counted(loads_failed=1, reads_filled=2)
    table, _ = modules(room)
    expect('loads', sorted((module['size'], module['loads']) for module in table.values()),
           sorted([(os.path.getsize(image('plain.sm_90.cubin')), 2), (os.path.getsize(image('factor.sm_90.cubin')), 1)]))


@case('from memory: no lone cubin, none that is too large, no other file')
def other_files(room):
    root, path = cache(room)
    os.unlink(os.path.join(root, KEY, '__grp__kernel.json'))
    text = os.path.join(root, KEY, 'kernel.ptx')
    shutil.copyfile(image('kernels.sm_80.ptx'), text)
    expect('lone', served(room, ['file', path, 'file', text], 0, root), (0, ['cuModuleLoad', 'cuModuleLoad']))
    with open(path, 'ab') as out:
        out.truncate(9 << 20)
    expect('large', served(room, ['file', path], 0, root), (0, ['cuModuleLoad']))
    expect('no store', served(room, ['file', path], 0, root, RANKSHARE_SIZE='0'), (0, ['cuModuleLoad']))


def opened(room, path, mode):
    """How often a pipe is opened and closed when a program has the driver load it."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch, events, size = libc.inotify_init1(os.O_NONBLOCK), 0x38, 4096  # closes, too: equal events in a row are one
    if watch < 0 or libc.inotify_add_watch(watch, os.fsencode(path), events) < 0:
        raise Skipped('no inotify')
    settings = {'TRITON_CACHE_DIR': os.path.dirname(os.path.dirname(path)), 'RANKSHARE_READS': 'memory'}
    writer = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # the driver waits for somebody there
    try:
        room.run([room.program('load'), 'file', path], mode, more=settings)
        return len(os.read(watch, size)) // struct.calcsize('iIII')
    finally:
        os.close(writer)
        os.close(watch)


@case('from memory: a pipe by such a name is for the driver alone')
def pipe(room):
    _, path = cache(room)
    os.unlink(path)
    os.mkfifo(path)
    expect('events', [opened(room, path, mode) for mode in ('plain', 'active')], [2, 2])


@case('from memory: no file that is cut short, nor one that is no cubin: memory has no end that the driver would see')
def cut(room):
    root, path = cache(room)
    size = os.path.getsize(path)
    for length in (size - 1, size // 2, 64, 1, 0):
        os.truncate(path, length)
        for rank in (0, 1):
            expect('%d bytes' % length, served(room, ['file', path, 'file-library', path], rank, root),
                   (0, ['cuModuleLoad', 'cuLibraryLoadFromFile']))
    for name in ('kernels.sm_80.ptx', 'zstd.fatbin'):
        shutil.copyfile(image(name), path)
        expect(name, served(room, ['file', path], 0, root), (0, ['cuModuleLoad']))
    shutil.copyfile(image('plain.sm_90.cubin'), path)
    expect('whole', served(room, ['file', path], 0, root), (1, ['cuModuleLoadData']))


@case('from memory: a kernel of `rankshare warm\', without a read')
def warmed(room):
    root, path = cache(room)
    run([TOOL, 'warm', '--segment', room.segment, root])
    expect('first', served(room, ['file', path], 0, root), (1, ['cuModuleLoadData']))
    room.counted(reads_filled=0, reads_served=1)
    before = objects(room)
    load(room, ['heap', path], 1)
    room.counted(modules_stored=1)
    expect('objects', objects(room), before + 1)  # a list; the code was there


def same(road):
    @case('from memory: every failure of the driver, %s' % road)
    def test(room):
        root, path = cache(room)
        environment = {'TRITON_CACHE_DIR': root, 'RANKSHARE_READS': 'memory'}
        command = [room.program('instead-linked' if road == 'linked' else 'instead'), road, path]
        plain = room.run(command, 'plain', more=environment)
        for mode in ('inactive', 'active'):
            room.compare(plain, room.run(command, mode, more=environment), mode)
        # Where nothing fails, twice two; where one data function fails, the other one; none where every cubin does.
        room.counted(loads_served=4 + 2 * 10 * 2)


for each in ('dlsym', 'query', 'linked'):
    same(each)
