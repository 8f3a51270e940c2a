#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs under the library and without it: what they print, how they end, what they leave behind.

    tests/preload/scenarios.py [WORD ...]    only the scenarios whose name holds one of the words

Environment: BUILD, CC, PYTHON (the ranks' Python).
"""
import concurrent.futures
import glob
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, 'hooks'))
sys.dont_write_bytecode = True
import fixture  # noqa: E402

DEADLINE = 60
PYTHON = os.environ.get('PYTHON') or sys.executable
CC = os.environ.get('CC') or 'cc'
RANK = os.path.join(HERE, 'scenarios', 'rank.py')
CASES = []


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def scenario(name):
    def add(function):
        CASES.append((name, function))
        return function
    return add


class Room:
    """One scenario's directory, environments and runs."""

    def __init__(self, shared, number):
        self.told, self.shared = shared.told, shared.folder
        self.folder = os.path.join(shared.folder, 'room%d' % number)
        self.segment = 'scenario-%d-%d' % (os.getpid(), number)
        self.root = os.path.join(self.folder, 'root')
        self.log = os.path.join(self.folder, 'log')
        os.mkdir(self.folder)
        shutil.copytree(self.told['template'], self.root)
        self.fx = os.path.join(self.root, self.told['fx'])
        self.details = self.told['details']['11']['fx']

    def environment(self, mode, **more):
        """MODE: plain, inactive (preloaded without RANKSHARE) or active."""
        environment = fixture.plain_environment()
        environment.update(TORCHINDUCTOR_CACHE_DIR=self.root, HOME=self.folder, LC_ALL='C', TZ='UTC',
                           PYTHONDONTWRITEBYTECODE='1', GIT_CONFIG_NOSYSTEM='1')
        if mode != 'plain':
            environment['LD_PRELOAD'] = fixture.LIBRARY
        if mode == 'active':
            environment.update(RANKSHARE='1', RANKSHARE_SEGMENT=self.segment, RANKSHARE_LOG=self.log, RANKSHARE_WAIT='5')
        environment.update(more)
        return environment

    def run(self, command, mode, deadline=DEADLINE, **more):
        """(status, standard output, standard error) of COMMAND, a list or a line for sh."""
        preexec = more.pop('preexec', None)
        environment = self.environment(mode, **more)
        done = subprocess.run(command, shell=isinstance(command, str), env=environment, cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              timeout=deadline, preexec_fn=preexec)
        return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')

    def rank(self, *arguments, mode='active', **more):
        return self.run([PYTHON, RANK, *arguments], mode, **more)

    def same(self, command, modes=('inactive', 'active'), between=None, **more):
        plain = self.run(command, 'plain', **more)
        for mode in modes:
            if between:
                between()
            got = self.run(command, mode, **more)
            for what, a, b in zip(('exit status', 'standard output', 'standard error'), plain, got):
                if a != b:
                    raise Failed('%s, %s: plain %s, preloaded %s' % (mode, what, short(a), short(b)))
        return plain

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

    def segment_path(self):
        """Where this uid's segment would lie: asked from a real one."""
        self.is_view(self.rank('read', self.details, self.fx))
        paths = self.segments()
        if len(paths) != 1:
            raise Failed('segments of a rank: %r' % paths)
        return paths[0]

    def compile(self, source, target, *flags):
        path = os.path.join(self.folder, target)
        done = subprocess.run([CC, '-O1', '-o', path, source, *flags], stderr=subprocess.PIPE, env=fixture.plain_environment())
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


def short(value):
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) < 300 else text[:140] + ' ... ' + text[-140:])


