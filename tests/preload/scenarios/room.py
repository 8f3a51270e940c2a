# SPDX-License-Identifier: Apache-2.0
"""What the scenarios share: a directory of their own, environments, runs, comparisons."""
import glob
import os
import shutil
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'hooks'))
sys.dont_write_bytecode = True
import fixture  # noqa: E402

DEADLINE = 60
PYTHON = os.environ.get('PYTHON') or sys.executable
CC = os.environ.get('CC') or 'cc'
RANK = os.path.join(HERE, 'rank.py')
PROGRAMS = os.path.join(HERE, 'programs')
CASES = []


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def scenario(name, long=False):
    """A case; LONG: only in the long form."""
    def add(function):
        CASES.append((name, long, function))
        return function
    return add


class Room:
    """One scenario's directory, environments and runs."""

    def __init__(self, shared, number):
        self.told, self.shared, self.long = shared.told, shared.folder, shared.long
        self.folder = os.path.join(shared.folder, 'room%d' % number)
        self.segment = 'scenario-%d-%d' % (os.getpid(), number)
        self.root = os.path.join(self.folder, 'root')
        self.log = os.path.join(self.folder, 'log')
        os.mkdir(self.folder)
        shutil.copytree(self.told['template'], self.root)
        self.fx = os.path.join(self.root, self.told['fx'])
        self.details = self.told['details']['11']['fx']

    def environment(self, mode, **more):
        """MODE: plain, inactive (preloaded without RANKSHARE) or active. A value of None: not set."""
        environment = fixture.plain_environment()
        environment.update(TORCHINDUCTOR_CACHE_DIR=self.root, HOME=self.folder, LC_ALL='C', TZ='UTC',
                           PYTHONDONTWRITEBYTECODE='1', GIT_CONFIG_NOSYSTEM='1')
        if mode != 'plain':
            environment['LD_PRELOAD'] = fixture.LIBRARY
        if mode == 'active':
            environment.update(RANKSHARE='1', RANKSHARE_SEGMENT=self.segment, RANKSHARE_LOG=self.log, RANKSHARE_WAIT='5',
                               RANKSHARE_DIR=os.path.join(self.shared, '.rankshare'))
        environment.update(more)
        return {name: value for name, value in environment.items() if value is not None}

    def run(self, command, mode, deadline=DEADLINE, preexec=None, **more):
        """(status, standard output, standard error) of COMMAND, a list or a line for sh."""
        done = subprocess.run(command, shell=isinstance(command, str), env=self.environment(mode, **more), cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              timeout=deadline, preexec_fn=preexec)
        return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')

    def rank(self, *arguments, mode='active', **more):
        return self.run([PYTHON, RANK, *arguments], mode, **more)

    def same(self, command, modes=('inactive', 'active'), **more):
        """Runs COMMAND plainly, then in each of MODES, from the same files; all must say the same."""
        files = set(os.listdir(self.folder))
        plain = self.run(command, 'plain', **more)
        for mode in modes:
            self.forget(files)
            compare(mode, plain, self.run(command, mode, **more))
        self.forget(files)
        return plain

    def forget(self, files):
        """Removes what a run left beside FILES and our own log."""
        for name in set(os.listdir(self.folder)) - files - {os.path.basename(self.log)}:
            path = os.path.join(self.folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                subprocess.run(['chmod', '-R', 'u+rwx', path], stderr=subprocess.DEVNULL)
                shutil.rmtree(path)
            else:
                os.unlink(path)

    def view(self, ordinal=11):
        """What a look of rank.py at the FX entry prints for a rank of ORDINAL."""
        with open(self.told['views'][str(ordinal)]['fx'], 'rb') as data:
            read = data.read()
        return '%s %d %d %08x' % (os.path.basename(os.path.dirname(self.fx))[1:], len(read), len(read), zlib.crc32(read))

    def is_view(self, result, times=1):
        status, output, error = result
        if status or error:
            raise Failed('status %d: %s' % (status, short(error)))
        for line in output.splitlines() or ['']:
            if line != self.view():
                raise Failed('a rank saw %s, expected %s' % (short(line), self.view()))
        if len(output.splitlines()) != times:
            raise Failed('%d looks, expected %d' % (len(output.splitlines()), times))

    def segments(self):
        return glob.glob('/dev/shm/rankshare.*.' + self.segment)

    def no_segment(self):
        if self.segments():
            raise Failed('it left a segment: %r' % self.segments())

    def segment_path(self):
        """Where this uid's segment would lie: asked from a real one."""
        self.is_view(self.rank('read', self.details, self.fx))
        paths = self.segments()
        if len(paths) != 1:
            raise Failed('segments of a rank: %r' % paths)
        return paths[0]

    def open_to_others(self):
        """Another user may reach the room's files."""
        for path in (self.folder, self.shared):
            os.chmod(path, 0o755)

    def compile(self, source, target, *flags, compiler=CC):
        """Builds SOURCE, a path or a name in programs/, as TARGET."""
        path = os.path.join(self.folder, target)
        done = subprocess.run([compiler, '-O1', '-D_GNU_SOURCE', '-o', path, os.path.join(PROGRAMS, source), *flags],
                              stderr=subprocess.PIPE, env=fixture.plain_environment())
        if done.returncode:
            raise Failed('the helper does not compile: ' + done.stderr.decode())
        return path

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w') as out:
            out.write(text)
        return path

    def close(self):
        for path in self.segments():
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
        subprocess.run(['chmod', '-R', 'u+rwx', self.folder], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)


def compare(mode, plain, got):
    for what, a, b in zip(('exit status', 'standard output', 'standard error'), plain, got):
        if a != b:
            raise Failed('%s, %s: plain %s, preloaded %s' % (mode, what, short(a), short(b)))


def short(value):
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) < 300 else text[:140] + ' ... ' + text[-140:])


def need(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        raise Skipped('no ' + ' '.join(missing))


def need_root():
    if os.geteuid() != 0:
        raise Skipped('not root')


def library(*names):
    """The first of the shared libraries NAMES that this machine has."""
    for name in names:
        for place in ('/usr/lib/*/', '/usr/lib*/', '/lib/*/', '/lib*/', '/usr/local/lib/'):
            found = sorted(glob.glob(place + name))
            if found:
                return found[0]
    raise Skipped('no ' + ' or '.join(names))
