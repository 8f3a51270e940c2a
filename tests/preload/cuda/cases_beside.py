# SPDX-License-Identifier: Apache-2.0
"""Other libraries beside us, libcuda late or absent, programs that have nothing to do with it."""
import glob
import os
import re
import sys

from cases import books
from room import CC, LIBRARY, TOOL, TOP, Failed, Skipped, case, run


def beside(program, mode, counter):
    @case('another library in front of the driver, %s of %s' % (mode, program))
    def test(room):
        other, command = room.program('beside.so'), [room.program(program), mode]
        plain = room.run(command, 'plain', preload=[other])
        for order in ([other, LIBRARY], [LIBRARY, other]):
            room.compare(plain, room.run(command, 'active', preload=order), ' '.join(order))
        sums, _ = books(plain, counter)
        room.counted(**{name: 2 * value for name, value in sums.items()})


beside('roads', 'dlsym', 'loads_dlsym')
beside('roads', 'query', 'loads_query')
beside('roads-linked', 'linked', 'loads_linked')
beside('roads-linked', 'next', 'loads_linked')


@case('a library with stubs of its own, which load libcuda at the first call')
def stubs(room):
    command = [sys.executable, '-c', 'import ctypes, sys; ctypes.CDLL(sys.argv[1]).use_the_driver()', room.program('stub.so')]
    text = room.same(command)
    if text != 'the stub loads libcuda\n' + 3 * '0 1\n':
        raise Failed(text)
    room.counted(loads_linked=3, loads_dlsym=0)


def installed(name):
    @case('beside %s, in both orders' % name)
    def test(room):
        found = [path for path in glob.glob('/usr/lib/*/%s' % name) + glob.glob('/usr/lib/*/faketime/%s' % name)]
        if not found:
            raise Skipped('not installed')
        for program, mode, counter in (('roads', 'query', 'loads_query'), ('roads-linked', 'linked', 'loads_linked')):
            command = [room.program(program), mode]
            plain = room.run(command, 'plain')
            before = room.counters()
            for order in ([found[0], LIBRARY], [LIBRARY, found[0]]):
                room.compare(plain, room.run(command, 'active', preload=order), ' '.join(order))
            sums, _ = books(plain, counter)
            room.counted(**{name: before.get(name, 0) + 2 * value for name, value in sums.items()})


installed('libjemalloc.so.2')
installed('libtcmalloc_minimal.so.4')
installed('libfaketime.so.1')


@case('libcuda absent: no program is any different')
def absent(room):
    for command in (['/bin/true'], ['/bin/ls', '/'], [sys.executable, '-c', 'import ctypes; print(hasattr(ctypes, "CDLL"))']):
        room.compare(room.run(command, 'plain'), room.run(command, 'active'), 'active')
    if glob.glob('/dev/shm/rankshare.*.' + room.segment):
        raise Failed('a segment was made')


ABSENT = '''
import ctypes
program = ctypes.CDLL(None)
try:
    print(program.cuModuleLoadData(None, None))
except AttributeError:
    print('no such function')
try:
    ctypes.CDLL('libcuda.so.1')
    print('a driver')
except OSError:
    print('no driver')
'''


@case('libcuda absent: our own names answer that there is nothing behind them')
def nothing_behind(room):
    command = [sys.executable, '-c', ABSENT]
    if 'no driver' not in room.run(command, 'plain', version='none'):
        raise Skipped('this machine has a driver')
    for mode in ('inactive', 'active'):
        got = room.run(command, mode, version='none')
        if got != '302\nno driver\n':
            raise Failed(got)
    if glob.glob('/dev/shm/rankshare.*.' + room.segment):
        raise Failed('a segment was made')


LATE = '''
import ctypes
program = ctypes.CDLL(None)
first = program.cuModuleLoadData(None, None)
driver = ctypes.CDLL('libcuda.so.1')
module = ctypes.c_void_p()
print(first, program.cuModuleLoadData(ctypes.byref(module), b'x'), bool(module.value),
      driver.cuModuleLoadData(ctypes.byref(module), b'x'))
'''


@case('libcuda late: a function that was there before it')
def late(room):
    for mode in ('inactive', 'active'):
        got = room.run([sys.executable, '-c', LATE], mode)
        if got != '302 0 True 0\n':
            raise Failed('%s: %s' % (mode, got))
    room.counted(loads_linked=1, loads_dlsym=1, loads_failed=0)


def of_gpus(room, script):
    """What a script of tests/gpu says in front of the driver of the torch tests."""
    stubs = os.path.join(room.folder, 'stubs')
    run([sys.executable, os.path.join(TOP, 'tests', 'fakecuda', 'mkstubs.py'), stubs, '--cc', ' '.join(CC)])
    environment = dict(room.environment('plain', 'none', None, None), LD_LIBRARY_PATH=stubs, CC=CC[0])
    return run([sys.executable, os.path.join(TOP, 'tests', 'gpu', script), '--library', LIBRARY, '--tool', TOOL, '--pretended'],
               env=environment)


@case('the driver of the torch tests: every load function on each road, with real images')
def pretended(room):
    text = of_gpus(room, 'loads.py')
    if not text.endswith('42 passed, 0 failed, 0 skipped\n'):
        raise Failed(text)


@case('the driver of the torch tests: PTX with RANKSHARE_PTX=1 where nothing can be compiled')
def uncompiled(room):
    text = of_gpus(room, 'ptx.py')
    if not re.search(r'\n(126|144) passed, 0 failed\n$', text):  # without and with nvcc
        raise Failed(text)
