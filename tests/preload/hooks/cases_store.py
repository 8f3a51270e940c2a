# SPDX-License-Identifier: Apache-2.0
"""rename and link: an entry reaches the disk in canonical form, complete, or not at all."""
import ctypes
import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
import uuid

from cases import case
from rank import AT_FDCWD

RENAMES = ('rename', 'renameat', 'renameat2')
LINKS = ('link', 'linkat')
NOREPLACE = 1


def arguments(name, source, target, fromfd=AT_FDCWD, tofd=AT_FDCWD, flags=0):
    if name in ('rename', 'link'):
        return source, target
    if name == 'renameat':
        return fromfd, source, tofd, target
    return fromfd, source, tofd, target, flags


def temporary(rank, label='fx'):
    return os.path.join(getattr(rank, label + '_dir'), '.%d.%d.tmp' % (os.getpid(), 140000))


def fresh(label):
    """Takes the entry away: the key is a miss."""
    def prepare(root):
        for folder, _, names in os.walk(os.path.join(root, 'fxgraph' if label == 'fx' else 'aotautograd')):
            for name in names:
                os.unlink(os.path.join(folder, name))
    return prepare


for hook in RENAMES + LINKS:
    @case(hook, 'a native FX entry lands in canonical form', name=hook, label='fx', prepare=fresh('fx'))
    @case(hook, 'a native AOT entry lands in canonical form', name=hook, label='aot', prepare=fresh('aot'))
    def store(rank, name, label):
        source, target = temporary(rank, label), getattr(rank, label)
        rank.put(source, getattr(rank, label + '_view'), 0o640)
        os.chmod(source, 0o640)
        os.utime(source, ns=(1700000000000000001, 1600000000000000002))
        rank.equal(rank.succeed(name, *arguments(name, source, target)), 0, 'result')
        rank.equal(rank.disk(target), getattr(rank, label + '_raw'), 'the disk')
        kept = [os.path.basename(source)] if name in LINKS else []
        rank.equal(rank.names(os.path.dirname(target)), sorted(kept + [os.path.basename(target)]), 'names')
        information = os.stat(target)
        rank.equal(stat.S_IMODE(information.st_mode), 0o640, 'mode')
        rank.equal(information.st_mtime_ns, 1600000000000000002, 'modification time')
        rank.counts(**{'stores_' + label: 1, 'stores_rewritten': 1, 'stores_dropped': 0})
        fd = os.open(target, os.O_RDONLY)
        rank.equal(os.fstat(fd).st_size, len(getattr(rank, label + '_view')), 'size of what we read back')

    @case(hook, 'half an entry is not stored', name=hook, prepare=fresh('fx'))
    def damaged(rank, name):
        source = temporary(rank)
        rank.put(source, rank.fx_view[:len(rank.fx_view) // 2])
        rank.equal(rank.succeed(name, *arguments(name, source, rank.fx)), 0, 'result')
        rank.equal(rank.disk(rank.fx), None, 'the disk')
        rank.equal(rank.names(rank.fx_dir), [os.path.basename(source)] if name in LINKS else [], 'names')
        rank.counts(stores_dropped=1, stores_fx=0)

    @case(hook, 'an absent source is ENOENT', name=hook, prepare=fresh('fx'))
    def no_source(rank, name):
        rank.fail(errno.ENOENT, name, *arguments(name, temporary(rank), rank.fx))
        rank.equal(rank.names(rank.fx_dir), [], 'names')

    @case(hook, 'other files keep their bytes', name=hook)
    def others(rank, name):
        source, target = os.path.join(rank.root, 'a'), os.path.join(rank.root, 'b')
        rank.put(source, rank.fx_view)
        rank.succeed(name, *arguments(name, source, target))
        rank.equal(rank.disk(target), rank.fx_view, 'the disk')
        rank.equal(rank.disk(source), rank.fx_view if name in LINKS else None, 'the source')

for hook in RENAMES:
    @case(hook, "over an entry of another rank, as torch's stores do", name=hook)
    def replace(rank, name):
        source = temporary(rank)
        rank.put(source, rank.fx_view)
        rank.succeed(name, *arguments(name, source, rank.fx))
        rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')
        rank.equal(rank.names(rank.fx_dir), [os.path.basename(rank.fx)], 'names')

    @case(hook, 'a bundle that meets a filled directory', name=hook)
    def bundle(rank, name):
        folder = os.path.dirname(rank.group)
        source = os.path.join(os.path.dirname(folder), 'tmp.' + str(uuid.uuid4()))
        os.mkdir(source)
        for i in range(300):  # more names than one getdents() returns
            rank.put(os.path.join(source, 'a file with a name of some length %d' % i), b'kernel')
        before = rank.names(folder)
        rank.equal(rank.succeed(name, *arguments(name, source, folder)), 0, 'result')
        rank.check(not os.path.lexists(source), 'the temporary directory is still there')
        rank.equal(rank.names(folder), before, 'names in the target')
        rank.counts(rename_races=1)

    @case(hook, 'a directory of another name onto a filled one stays an error', name=hook)
    def no_bundle(rank, name):
        folder = os.path.dirname(rank.group)
        source = os.path.join(os.path.dirname(folder), 'mine')
        os.mkdir(source)
        rank.put(os.path.join(source, 'file'), b'x')
        rank.check(rank.call(name, *arguments(name, source, folder)) == -1, 'it worked')
        rank.check(rank.errno in (errno.ENOTEMPTY, errno.EEXIST), 'errno is %d' % rank.errno)
        rank.equal(rank.names(source), ['file'], 'the source')

    @case(hook, 'a bundle with nobody in its way', name=hook)
    def first_bundle(rank, name):
        folder = os.path.dirname(rank.group)
        target = os.path.join(os.path.dirname(folder), 'B' * 51 + 'A')
        source = os.path.join(os.path.dirname(folder), 'tmp.' + str(uuid.uuid4()))
        os.mkdir(source)
        rank.put(os.path.join(source, '__grp__k.json'), b'{}')
        rank.equal(rank.succeed(name, *arguments(name, source, target)), 0, 'result')
        rank.equal(rank.names(target), ['__grp__k.json'], 'names in the target')

    @case(hook, 'a group file ends a Triton store', name=hook)
    def group(rank, name):
        source = os.path.join(os.path.dirname(rank.group), 'tmp.pid_1_2')
        rank.put(source, b'{"child_paths": {}}')
        rank.succeed(name, *arguments(name, source, rank.group))
        rank.equal(rank.disk(rank.group), b'{"child_paths": {}}', 'the disk')
        rank.counts(stores_triton=1)



def bundle_of(rank, files=3):
    source = os.path.join(os.path.dirname(os.path.dirname(rank.group)), 'tmp.' + str(uuid.uuid4()))
    os.mkdir(source)
    for i in range(files):
        rank.put(os.path.join(source, 'kernel.%d' % i), b'kernel')
    return source


@case(' '.join(RENAMES), 'a bundle that meets something else than a filled directory: what the kernel says')
def bundle_elsewhere(rank):
    folder = os.path.dirname(rank.group)
    base = os.path.dirname(folder)
    for name in RENAMES:
        for make, error in ((lambda path: os.symlink(os.path.basename(folder), path), errno.ENOTDIR),
                            (lambda path: rank.put(path, b'file'), errno.ENOTDIR), (os.mkdir, 0)):
            source, target = bundle_of(rank), os.path.join(base, 'C' * 51 + 'A')
            make(target)
            rank.equal(rank.call(name, *arguments(name, source, target)), -1 if error else 0, 'result')
            if error:
                rank.equal(rank.errno, error, 'errno')
                rank.equal(len(rank.names(source)), 3, 'files of the bundle')
                os.unlink(target)
                shutil.rmtree(source)
            else:
                rank.equal(len(rank.names(target)), 3, 'files of the kernel')
                shutil.rmtree(target)
    rank.counts(rename_races=0)


REMOVER = '''
import os, shutil, sys
while True:
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    os.makedirs(sys.argv[1], exist_ok=True)
    for i in range(5):
        try:
            open(os.path.join(sys.argv[1], str(i)), 'w').close()
        except OSError:
            break
'''


@case('rename', 'bundles onto a kernel that others remove and make all the time')
def bundle_and_removal(rank):
    target = os.path.dirname(rank.group)
    environment = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'RANKSHARE')}
    other = subprocess.Popen([sys.executable, '-c', REMOVER, target], env=environment)
    try:
        for i in range(20000):
            source = bundle_of(rank)
            rank.equal(rank.succeed('rename', source, target), 0, 'result')
            rank.check(not os.path.lexists(source), 'the temporary directory is still there')
            if i % 200 == 199 and rank.counter('rename_races') >= 20:
                return
    finally:
        other.kill()
        other.wait()
    rank.check(False, 'no races: the case shows nothing')


