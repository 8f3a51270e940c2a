# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of us: same output, same exit status, no segment."""
import json
import os
import shutil
import subprocess

import fixture
from room import CC, Failed, Skipped, need, need_root, scenario, short
from table import SAME


def add_same(name, command, *programs):
    @scenario('same: ' + name)
    def run(room):
        need(*programs)
        room.same(command)
        room.no_segment()


for line in SAME:
    add_same(*line)


@scenario('same: gcc, make and a program that it makes')
def compiler(room):
    need('make')
    room.write('p.c', '#include <stdio.h>\nint main(int n, char **v) { printf("%d %s\\n", n, v[1]); return 5; }\n')
    room.write('Makefile', 'p: p.c\n\t%s -g -O2 -Wall -o $@ $<\n' % CC)
    room.same('rm -f p; make -s p && ./p arg; echo $?; %s -E p.c | grep -c stdio; %s -xc - </dev/null -o q 2>&1 | grep -c main' % (CC, CC))
    room.no_segment()


@scenario('same: git init, add, commit, log, gc, clone')
def git(room):
    need('git')
    room.same('rm -rf r s; git init -q r; cd r; git config user.name n; git config user.email e@x; cp -r ../root .; git add .; '
              'git commit -qm one; git gc -q; git fsck 2>&1; git log --format=%T; git status --short; cd ..; git clone -q r s; ls s; '
              'cd s; git worktree add -q ../w HEAD; ls ../w; git worktree remove ../w; cd ..; rm -rf r s')
    room.no_segment()


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
    need_root()
    program = room.compile('secure.c', 'u')
    os.chmod(program, 0o4755)
    room.open_to_others()
    status, output, _ = room.same([program], preexec=lambda: os.setuid(65534))
    if output.split()[:2] != ['1', '1']:
        raise Skipped('no setuid programs on this file system (%s)' % output.strip())


GO = {
    'static': 'package main\nimport ("fmt"; "os"; "os/exec")\nfunc main() { d, _ := os.ReadDir("root"); o, _ := exec.Command("echo", "x").Output()\n'
              'fmt.Println(len(d), string(o)); os.Exit(3) }\n',
    'cgo': 'package main\n// #include <stdlib.h>\n// #include <sys/stat.h>\n// static long long size(const char *p) { struct stat s; return stat(p, &s) ? -1 : s.st_size; }\n'
           'import "C"\nimport ("fmt"; "os")\nfunc main() { fmt.Println(C.size(C.CString(os.Args[0])) > 0, C.getenv(C.CString("NO")) == nil)\nos.Exit(3) }\n',
}


def add_go(kind):
    @scenario('same: a Go program, ' + kind, long=True)
    def run(room):
        need('go')
        room.write('p.go', GO[kind])
        made = room.run('go build -o p p.go', 'plain', GOCACHE=os.path.join(room.folder, 'go'), GOFLAGS='-mod=mod', GO111MODULE='off',
                        CGO_ENABLED='1' if kind == 'cgo' else '0', deadline=300)
        if made[0]:
            raise Skipped('it does not build: ' + made[2][:200])
        if room.same(['./p'])[0] != 3:
            raise Failed('the helper itself failed')


for line in GO:
    add_go(line)


@scenario('same: a Rust program', long=True)
def rust(room):
    need('rustc')
    room.write('p.rs', 'use std::{fs, process};\nfn main() { let n = fs::read_dir("root").unwrap().count();\n'
                       'let o = process::Command::new("echo").arg("x").output().unwrap().stdout;\n'
                       'println!("{} {:?} {:?}", n, o, fs::metadata("__grp__x.json").is_err()); process::exit(3) }\n')
    home = os.path.expanduser('~')
    made = room.run(['rustc', '-o', 'p', 'p.rs'], 'plain', HOME=home, deadline=300)
    if made[0]:
        raise Skipped('it does not build: ' + made[2][:200])
    if room.same(['./p'])[0] != 3:
        raise Failed('the helper itself failed')


@scenario('same: a 32-bit program, which the loader keeps us out of with one line')
def bits32(room):
    source = room.write('p.c', '#include <stdio.h>\nint main(void) { puts("32"); return 3; }\n')
    try:
        program = room.compile(source, 'p', '-m32')
    except Failed:
        raise Skipped('no 32-bit libc')
    plain = room.run([program], 'plain')
    for mode in ('inactive', 'active'):
        got = room.run([program], mode)
        if got[:2] != plain[:2] or 'wrong ELF class: ELFCLASS64): ignored.' not in got[2] or len(got[2].splitlines()) != 1:
            raise Failed(short(got))


@scenario('same: a relative path in LD_PRELOAD')
def relative(room):
    """Found from where the program starts; from elsewhere the loader says so and goes on without."""
    shutil.copy(fixture.LIBRARY, room.folder)
    where = './' + os.path.basename(fixture.LIBRARY)
    if room.run('cat /proc/self/maps | grep -c librankshare', 'active', LD_PRELOAD=where)[1].strip() in ('', '0'):
        raise Failed('not loaded')
    room.same('ls root; bash -c "echo $((1 + 1))"', LD_PRELOAD=where)
    got = room.run(['sh', '-c', 'cd /; exec ls /dev/null'], 'active', LD_PRELOAD=where)
    if got[:2] != (0, '/dev/null\n') or 'cannot be preloaded' not in got[2]:
        raise Failed(short(got))
    room.is_view(room.rank('read', room.details, room.fx, LD_PRELOAD=where))


@scenario('same: 1,000 short processes', long=True)
def many(room):
    before = set(os.listdir('/dev/shm'))
    room.same('i=0; while [ $i -lt 1000 ]; do /bin/true || echo failed; i=$((i+1)); done; echo $i', deadline=600)
    room.is_view(room.rank('read', room.details, room.fx))
    # With the rank's segment there, they still take no slot in it.
    room.same('i=0; while [ $i -lt 100 ]; do /bin/true || echo failed; i=$((i+1)); done; echo $i', deadline=600)
    text = subprocess.run([fixture.TOOL, 'stats', '--json', '--segment', room.segment], stdout=subprocess.PIPE,
                          env=fixture.plain_environment(), check=True).stdout
    processes = [rank for job in json.loads(text)['jobs'] for rank in job['ranks']]
    left = {name for name in set(os.listdir('/dev/shm')) - before if str(os.getpid()) in name} - {os.path.basename(p) for p in room.segments()}
    if len(processes) != 1 or left - {n for n in left if n.startswith('rankshare.')}:
        raise Failed('%d processes in the segment, left: %s' % (len(processes), sorted(left)))