def need(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        raise Skipped('no ' + ' '.join(missing))


# ---- programs that know nothing of us: same output, same status --------------------------------------

SHELL = r'''
set -u
export A=1 B="two words"; unset A; f() { echo "f $B"; }; export -f f; bash -c f
for i in 1 2 3; do ( exit $i ); echo "$?"; done
echo here | while read -r x; do echo "$x"; done
cat <<< "here string"; echo "${B^^}" > out; cat < out >&2
mapfile -t lines < <(printf '%s\n' a b c); echo "${#lines[@]}"
trap 'echo bye' EXIT; kill -s USR1 $$ 2>/dev/null; exit 7
'''

SAME = (
    ('true', 'true'),
    ('false and a missing program', 'false; no-such-program; exit 3'),
    ('ls', 'ls -lan --time-style=+ root root/fxgraph/*; ls nowhere'),
    ('bash: functions, exports, traps, process substitution', ['bash', '-c', SHELL]),
    ('sh: here documents, background jobs', 'cat <<X | tr a-z A-Z\nabc\nX\n(sleep 0.1; echo late) & wait; echo $?; cd /; pwd; umask'),
    ('an empty environment', 'env -i sh -c "echo \\$HOME; env | sort"'),
    ('xargs, pipelines and temporary files', 'seq 200 | xargs -P 4 -n 5 echo | sort -n | cksum; f=$(mktemp); echo x >$f; cat $f; rm $f'),
    ('closed descriptors 0, 1, 2', 'sh -c "ls root; cat /dev/null; true" 0<&- 1>&- 2>&-; echo $?'),
    ('awk, sed, sort, grep', 'seq 1000 | awk "{s+=\\$1} END {print s}"; grep -rl FxGraph root | wc -l; seq 5 | sed -n 2,3p | sort -r'),
    ('200 short processes', 'i=0; while [ $i -lt 200 ]; do /bin/true || echo failed; i=$((i+1)); done; echo $i'),
    ('find on a cache directory', "find root -printf '%P %s %m %y\\n' | sort"),
    ('tar of a cache directory', 'tar cf - --sort=name root | cksum'),
    ('cp -r and diff of a cache directory', 'rm -rf copy; cp -r root copy && diff -r root copy && echo same; du -a --apparent-size copy | sort'),
    ('checksums of a cache directory', 'find root -type f | sort | xargs cksum'),
    ('find, cp, mv and rm in a cache directory', 'cp -r root c2; cd c2; mv fxgraph fx2; mkdir -p triton/7; rmdir triton/7; rm -r fx2; find . | sort; cd ..; rm -r c2'),
    ('python: a look at a cache directory without hashing', [PYTHON, '-c',
     'import os, zlib\nfor d, _, n in sorted(os.walk("root")):\n for f in sorted(n):\n  p = os.path.join(d, f); '
     'print(p, os.path.getsize(p), zlib.crc32(open(p, "rb").read()))']),
    ('python: hashing other things', [PYTHON, '-c',
     'import hashlib\nfor n in sorted(hashlib.algorithms_guaranteed):\n h = hashlib.new(n, b"abc"); '
     'print(n, h.hexdigest(8) if "shake" in n else h.hexdigest())\n'
     'print(hashlib.sha256(b"\\x80\\x04\\x95").hexdigest(), hashlib.blake2b(b"x", digest_size=9).hexdigest())']),
    ('python: PYTHONMALLOC=debug', 'PYTHONMALLOC=debug %s -X dev -c "import hashlib, json, ctypes; print(hashlib.sha256(bytes(9)).hexdigest())"' % PYTHON),
    ('python: a multiprocessing pool', [PYTHON, '-c',
     'import multiprocessing as m\nif __name__ == "__main__":\n with m.get_context("fork").Pool(3) as p: print(p.map(abs, range(-9, 0)))']),
    ('python: audit hooks and tracemalloc', [PYTHON, '-X', 'tracemalloc', '-c',
     'import sys, os\ns = set()\nsys.addaudithook(lambda e, a: s.add(e))\nopen("/dev/null").close(); os.listdir("/"); print("open" in s, "os.listdir" in s)']),
)


def add_same(name, command):
    @scenario('same: ' + name)
    def run(room):
        fresh = [p for p in ('copy', 'c2', 'out') for p in [os.path.join(room.folder, p)]]

        def between():
            for path in fresh:
                shutil.rmtree(path, ignore_errors=True)
                if os.path.isfile(path):
                    os.unlink(path)
        room.same(command, between=between)
        if room.segments():
            raise Failed('it left a segment: %r' % room.segments())


for line in SAME:
    add_same(*line)


@scenario('same: gcc, make and a program that it makes')
def compiler(room):
    need('make')
    room.write('p.c', '#include <stdio.h>\nint main(int n, char **v) { printf("%d %s\\n", n, v[1]); return 5; }\n')
    room.write('Makefile', 'p: p.c\n\t%s -g -O2 -Wall -o $@ $<\n' % CC)
    room.same('rm -f p; make -s p && ./p arg; echo $?; %s -E p.c | grep -c stdio; %s -xc - </dev/null -o q 2>&1 | grep -c main' % (CC, CC))
    if room.segments():
        raise Failed('it left a segment')


@scenario('same: git init, add, commit, log, gc, clone')
def git(room):
    need('git')
    room.same('rm -rf r s; git init -q r; cd r; git config user.name n; git config user.email e@x; cp -r ../root .; git add .; '
              'git commit -qm one; git gc -q; git fsck 2>&1; git log --format=%T; git status --short; cd ..; git clone -q r s; ls s; '
              'cd s; git worktree add -q ../w HEAD; ls ../w; git worktree remove ../w; cd ..; rm -rf r s')
    if room.segments():
        raise Failed('it left a segment')


@scenario('same: a static program')
def static(room):
    source = room.write('s.c', '#include <stdio.h>\n#include <sys/stat.h>\nint main(void) { struct stat s; puts("static"); return stat("/", &s); }\n')
    try:
        program = room.compile(source, 's', '-static')
    except Failed as failure:
        raise Skipped('no static libc: %s' % str(failure).splitlines()[-1])
    room.same([program])


@scenario('same: a setuid program ignores the variables of its user')
def setuid(room):
    if os.geteuid() != 0:
        raise Skipped('not root')
    source = room.write('u.c', '#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include <sys/auxv.h>\n#include <string.h>\n'
                               'int main(void) { char line[9999]; FILE *maps = fopen("/proc/self/maps", "r"); int there = 0;\n'
                               'while (fgets(line, sizeof line, maps)) there |= !!strstr(line, "librankshare");\n'
                               'printf("%d %ld %d\\n", geteuid() == 0, getauxval(AT_SECURE), there); return 0; }\n')
    program = room.compile(source, 'u')
    os.chmod(program, 0o4755)
    for path in (room.folder, room.shared):
        os.chmod(path, 0o755)
    status, output, _ = room.same([program], preexec=lambda: os.setuid(65534))
    if output.split()[:2] != ['1', '1']:
        raise Skipped('no setuid programs on this file system (%s)' % output.strip())


# ---- what the library does while it is off ------------------------------------------------------------

def calls_after_loading(room, mode, program):
    """System calls of PROGRAM after the loader's last own one (it unmaps its cache), addresses taken out."""
    trace = os.path.join(room.folder, 'trace')
    environment = room.environment(mode)
    preload = environment.pop('LD_PRELOAD', None)
    command = ['strace', '-o', trace]
    for name in ('LD_PRELOAD', 'RANKSHARE', 'RANKSHARE_SEGMENT', 'RANKSHARE_LOG', 'RANKSHARE_WAIT'):
        value = preload if name == 'LD_PRELOAD' else environment.pop(name, None)
        if value:
            command += ['-E', '%s=%s' % (name, value)]
    done = subprocess.run(command + program, env=environment, cwd=room.folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=DEADLINE)
    if done.returncode:
        raise Skipped('strace does not work here: ' + done.stderr.decode().strip())
    with open(trace) as lines:
        calls = [re.sub(r'0x[0-9a-f]+|^getrandom\("[^"]*"', 'ADDRESS', line.rstrip()) for line in lines]
    unmapped = [i for i, call in enumerate(calls) if call.startswith('munmap(')]
    if not unmapped:
        raise Failed('no munmap in the trace: the loader works differently here')
    return calls, calls[unmapped[0]:]


@scenario('off: no system call of ours (strace of true, ls and bash)')
def off(room):
    need('strace')
    for program in (['/bin/true'], ['/bin/ls', '/'], ['/bin/bash', '-c', 'echo a >/dev/null']):
        before, plain = calls_after_loading(room, 'plain', program)
        all_calls, ours = calls_after_loading(room, 'inactive', program)
        if not any('librankshare.so' in call for call in all_calls) or any('librankshare.so' in call for call in before):
            raise Failed('%s: the library was not loaded where it should be' % program[0])
        if program[0] == '/bin/bash':  # it asks for its own numbers and the machine's load
            plain, ours = ([call.split('(')[0] for call in calls] for calls in (plain, ours))
        if plain != ours:
            odd = [b for b in ours if b not in plain] + [a for a in plain if a not in ours]
            raise Failed('%s: %s' % (program[0], short('; '.join(odd[:6]) or 'another order')))


@scenario('on: no system call of ours in true either')
def on(room):
    need('strace')
    plain, ours = (calls_after_loading(room, mode, ['/bin/true'])[1] for mode in ('plain', 'active'))
    if plain != ours:
        raise Failed(short('; '.join([b for b in ours if b not in plain][:8]) or 'another order'))


@scenario('off: a rank under an inactive library is a plain rank')
def off_rank(room):
    for value in ('0', '', 'yes', '2', '11'):
        room.same([PYTHON, RANK, 'read', room.details, room.fx], modes=('inactive',), RANKSHARE=value)
    if glob.glob('/dev/shm/rankshare.*.' + room.segment):
        raise Failed('it left a segment')


# ---- ranks ----------------------------------------------------------------------------------------------

@scenario('rank: sees its view; a plain process sees the canonical entry')
def rank_view(room):
    room.is_view(room.rank('read', room.details, room.fx))
    plain = room.rank('read', room.told['details']['0']['fx'], room.fx, mode='plain')
    if plain[1].strip() != room.view(0):
        raise Failed('a plain process saw ' + short(plain[1]))


@scenario('rank: 16 threads')
def rank_threads(room):
    room.is_view(room.rank('threads', room.details, room.fx))


@scenario('rank: fork, exec, vfork, posix_spawn')
def rank_spawn(room):
    room.is_view(room.rank('spawn', room.details, room.fx), times=5)


@scenario('rank: stores, then a plain process on the same directory loads')
def rank_stores(room):
    os.unlink(room.fx)
    result = room.rank('store', room.details, room.fx, room.told['views']['11']['fx'])
    if result != (0, 'stored\n', ''):
        raise Failed(short(result))
    plain = room.rank('read', room.told['details']['0']['fx'], room.fx, mode='plain')
    if plain != (0, room.view(0) + '\n', ''):
        raise Failed('a plain process saw ' + short(plain[1]))
    room.is_view(room.rank('read', room.details, room.fx))


@scenario('rank: an unwritable cache directory fails as it does natively')
def rank_unwritable(room):
    os.unlink(room.fx)
    folder = os.path.dirname(room.fx)
    os.chmod(folder, 0o555)
    drop = ['65534'] if os.geteuid() == 0 else []
    for path in (room.folder, room.shared):
        os.chmod(path, 0o755)
    results = [room.rank('store', room.details, room.fx, room.told['views']['11']['fx'], *drop, mode=mode)
               for mode in ('plain', 'active')]
    if results[0] != (0, 'Permission denied\n', '') or results[1] != results[0]:
        raise Failed('plain %s, preloaded %s' % (short(results[0]), short(results[1])))


@scenario('rank: jemalloc before and behind the library')
def jemalloc(room):
    found = glob.glob('/usr/lib/*/libjemalloc.so.2') + glob.glob('/usr/lib*/libjemalloc.so.2')
    if not found:
        raise Skipped('no libjemalloc.so.2')
    for order in ((found[0], fixture.LIBRARY), (fixture.LIBRARY, found[0])):
        room.is_view(room.rank('threads', room.details, room.fx, LD_PRELOAD=' '.join(order)))


@scenario('rank: PYTHONMALLOC=debug and a tiny stack')
def debug_malloc(room):
    import resource
    small = 1 << 20
    room.is_view(room.rank('threads', room.details, room.fx, PYTHONMALLOC='debug',
                           preexec=lambda: resource.setrlimit(resource.RLIMIT_STACK, (small, small))))


@scenario('rank: file size limit of 1 KiB: a miss, never the raw bytes, never a signal')
def file_limit(room):
    import resource
    status, output, error = room.rank('read', room.details, room.fx,
                                      preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)))
    if status or error or output.strip().split(' ', 1)[1:] == room.view(0).split(' ', 1)[1:]:
        raise Failed(short((status, output, error)))