for hook in ('renameat', 'renameat2', 'linkat'):
    @case(hook, 'directory descriptors and relative names', name=hook, prepare=fresh('fx'))
    def relative(rank, name):
        source = temporary(rank)
        rank.put(source, rank.fx_view)
        fromfd = os.open(rank.fx_dir, os.O_RDONLY | os.O_DIRECTORY)
        tofd = os.open(rank.root, os.O_RDONLY | os.O_DIRECTORY)
        rank.succeed(name, *arguments(name, os.path.basename(source), os.path.relpath(rank.fx, rank.root), fromfd, tofd))
        rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')

for hook in LINKS + ('renameat2',):
    @case(hook, 'an entry that is there is not replaced where the call must not', name=hook)
    def exists(rank, name):
        source = temporary(rank)
        rank.put(source, rank.fx_view)
        before = os.stat(rank.fx).st_ino
        rank.fail(errno.EEXIST, name, *arguments(name, source, rank.fx, flags=NOREPLACE if name == 'renameat2' else 0))
        rank.equal(os.stat(rank.fx).st_ino, before, 'the inode of the entry')
        rank.equal(rank.disk(source), rank.fx_view, 'the source')


@case('rename', 'a canonical entry lands as it is', prepare=fresh('fx'))
def canonical(rank):
    """What a rank of cuda:0 would store cannot come from this one."""
    source = temporary(rank)
    rank.put(source, rank.fx_raw)
    rank.succeed('rename', source, rank.fx)
    rank.check(rank.disk(rank.fx) in (None, rank.fx_raw), 'neither the canonical bytes nor nothing')


