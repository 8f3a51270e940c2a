# SPDX-License-Identifier: Apache-2.0
"""Caches that are not as they should be: native behaviour or a miss, never other bytes, a crash or a hang."""
import errno
import os
import shutil
import signal
import subprocess
import sys

from cases import case
from cases_place import read
from cases_stat import call_stat
from cases_store import fresh, temporary
from rank import read_raw

# ---- a file that changes while it is read -----------------------------------------------------------------

WRITER = '''
import itertools, os, sys
path, canonical, third = sys.argv[1], open(sys.argv[2], "rb").read(), open(sys.argv[3], "rb").read()
def put(data, name=path, flags=os.O_TRUNC):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | flags, 0o644)
    for at in range(0, len(data), 4096):
        os.write(fd, data[at:at + 4096])
    os.close(fd)
def replaced(data):
    put(data, path + ".new")
    os.rename(path + ".new", path)
for step in itertools.cycle((lambda: put(canonical), lambda: put(third), lambda: os.truncate(path, len(canonical) // 2),
                             lambda: replaced(canonical), lambda: put(third, flags=0), lambda: replaced(third),
                             lambda: put(canonical + third), lambda: replaced(canonical), lambda: put(b""),
                             lambda: os.unlink(path), lambda: put(canonical))):
    step()
'''


@case('open stat', 'an entry that is rewritten, cut, grown and replaced all the time')
def changes(rank):
    environment = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'RANKSHARE')}
    third = rank.told['views']['3']['fx']
    writer = subprocess.Popen([sys.executable, '-c', WRITER, rank.fx, rank.told['views']['0']['fx'], third], env=environment)
    seen = {'absent': 0, 'view': 0}
    try:
        for _ in range(20000):
            fd = rank.call('open', rank.fx, os.O_RDONLY)
            if fd < 0:
                rank.check(rank.errno in (errno.ENOENT, errno.EIO), 'errno is %d' % rank.errno)
                seen['absent'] += 1
            else:
                with os.fdopen(fd, 'rb') as entry:
                    rank.equal(entry.read(), rank.fx_view, 'what is read')
                seen['view'] += 1
            result, size = call_stat(rank, 'stat', rank.fx)[:2]
            rank.check(result == -1 or size == len(rank.fx_view), 'size %d' % size)
            if min(seen.values()) >= 20:
                return
            rank.check(writer.poll() is None, 'the writer has ended')
    finally:
        writer.kill()
        writer.wait()
    rank.check(False, 'only %s' % seen)


# ---- places that are none ----------------------------------------------------------------------------------

def loop(path):
    os.symlink(os.path.basename(path), path)


def file(path):
    with open(path, 'w'):
        pass


def link_to_file(path):
    file(path + '.file')
    os.symlink(path + '.file', path)


def dangling(path):
    os.symlink('nowhere', path)


ROOTS = {'a link to itself': (loop, errno.ELOOP), 'a file': (file, errno.ENOTDIR),
         'a link to a file': (link_to_file, errno.ENOTDIR), 'a link that leads nowhere': (dangling, errno.ENOENT)}

for label, (make, error) in ROOTS.items():
    @case('open stat lstat access opendir mkdir rename link rmdir', "the root, fxgraph or a key's directory is " + label,
          make=make, error=error, environment={'TORCHINDUCTOR_CACHE_DIR': '{root}/broken'})
    def no_place(rank, make, error):
        root = os.path.join(rank.root, 'broken')
        key = os.path.basename(rank.fx_dir)
        folder = os.path.join(root, 'fxgraph', key[1:3], key)
        entry, source = os.path.join(folder, os.path.basename(rank.fx)), os.path.join(rank.root, 'source')
        for at in (folder, os.path.join(root, 'fxgraph'), root):
            shutil.rmtree(root, ignore_errors=True)
            os.makedirs(os.path.dirname(at), exist_ok=True)
            make(at)
            rank.put(source, rank.fx_view)
            for arguments in (('open', entry, os.O_RDONLY), ('open', entry, os.O_RDWR), ('stat', entry, bytes(256)),
                              ('lstat', entry, bytes(256)), ('access', entry, os.R_OK), ('opendir', folder),
                              ('rename', source, entry), ('link', source, entry)):
                rank.fail(error, *arguments)
            rank.equal(rank.disk(source), rank.fx_view, 'the source')
        rank.fail(error, 'mkdir', os.path.join(root, 'triton', '11'), 0o755)


@case('open stat', "a root given by a link to itself: other files are what they are", hashed=('aot',),
      environment={'TORCHINDUCTOR_CACHE_DIR': '{root}/loop', 'TRITON_CACHE_DIR': '{root}/loop', 'RANKSHARE_ROOTS': '{root}/loop:'})
def root_loop(rank):
    loop(os.path.join(rank.root, 'loop'))
    rank.equal(read(rank, rank.fx), rank.fx_raw, 'what is read')


# ---- half-filled directories -------------------------------------------------------------------------------

@case('opendir', 'a producer that is killed with its temporary file written: the next one fills the place', prepare=fresh('fx'))
def killed_producer(rank):
    os.rmdir(rank.fx_dir)
    left = temporary(rank)
    child = os.fork()
    if child == 0:
        try:
            rank.hash('fx')
            rank.call('opendir', rank.fx_dir)
            os.mkdir(rank.fx_dir)
            rank.put(left, rank.fx_view[:1000])
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    rank.equal(os.waitpid(child, 0)[1], signal.SIGKILL, 'the producer')
    rank.equal(rank.names(rank.fx_dir), [os.path.basename(left)], 'what it left')
    rank.hash('fx')
    rank.equal(os.listdir(rank.fx_dir), [os.path.basename(left)], 'what the next one sees')
    rank.counts(fx_misses=1, fx_hits=0, leases=1, takeovers=1)
    rank.equal(read(rank, left), 'absent', 'half an entry on its way')
    source = os.path.join(rank.fx_dir, '.77.77.tmp')
    rank.put(source, rank.fx_view)
    rank.succeed('rename', source, rank.fx)
    rank.hash('fx')
    os.listdir(rank.fx_dir)
    rank.counts(fx_hits=1, stores_fx=1)


GROUPS = {
    'paths elsewhere': b'{"child_paths": {"kernel.cubin": "/etc/passwd", "x": "../../../../etc/shadow"}}',
    'no children': b'{"child_paths": {}}', 'half of it': b'{"child_paths": {"kern', 'nothing': b'', 'zeros': bytes(5000),
    'a pickle': b'\x80\x04N.', 'another type': b'[1, 2]',
}


@case('open stat', 'group files of any content are handed out as they are', hashed=())
def groups(rank):
    for i, (label, data) in enumerate(GROUPS.items()):
        rank.put(rank.group, data)
        rank.hash_triton()
        rank.equal(call_stat(rank, 'stat', rank.group)[:2], [0, len(data)], 'size of one with ' + label)
        rank.equal(read_raw(rank.group), data, 'the disk')
        rank.equal(read(rank, rank.group), data, 'one with ' + label)
    rank.counts(triton_hits=len(GROUPS), triton_misses=0, leases=0)


@case('open', 'children without their group file: a miss, and a producer', hashed=())
def no_group(rank):
    os.unlink(rank.group)
    rank.put(os.path.join(os.path.dirname(rank.group), 'kernel.cubin'), b'code')
    rank.hash_triton()
    rank.fail(errno.ENOENT, 'open', rank.group, os.O_RDONLY)
    rank.counts(triton_hits=0, triton_misses=1, leases=1)
