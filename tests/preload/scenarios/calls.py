# SPDX-License-Identifier: Apache-2.0
"""System calls: what the library adds to those of a program, which is nothing."""
import collections
import glob
import os
import re
import subprocess

from room import DEADLINE, PYTHON, RANK, Failed, Skipped, need, scenario, short


def calls_after_loading(room, mode, program):
    """System calls of PROGRAM after the loader's last own one (it unmaps its cache), addresses taken out."""
    trace = os.path.join(room.folder, 'trace')
    environment = room.environment(mode)
    preload = environment.pop('LD_PRELOAD', None)
    command = ['strace', '-o', trace]
    for name in ('LD_PRELOAD', 'RANKSHARE', 'RANKSHARE_SEGMENT', 'RANKSHARE_LOG', 'RANKSHARE_WAIT', 'RANKSHARE_DIR'):
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



def file_calls(room, mode, command):
    """How often each system call on files was made by COMMAND and its children, without those by which the loader
    brings the library in. Numbers of processes and random names are taken out."""
    trace = os.path.join(room.folder, 'trace')
    environment = room.environment(mode)
    traced = ['strace', '-f', '-qq', '-o', trace, '-e', 'trace=%file,memfd_create,prlimit64,getdents64,readlink', '-e', 'signal=none']
    for name in ('LD_PRELOAD', 'RANKSHARE', 'RANKSHARE_SEGMENT', 'RANKSHARE_LOG', 'RANKSHARE_WAIT'):
        if name in environment:
            traced += ['-E', '%s=%s' % (name, environment.pop(name))]
    done = subprocess.run([*traced, *command], env=environment, cwd=room.folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=DEADLINE)
    if done.returncode:
        raise Skipped('strace does not work here: ' + done.stderr.decode().strip()[-200:])
    counts = collections.Counter()
    with open(trace, errors='replace') as lines:
        for line in lines:
            call = line.split(None, 1)[1].strip()
            if call.startswith('<... ') or call.startswith('execve(') or 'librankshare.so' in call:
                continue
            # A call's name and first path; strace cuts it in two where another process's comes between.
            told = re.match(r'(\w+)\((?:[^"]*"([^"]*)")?', call)
            if told and told.group(0) != 'newfstatat(' and told.group(2) != '':  # by descriptor: the loader's, too
                path = re.sub(r'/proc/\d+|/tmp/cc\w+|\.git/t\w{6}', 'N', told.group(2) or '')
                counts[told.group(1) + ' ' + path] += 1
    os.unlink(trace)
    return counts


def add_counts(name, command, *programs):
    @scenario('calls: %s makes the same calls on files' % name)
    def run(room):
        need('strace', *programs)
        files = set(os.listdir(room.folder))
        plain = None
        for mode in ('plain', 'inactive', 'active'):
            counts = file_calls(room, mode, command)
            room.forget(files)
            plain = plain or counts
            if mode == 'active' and name == 'python':
                counts -= collections.Counter(['faccessat ' + room.root])  # whether the cache directory takes files
            if counts != plain:
                raise Failed('%s: more %s, fewer %s' % (mode, short(counts - plain), short(plain - counts)))


HASHING = ('import hashlib, json, ctypes, tempfile\nhashlib.sha256(bytes(9)).digest(); hashlib.blake2b(b"x").digest()\n'
           'import glob, os\nfor n in glob.glob("/usr/*") + ["/etc/passwd", "nothing"]: os.path.exists(n) and os.lstat(n)\n'
           'os.makedirs("a/b"); open("a/b/c", "w").close(); os.rename("a/b/c", "a/d"); os.unlink("a/d"); os.removedirs("a/b")')
add_counts('sh', ['sh', '-c', 'ls root | wc -l; cat <<X >out\nx\nX\ncp -a root copy; find copy; rm -r copy'])
add_counts('python', [PYTHON, '-c', HASHING])
add_counts('git', ['sh', '-c', 'git init -q r; cd r; git status >/dev/null; git config user.name x'], 'git')
