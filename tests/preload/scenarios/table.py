# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of us: (name, command), a list or a line for sh. Run plainly, with the library
off and with it on, each says the same."""
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
)