@scenario('rank: closed standard descriptors stay closed')
def closed(room):
    program = ('import os, sys, hashlib\nhashlib.sha256(open(sys.argv[1], "rb").read()).digest()\n'
               'os.closerange(0, 3)\nfd = os.open(sys.argv[2], os.O_RDONLY)\n'
               'data = os.read(fd, 1 << 24)\nsize = os.fstat(fd).st_size\n'
               'open(sys.argv[3], "w").write("%d %d %d" % (fd, len(data), size))\n')
    for mode, ordinal in (('plain', 0), ('active', 11)):
        out = os.path.join(room.folder, 'out-' + mode)
        room.run([PYTHON, '-c', program, room.details, room.fx, out], mode)
        size = os.path.getsize(room.told['views'][str(ordinal)]['fx'])
        with open(out) as text:
            said = text.read()
        if said != '0 %d %d' % (size, size):
            raise Failed('%s: %s, expected descriptor 0 and %d bytes' % (mode, said, size))


@scenario('other interposers: a constructor that opens files, before and behind us')
def constructors(room):
    library = room.compile(os.path.join(HERE, 'scenarios', 'early.c'), 'early.so', '-shared', '-fPIC', '-D_GNU_SOURCE', '-ldl')
    expected = room.run(['/bin/true'], 'plain', LD_PRELOAD=library)
    if expected != (0, 'early: 1 1 1 1 1 1\n', ''):
        raise Failed('the helper itself: ' + short(expected))
    for order in ((library, fixture.LIBRARY), (fixture.LIBRARY, library)):
        for mode in ('inactive', 'active'):
            got = room.run(['/bin/true'], mode, LD_PRELOAD=' '.join(order))
            if got != expected:
                raise Failed('%s: %s' % (mode, short(got)))
    for order in ((library, fixture.LIBRARY), (fixture.LIBRARY, library)):
        status, output, error = room.rank('read', room.details, room.fx, LD_PRELOAD=' '.join(order))
        if (status, output, error) != (0, expected[1] + room.view() + '\n', ''):
            raise Failed('a rank: ' + short((status, output, error)))