@case('rename', "a rank of cuda:0 stores what it has", prepare=fresh('fx'), ordinal=0)
def of_zero(rank):
    source = temporary(rank)
    rank.put(source, rank.fx_raw)
    before = os.stat(source).st_ino
    rank.succeed('rename', source, rank.fx)
    rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')
    rank.equal(os.stat(rank.fx).st_ino, before, 'the inode: nothing was copied')
    rank.counts(stores_fx=1, stores_rewritten=0)


@case('rename', 'an entry of a third ordinal under our key is not stored', prepare=fresh('fx'))
def foreign(rank):
    from rank import read_raw
    source = temporary(rank)
    rank.put(source, read_raw(rank.told['views']['3']['fx']))
    rank.equal(rank.succeed('rename', source, rank.fx), 0, 'result')
    rank.equal(rank.disk(rank.fx), None, 'the disk')
    rank.counts(stores_dropped=1)


@case('rename', 'an entry out of a blob: its key was never hashed here', prepare=fresh('fx'), hashed=('aot',))
def blob(rank):
    source = temporary(rank)
    rank.put(source, rank.fx_view)
    rank.succeed('rename', source, rank.fx)
    rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')
    rank.counts(stores_rewritten=1)


@case('rename', 'an unwritable directory: an error or nothing, never the raw bytes', prepare=fresh('fx'))
def unwritable(rank):
    source = os.path.join(rank.root, 'mine')
    rank.put(source, rank.fx_view)
    os.chmod(source, 0o666)
    os.chmod(rank.root, 0o777)
    os.chmod(rank.fx_dir, 0o555)
    if os.geteuid() == 0:
        os.seteuid(65534)
    rank.call('rename', source, rank.fx)
    rank.equal(rank.names(rank.fx_dir), [], 'names in the directory')


def without_main_thread(act):
    """Calls ACT in a fork child whose main thread has ended; whether it returned."""
    child = os.fork()
    if child == 0:
        def other():
            status = 1
            try:
                state = ''
                while state != 'Z':
                    with open('/proc/self/stat') as text:
                        state = text.read().rpartition(')')[2].split()[0]
                act()
                status = 0
            finally:
                os._exit(status)
        threading.Thread(target=other, daemon=True).start()
        ctypes.CDLL(None).pthread_exit(None)
    return os.waitpid(child, 0)[1] == 0


for there in (False, True):
    @case('rename', 'a process whose main thread has ended: ' + ('over an entry' if there else 'a new entry'), hashed=('fx',),
          prepare=None if there else fresh('fx'))
    def leaderless(rank):
        source = temporary(rank)
        rank.put(source, rank.fx_view)

        def store():
            rank.hash('fx')
            rank.succeed('rename', source, rank.fx)
        rank.check(without_main_thread(store), 'the rename failed')
        rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')
        rank.equal(rank.names(rank.fx_dir), [os.path.basename(rank.fx)], 'names')
