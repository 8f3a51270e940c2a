# SPDX-License-Identifier: Apache-2.0
"""First looks: where a rank learns whether it compiles. Also opendir and scandir themselves."""
import ctypes
import errno
import os
import threading

from cases import case
from cases_open import OPENS, opener
from cases_stat import call_stat
from cases_store import fresh
from rank import Failed

LISTS = ('opendir', 'scandir', 'scandir64')
NAME_AT = 19  # of struct dirent's name; struct dirent64 is the same here


def list_names(rank, name, path):
    """Sorted names by the libc call NAME, or None (rank.errno says why)."""
    if name == 'opendir':
        rank.libc.readdir.restype = ctypes.c_void_p
        directory = rank.call(name, path)
        if not directory:
            return None
        names = []
        while True:
            entry = rank.libc.readdir(ctypes.c_void_p(directory))
            if not entry:
                break
            names.append(ctypes.string_at(entry + NAME_AT).decode())
        rank.libc.closedir(ctypes.c_void_p(directory))
    else:
        pointers = ctypes.POINTER(ctypes.c_void_p)()
        count = rank.call(name, path, ctypes.byref(pointers), None, None)
        if count < 0:
            return None
        names = [ctypes.string_at(pointers[i] + NAME_AT).decode() for i in range(count)]
    return sorted(n for n in names if n not in ('.', '..'))


for hook in LISTS:
    @case(hook, 'finds the entry: a hit, once', name=hook)
    def hit(rank, name):
        for _ in range(3):
            rank.equal(list_names(rank, name, rank.fx_dir), [os.path.basename(rank.fx)], 'names')
        rank.counts(fx_hits=1, fx_misses=0, leases=0)

    @case(hook, 'finds nothing: the rank becomes the producer and sees a miss', name=hook, prepare=fresh('fx'))
    def miss(rank, name):
        rank.equal(list_names(rank, name, rank.fx_dir), [], 'names')
        rank.counts(fx_hits=0, fx_misses=1, leases=1)

    @case(hook, 'only temporary names in the directory are a miss', name=hook, prepare=fresh('fx'))
    def temporary_names(rank, name):
        rank.put(os.path.join(rank.fx_dir, '.1.2.tmp'), b'half')
        rank.equal(list_names(rank, name, rank.fx_dir), ['.1.2.tmp'], 'names')
        rank.counts(fx_hits=0, fx_misses=1, leases=1)

    @case(hook, 'no directory at all is ENOENT and a miss', name=hook, prepare=fresh('fx'))
    def no_directory(rank, name):
        os.rmdir(rank.fx_dir)
        rank.equal(list_names(rank, name, rank.fx_dir), None, 'names')
        rank.equal(rank.errno, errno.ENOENT, 'errno')
        rank.counts(fx_misses=1, leases=1)

    @case(hook, 'an AOT key: counted, never leased', name=hook, prepare=fresh('aot'), hashed=('fx', 'aot'))
    def aot(rank, name):
        rank.equal(list_names(rank, name, rank.aot_dir), [], 'names')
        rank.counts(aot_misses=1, aot_hits=0, leases=0)

    @case(hook, 'a key that was not the last one hashed is no look', name=hook, hashed=('fx', 'aot'), prepare=fresh('fx'))
    def other_key(rank, name):
        rank.equal(list_names(rank, name, rank.fx_dir), [], 'names')
        rank.counts(fx_misses=0, fx_hits=0, leases=0)

    @case(hook, 'other directories: names, ENOENT, ENOTDIR', name=hook)
    def others(rank, name):
        rank.equal(list_names(rank, name, rank.root), sorted(os.listdir(rank.told['template'])), 'names of the root')
        rank.equal(list_names(rank, name, os.path.join(rank.root, 'none')), None, 'names')
        rank.equal(rank.errno, errno.ENOENT, 'errno')
        rank.equal(list_names(rank, name, rank.fx), None, 'names of a file')
        rank.equal(rank.errno, errno.ENOTDIR, 'errno')


@case('opendir', 'a look by another thread than the one that hashed is no look', prepare=fresh('fx'))
def other_thread(rank):
    thread = threading.Thread(target=lambda: list_names(rank, 'opendir', rank.fx_dir))
    thread.start()
    thread.join()
    rank.counts(fx_misses=0, leases=0)
    list_names(rank, 'opendir', rank.fx_dir)
    rank.counts(fx_misses=1, leases=1)


@case('opendir', 'a lease that ends in a store, and one that ends without', prepare=fresh('fx'))
def lease_ends(rank):
    from cases_store import temporary
    list_names(rank, 'opendir', rank.fx_dir)
    rank.hash('fx')
    list_names(rank, 'opendir', rank.fx_dir)
    rank.counts(unproductive=1, leases=1)
    rank.put(temporary(rank), rank.fx_view)
    os.rename(temporary(rank), rank.fx)
    rank.hash('fx')
    list_names(rank, 'opendir', rank.fx_dir)
    rank.counts(fx_hits=1, fx_misses=2, stores_fx=1)


@case('opendir', 'a second process waits for the first and then loads', prepare=fresh('fx'))
def waits(rank):
    from cases_store import temporary
    import subprocess
    import sys
    import time
    list_names(rank, 'opendir', rank.fx_dir)
    program = ('import hashlib, os, sys\n'
               'hashlib.sha256(open(sys.argv[1], "rb").read()).digest()\n'
               'print("hashed", flush=True)\n'
               'print(*os.listdir(sys.argv[2]), flush=True)\n')
    other = subprocess.Popen([sys.executable, '-c', program, rank.told['details']['3']['fx'], rank.fx_dir],
                             stdout=subprocess.PIPE, universal_newlines=True)
    other.stdout.readline()
    time.sleep(0.5)
    if other.poll() is not None:
        raise Failed('the other rank did not wait')
    rank.put(temporary(rank), rank.fx_view)
    os.rename(temporary(rank), rank.fx)
    rank.equal(other.communicate(timeout=20)[0].strip(), os.path.basename(rank.fx), 'what the other rank found')


for hook in OPENS:
    @case(hook, 'of a group file is the first look at a Triton key', name=hook, hashed=())
    def triton_hit(rank, name):
        rank.hash_triton()
        for _ in range(2):
            rank.succeed(name, *opener(rank, name, rank.group, os.O_RDONLY))
        rank.counts(triton_hits=1, triton_misses=0, leases=0)

for hook in ('open', 'openat', '__open64_2'):
    @case(hook, 'of an absent group file makes a producer', name=hook, hashed=())
    def triton_miss(rank, name):
        os.unlink(rank.group)
        rank.hash_triton()
        rank.fail(errno.ENOENT, name, *opener(rank, name, rank.group, os.O_RDONLY))
        rank.counts(triton_hits=0, triton_misses=1, leases=1)

for hook in ('stat', 'stat64', '__xstat', 'fstatat', 'statx'):
    @case(hook, 'of an absent group file makes a producer', name=hook, hashed=())
    def triton_stat(rank, name):
        os.unlink(rank.group)
        rank.hash_triton()
        rank.equal(call_stat(rank, name, rank.group)[0], -1, 'result')
        rank.equal(rank.errno, errno.ENOENT, 'errno')
        rank.counts(triton_hits=0, triton_misses=1, leases=1)