@scenario('other interposers: each call reaches them once, before and behind us')
def stacked(room):
    library = room.compile(os.path.join(HERE, 'scenarios', 'stack.c'), 'stack.so', '-shared', '-fPIC', '-D_GNU_SOURCE',
                           '-U_FORTIFY_SOURCE', '-ldl')
    room.write('count-me', 'x')
    command = [PYTHON, '-c', 'import os, hashlib\nfor i in range(10): open("count-me").close(); os.stat("count-me")']
    expected = room.run(command, 'plain', LD_PRELOAD=library)
    if not re.match(r'opens 10 stats [1-9]', expected[1]):
        raise Failed('the helper itself: ' + short(expected))
    for order in ((library, fixture.LIBRARY), (fixture.LIBRARY, library)):
        got = room.run(command, 'active', LD_PRELOAD=' '.join(order))
        if got != expected:
            raise Failed('plain %s, preloaded %s' % (short(expected[1]), short(got)))


# ---- the segment's place is taken by something else ---------------------------------------------------

def with_segment(name, make, check=None):
    """MAKE(path, genuine bytes) puts something in the segment's place; a rank must go on as without."""
    @scenario('segment: ' + name)
    def run(room):
        path = room.segment_path()
        with open(path, 'rb') as data:
            genuine = data.read()
        os.unlink(path)
        if os.path.exists(room.log):
            os.unlink(room.log)
        make(path, genuine)
        before = describe(path)
        room.is_view(room.rank('read', room.details, room.fx, deadline=20))
        if describe(path) != before:
            raise Failed('what lay there was changed: %s, now %s' % (before, describe(path)))
        with open(room.log) as lines:
            if not any('segment ' in line for line in lines):
                raise Failed('the log does not say what is wrong with the segment')
        if check:
            check(path)


