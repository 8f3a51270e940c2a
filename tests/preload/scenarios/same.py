# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of us: same output, same exit status, no segment."""
import os

from room import CC, Failed, Skipped, need, need_root, scenario
from table import SAME


def add_same(name, command):
    @scenario('same: ' + name)
    def run(room):
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
