# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of us: (name, command, needed programs ...); a command is a list or a line for sh.
Run plainly, with the library off and with it on, each says the same."""
from room import PYTHON

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
    ('bash: globs, arrays, a co-process, here documents, a long line', ['bash', '-O', 'globstar', '-c',
     'echo root/**/*; a=(x "y z"); echo "${a[@]@Q}"; coproc cat; echo hello >&"${COPROC[1]}"; read -ru "${COPROC[0]}" l; echo $l; '
     'cat <<-X | wc -c\n\t$(seq 20000 | tr "\\n" " ")\nX\nprintf "%s\\n" {1..3}{a..c} | paste -sd,']),
    ('ls -lR, stat and du', 'ls -lR --time-style=+ root; stat -c "%n %s %a %F" root/fxgraph root; du -sb root; test -x root; echo $?'),
    ('cp -a, touch -r, chmod and times', 'cp -a root copy; touch -r /etc/passwd copy/x; chmod -R o-r copy; '
     "find copy -type f -printf '%P %s %m %T@\n' | sort | cksum"),
    ('tar to a pipe and out of it', 'mkdir copy; tar cf - root | tar xf - -C copy; diff -r root copy/root && echo same; tar tvf /dev/null; echo $?'),
    ('sort of a file larger than its memory', 'awk "BEGIN {srand(7); for (i = 0; i < 60000; i++) print rand()}" > numbers; '
     'sort -S 200k -T . -n numbers | cksum; sort -c numbers 2>&1; wc numbers; split -l 9000 numbers part.; ls part.*'),
    ('awk: files, pipes and getline', 'seq 9 > out; awk \'{print $1 > ("by" $1 % 2)} END {close("by1"); while ((getline l < "by1") > 0) print l; '
     '"date +%Z" | getline z; print z; print "x" | "cat 1>&2"}\' out; ls by*'),
    ('perl: files, directories, children', ['perl', '-we',
     'use strict; opendir(my $d, "root") or die; print join(",", sort readdir $d), "\n"; open(my $f, ">", "out") or die; print $f "x" x 5; '
     'close $f; print -s "out", "\n"; print `echo child; exit 3`, $? >> 8, "\n"; open($f, "<", "nowhere") or print "$!\n"; '
     '$ENV{HOME} = "/changed"; print `echo \\$HOME`; my $p = fork; if (!$p) {exit 4} waitpid $p, 0; print $? >> 8, "\n"; unlink "out"']),
    ('python: -I, -E, -S, -B', 'for o in -I -E -S "-I -S" -B -u; do %s $o -c "import sys, hashlib; print(sys.flags.isolated, '
     'hashlib.sha256(b\'x\').hexdigest())" || echo failed; done' % PYTHON),
    ('python: sqlite3, ssl, ctypes, zipfile, tempfile', [PYTHON, '-c',
     'import ctypes, shutil, sqlite3, ssl, tempfile, os, zipfile, mmap, glob\n'
     'c = sqlite3.connect("db"); c.execute("create table t (a)"); c.executemany("insert into t values (?)", [(i,) for i in range(99)]); c.commit()\n'
     'print(c.execute("select sum(a) from t").fetchone(), ssl.create_default_context().verify_mode)\n'
     'print(ctypes.CDLL(None).abs(-3), sorted(glob.glob("root/*")))\n'
     'shutil.make_archive("a", "zip", "root"); print(len(zipfile.ZipFile("a.zip").namelist()))\n'
     'with tempfile.TemporaryDirectory(dir=".") as d: open(os.path.join(d, "x"), "x").close(); print(os.listdir(d))\n'
     'with open("db", "rb") as f: print(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:15])\n'
     'fd = os.open("root", os.O_RDONLY); print(sorted(os.listdir(fd)), os.stat("fxgraph", dir_fd=fd).st_mode)']),
    ('python: subprocess in every way', [PYTHON, '-c',
     'import subprocess as s, os\n'
     'print(s.run(["cat"], input=b"x", stdout=-1, close_fds=True).stdout, s.call("exit 5", shell=True), s.getoutput("echo y"))\n'
     'print(s.run(["sh", "-c", "ls /proc/self/fd | wc -l"], stdout=-1).stdout, s.run(["pwd"], cwd="/", stdout=-1, start_new_session=True).stdout)\n'
     'print(os.spawnlp(os.P_WAIT, "true", "true"), os.system("exit 2") >> 8)\n'
     'try: s.run(["/nowhere"])\nexcept OSError as e: print(e)']),
    ('rsync of a cache directory', 'rsync -a root/ copy && diff -r root copy && echo same; rsync -ain --delete root/ copy | head', 'rsync'),
    ('cc, ar, ld, nm, strip, objcopy', 'printf "int f(void) { return 3; }\\n" > f.c; printf "int f(void); int main(void) { return f(); }\\n" > m.c; '
     'cc -c -g f.c m.c && ar rcs libf.a f.o && cc m.o -L. -lf -o p; ./p; echo $?; ld -r -o both.o f.o m.o; nm both.o; strip p; ./p; echo $?; '
     'objcopy -O binary -j .text f.o text; cksum text; cc -shared -fPIC f.c -o libg.so && nm -D libg.so | grep -w f', 'cc'),
    ('a link by the name of a cache', 'ln -s root cache; ls cache/; readlink cache; ln -s nowhere __grp__x.json; cat __grp__x.json; ls -l | wc -l'),
)