def describe(path):
    information = os.lstat(path)
    content = None
    if stat.S_ISREG(information.st_mode):
        with open(path, 'rb') as data:
            content = zlib.crc32(data.read())
    return information.st_ino, information.st_mode, information.st_uid, information.st_size, content


def put(path, data, mode=0o600, size=None):
    with open(path, 'wb') as out:
        out.write(data)
        if size is not None:
            out.truncate(size)
    os.chmod(path, mode)


def patch(offset, data):
    return lambda path, genuine: put(path, genuine[:offset] + data + genuine[offset + len(data):])


def foreign(path, genuine):
    if os.geteuid() != 0:
        raise Skipped('not root')
    put(path, genuine)
    os.chown(path, 65534, 65534)


def no_target(path):
    if os.path.exists(path + '.target'):
        raise Failed('the target of the link was made')


with_segment('zeros', lambda path, genuine: put(path, b'', size=len(genuine)))
with_segment('an empty file', lambda path, genuine: put(path, b''))
with_segment('text', lambda path, genuine: put(path, b'not a segment\n' * 100))
with_segment('wrong magic', patch(0, b'\xff' * 8))
with_segment('another layout', patch(8, b'\x63\0\0\0'))
with_segment('cut short behind the header', lambda path, genuine: put(path, genuine[:4096]))
with_segment('a page short', lambda path, genuine: put(path, genuine[:-4096]))
with_segment('writable by everyone', lambda path, genuine: put(path, genuine, 0o666))
with_segment("another user's", foreign)
with_segment('a symbolic link to nowhere', lambda path, genuine: os.symlink(path + '.target', path), no_target)
with_segment('a directory', lambda path, genuine: os.mkdir(path))
with_segment('a FIFO', lambda path, genuine: os.mkfifo(path, 0o600))


