# SPDX-License-Identifier: Apache-2.0
"""Pretend drivers, programs that use them, and a folder and a segment for each case."""
import difflib
import glob
import json
import os
import re
import shlex
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.path.join(TOP, os.environ.get('BUILD') or 'build')
LIBRARY = os.path.join(BUILD, 'librankshare.so')
TOOL = os.path.join(BUILD, 'rankshare')
CC = shlex.split(os.environ.get('CC') or 'cc')
FLAGS = ['-std=gnu11', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-Wno-cast-function-type', '-D_GNU_SOURCE',
         '-I' + os.path.join(TOP, 'shim'), '-I' + os.path.join(TOP, 'include'), '-I' + HERE]
VERSIONS = (13000, 11020, 11030)  # the newest, one without cuGetProcAddress, one without cuLibrary
DEADLINE = 100
CASES = []


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def case(name):
    def take(function):
        CASES.append((name, function))
        return function
    return take


def table():
    """The rows of cuda_api.def."""
    rows = []
    with open(os.path.join(TOP, 'shim', 'hook', 'cuda_api.def')) as text:
        for line in text:
            found = re.match(r'RS_CUDA\((\w+), "(\w+)", (\d+), (\w+), \((.*?)\), \((.*?)\), (\w+), (\w+), (\w+)\)$', line)
            if found:
                rows.append(dict(zip(('name', 'base', 'since', 'role', 'parameters'), found.groups())))
            elif line.startswith('RS_CUDA'):
                raise Failed('a row in another form: ' + line)
    return rows


def roles():
    return {row['name']: row['role'] for row in table()}


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=DEADLINE, **more)
    if done.returncode:
        raise Failed('%s ended with %d\n%s%s' % (' '.join(command), done.returncode, done.stdout[-1500:], done.stderr[-1500:]))
    return done.stdout


def compile_to(target, source, *flags):
    run(CC + FLAGS + ['-o', target, os.path.join(HERE, source)] + list(flags))
    return target


def build_driver(folder, version):
    """libcuda.so.1 as of VERSION in FOLDER."""
    os.makedirs(folder)
    script = os.path.join(folder, 'map')
    with open(script, 'w') as out:
        names = [row['name'] for row in table() if int(row['since']) <= version]
        out.write('{ global: fake_state; fake_function; cuCtxGetDevice; cuDeviceGetAttribute; cuDeviceGetCount; cuDriverGetVersion; '
                  'cuLinkCreate_v2; cuLinkDestroy; %s; local: *; };\n' % '; '.join(names))
    compile_to(os.path.join(folder, 'libcuda.so.1'), 'driver.c', '-DFAKE_VERSION=%d' % version, '-shared', '-fPIC',
               '-Wl,-Bsymbolic-functions', '-Wl,-soname,libcuda.so.1', '-Wl,--version-script=' + script, '-ldl')


class Room:
    @staticmethod
    def build(folder):
        """Everything that all cases use."""
        for version in VERSIONS:
            build_driver(os.path.join(folder, str(version)), version)
        newest = os.path.join(folder, str(VERSIONS[0]))
        compile_to(os.path.join(folder, 'roads'), 'roads.c', '-ldl', '-lpthread')
        compile_to(os.path.join(folder, 'roads-linked'), 'roads.c', '-DLINKED', '-L' + newest, '-l:libcuda.so.1', '-ldl', '-lpthread')
        compile_to(os.path.join(folder, 'load'), 'load.c', '-ldl')
        for name in ('instead', 'compile'):
            compile_to(os.path.join(folder, name), name + '.c', '-ldl')
            compile_to(os.path.join(folder, name + '-linked'), name + '.c', '-DLINKED', '-L' + newest, '-l:libcuda.so.1', '-ldl')
        for name, image in (('embedded.so', 'plain.sm_90.cubin'), ('embedded-text.so', 'kernels.sm_80.ptx')):
            path = os.path.join(TOP, 'tests', 'data', 'images', image)
            compile_to(os.path.join(folder, name), 'embedded.c', '-DIMAGE="%s"' % path, '-shared', '-Wl,--build-id')
        compile_to(os.path.join(folder, 'stub.so'), 'stub.c', '-shared', '-fPIC', '-ldl')
        compile_to(os.path.join(folder, 'beside.so'), 'beside.c', '-shared', '-fPIC', '-ldl')
        return folder

    def __init__(self, folder, number, fakes):
        os.makedirs(folder)
        self.folder, self.fakes = folder, fakes
        self.segment = 'cuda-%d-%d' % (os.getpid(), number)

    def close(self):
        for path in glob.glob('/dev/shm/rankshare.*.' + self.segment):
            os.unlink(path)

    def program(self, name):
        return os.path.join(self.fakes, name)

    def environment(self, mode, version, preload, more):
        drop = ('RANKSHARE', 'LD_PRELOAD', 'RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'LD_LIBRARY_PATH')
        result = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
        result.update(LD_LIBRARY_PATH=os.path.join(self.fakes, str(version)), RANK='3', WORLD_SIZE='8')
        if mode != 'plain':
            preload = preload or [LIBRARY]
        if preload:
            result['LD_PRELOAD'] = ' '.join(preload)
        if mode == 'active':
            result.update(RANKSHARE='1', RANKSHARE_SEGMENT=self.segment, RANKSHARE_LOG=os.path.join(self.folder, 'log'))
        result.update(more or {})
        return result

    def run(self, command, mode, version=VERSIONS[0], preload=None, more=None):
        return run(command, env=self.environment(mode, version, preload, more), cwd=self.folder)

    def counters(self):
        """The sums over all processes; {} when no process has left any."""
        if not glob.glob('/dev/shm/rankshare.*.' + self.segment):
            return {}
        return json.loads(run([TOOL, 'stats', '--json', '--segment', self.segment]))['total']

    def same(self, command, version=VERSIONS[0], others=()):
        """What COMMAND prints, which is the same plain, inactive and active. OTHERS: libraries before us."""
        plain = self.run(command, 'plain', version, list(others))
        for mode in ('inactive', 'active'):
            got = self.run(command, mode, version, list(others) + [LIBRARY] if others else None)
            self.compare(plain, got, mode)
        return plain

    @staticmethod
    def compare(plain, got, what):
        if plain != got:
            lines = difflib.unified_diff(plain.splitlines(), got.splitlines(), 'plain', what, n=0, lineterm='')
            raise Failed('differs:\n' + '\n'.join(list(lines)[:12]))

    def counted(self, **expected):
        got = self.counters()
        wrong = ['%s %d, not %d' % (name, got.get(name, 0), value) for name, value in expected.items() if got.get(name, 0) != value]
        if wrong:
            raise Failed('counted: ' + ', '.join(wrong))