@scenario('segment: a link to a genuine one is not followed')
def linked_segment(room):
    path = room.segment_path()
    os.rename(path, path + '.real')
    try:
        os.symlink(path + '.real', path)
        before = describe(path + '.real')
        room.is_view(room.rank('read', room.details, room.fx))
        if describe(path + '.real') != before:
            raise Failed('the target was written')
    finally:
        os.unlink(path + '.real')


@scenario('segment: mode 0600, and made by ranks only')
def segment_mode(room):
    for command in ('ls', 'bash -c ls', '%s -c "import hashlib; hashlib.sha256(bytes(9))"' % PYTHON):
        room.run(command, 'active')
        if room.segments():
            raise Failed('%s made a segment' % command)
    mode = stat.S_IMODE(os.stat(room.segment_path()).st_mode)
    if mode != 0o600:
        raise Failed('mode %o' % mode)


@scenario('segment: a name that cannot be used')
def bad_name(room):
    for name in ('a/b', '../x', 'x' * 300):
        room.is_view(room.rank('read', room.details, room.fx, RANKSHARE_SEGMENT=name))


@scenario('settings: nonsense in every variable, a log that cannot be written')
def nonsense(room):
    room.is_view(room.rank('read', room.details, room.fx, RANKSHARE_WAIT='soon', RANKSHARE_SIZE='-5Q', RANKSHARE_DIR='\1' * 2000,
                           RANKSHARE_ROOTS=':' * 3000, RANKSHARE_LOG='/nowhere/at/all', RANKSHARE_VERIFY='maybe',
                           RANKSHARE_PTX='2', RANKSHARE_JOB='j' * 5000, RANK='many', WORLD_SIZE='-1', LOCAL_RANK=''))


def run_one(shared, number, function):
    room = Room(shared, number)
    try:
        function(room)
        return 'ok', ''
    except Skipped as reason:
        return 'skip', str(reason)
    except Failed as failure:
        return 'FAIL', str(failure)
    except subprocess.TimeoutExpired as late:
        return 'FAIL', 'still running after %d s' % late.timeout
    except Exception as error:
        return 'FAIL', repr(error)
    finally:
        room.close()


class Shared:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='rankshare-scenarios-')
        os.chmod(self.folder, 0o755)
        self.told = fixture.make(self.folder)


def main():
    words = sys.argv[1:]
    chosen = [c for c in CASES if not words or any(w in c[0] for w in words)]
    count = {'ok': 0, 'FAIL': 0, 'skip': 0}
    shared = Shared()
    try:
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            runs = [pool.submit(run_one, shared, i, function) for i, (_, function) in enumerate(chosen)]
            for (name, _), run in zip(chosen, runs):
                word, text = run.result()
                count[word] += 1
                print('%-5s %s' % (word, name) + ''.join('\n        ' + line for line in text.splitlines()), flush=True)
    finally:
        shutil.rmtree(shared.folder, ignore_errors=True)
    print('%(ok)d passed, %(FAIL)d failed, %(skip)d skipped' % count)
    return 1 if count['FAIL'] else 0


if __name__ == '__main__':
    sys.exit(main())
