# SPDX-License-Identifier: Apache-2.0
"""Odd names, odd roots, odd files, several ordinals in one process."""
import base64
import errno
import hashlib
import os
import shutil
import subprocess
import threading
import time

import fixture
from cases import case
from cases_open import is_view
from cases_rest import NOWHERE, shown
from cases_stat import sizes
from cases_store import fresh, temporary
from rank import Failed, Skipped, read_all, read_raw


def spelled(rank, path):
    """Reads, stats and refuses to write under another spelling of the FX entry's name."""
    is_view(rank, rank.succeed('open', path, os.O_RDONLY), rank.fx_view)
    sizes(rank, 'stat', path, len(rank.fx_view))
    rank.fail(errno.EACCES, 'open', path, os.O_RDWR)


@case('open stat', 'relative names, dots, doubled and trailing slashes')
def spellings(rank):
    rest = os.path.relpath(rank.fx, rank.root)
    for path in (rank.root + '//' + rest, rank.root + '/./' + rest, rank.fx_dir + '/../' + rest.split('/', 2)[2],
                 rank.fx_dir + '//' + os.path.basename(rank.fx), rank.root + '/fxgraph/../' + rest,
                 '/proc/self/root' + rank.fx):
        spelled(rank, path)
    for folder in (rank.root, rank.fx_dir, os.path.dirname(rank.fx_dir), '/'):
        os.chdir(folder)
        spelled(rank, os.path.relpath(rank.fx, folder))
        spelled(rank, './' + os.path.relpath(rank.fx, folder))
    rank.fail(errno.ENOTDIR, 'open', rank.fx + '/', os.O_RDONLY)


@case('open stat', 'a root behind a symbolic link, by either name', environment={'TORCHINDUCTOR_CACHE_DIR': '{root}.link'})
def linked_root(rank):
    os.symlink(rank.root, rank.root + '.link')
    spelled(rank, rank.fx)
    spelled(rank, rank.fx.replace(rank.root, rank.root + '.link'))


@case('open stat', 'a link to the root beside it')
def link_to_root(rank):
    os.symlink('root', rank.root + '.link')
    spelled(rank, rank.fx.replace(rank.root, rank.root + '.link'))


@case('open stat', 'a link to the entry under another name')
def link_to_entry(rank):
    """Torch makes none; what must not happen is that the name decides what one rank sees of the entry."""
    path = os.path.join(rank.fx_dir, 'x' * 51)
    os.symlink(os.path.basename(rank.fx), path)
    spelled(rank, path)


@case('open stat', 'a root with a slash behind it', environment={'TORCHINDUCTOR_CACHE_DIR': '{root}/'})
@case('open stat', 'RANKSHARE_ROOTS', environment={'TORCHINDUCTOR_CACHE_DIR': None,
                                                   'RANKSHARE_ROOTS': '/nowhere::{root}:/else'})
def other_settings(rank):
    spelled(rank, rank.fx)


@case('open', 'no root: the entry is what lies there', environment=NOWHERE, hashed=('aot',))
def no_root(rank):
    rank.equal(shown(rank), 'raw', 'what is read')


@case('open', 'a process that has hashed nothing sees the disk', hashed=())
def nothing_hashed(rank):
    hashlib.sha256(b'something else').digest()
    rank.equal(shown(rank), 'raw', 'what is read')
    rank.succeed('open', rank.fx, os.O_RDWR)


@case('open', 'a rank of cuda:0 sees the disk', ordinal=0)
def ordinal_zero(rank):
    rank.equal(read_all(rank.succeed('open', rank.fx, os.O_RDONLY)), rank.fx_raw, 'what is read')
    rank.succeed('open', rank.fx, os.O_RDWR)
    rank.counts(views=0)


@case('open', 'after a warm AOT hit the FX entry is opened without being hashed', hashed=('aot',))
def not_hashed(rank):
    rank.equal(shown(rank), 'view', 'what is read')
    rank.counts(views=1, view_bytes=len(rank.fx_view))


@case('open', 'a fork child sees what its parent saw, until it has details of its own')
def fork_child(rank):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if shown(rank) == 'view' else 2
            rank.hash('fx', 3)
            fd = os.open(rank.fx, os.O_RDONLY)
            code = code or (0 if read_all(fd) == read_raw(rank.told['views']['3']['fx']) else 3)
        finally:
            os._exit(code)
    rank.equal(os.waitpid(child, 0)[1] >> 8, 0, 'the child (2: no view, 3: not the view of its own ordinal)')
    rank.equal(shown(rank), 'view', 'what the parent reads afterwards')


@case('open stat', 'half an entry is hidden')
def half(rank):
    rank.put(rank.fx, rank.fx_raw[:len(rank.fx_raw) * 2 // 3])
    rank.fail(errno.ENOENT, 'open', rank.fx, os.O_RDONLY)
    rank.fail(errno.ENOENT, 'fopen', rank.fx, 'r')
    rank.counts(views=0)
    rank.check(rank.counter('views_failed') >= 2, 'views_failed was not counted')


@case('open stat', 'an entry that goes bad after a stat is EIO, not absent')
def goes_bad(rank):
    sizes(rank, 'stat', rank.fx, len(rank.fx_view))
    rank.put(rank.fx, rank.fx_raw[:1000])
    rank.fail(errno.EIO, 'open', rank.fx, os.O_RDONLY)


@case('open', 'an empty file and one of zeros are no entries')
def nonsense(rank):
    for data in (b'', b'\0' * 4096, b'\x80\x04.', os.urandom(5000)):
        rank.put(rank.fx, data)
        fd = rank.call('open', rank.fx, os.O_RDONLY)
        rank.check(fd < 0 or read_all(fd) == data, 'other bytes than those on disk')


@case('open stat access', 'a directory, a FIFO and a dangling link in the place of an entry')
def not_files(rank):
    path = os.path.join(rank.fx_dir, 'd' * 51)
    os.mkdir(path)
    rank.check(rank.call('open', path, os.O_RDONLY | os.O_DIRECTORY) >= 0, 'a directory cannot be opened')
    os.rmdir(path)
    os.symlink('nowhere', path)
    rank.fail(errno.ENOENT, 'open', path, os.O_RDONLY)
    os.unlink(path)
    os.mkfifo(path)
    rank.call('open', path, os.O_RDONLY | os.O_NONBLOCK)  # any answer, but no waiting
    rank.call('stat', path, bytes(256))
    with subprocess.Popen(['sh', '-c', 'echo text >"$1"', 'sh', path]) as writer:
        time.sleep(0.3)  # it waits in open()
        rank.call('access', path, os.R_OK)
        time.sleep(0.3)
        rank.equal(writer.poll(), None, 'end of a writer that nobody has let in')
        rank.equal(subprocess.run(['cat', path], stdout=subprocess.PIPE).stdout, b'text\n', 'what it writes')


@case('open', "temporary names of an entry's directory are themselves")
def temporary_file(rank):
    rank.put(temporary(rank), rank.fx_view)
    rank.equal(read_all(rank.succeed('open', temporary(rank), os.O_RDWR)), rank.fx_view, 'what is read')


@case('open stat rename mkdir opendir access', 'names of 4096 bytes and more, and an empty one')
def long_names(rank):
    for length in (4095, 4096, 4097, 9000):
        path = rank.root + '/x' * ((length - len(rank.fx)) // 2) + rank.fx[len(rank.root):]
        path = path.replace('/x', '//', 1) if len(path) < length else path
        rank.check(abs(len(path) - length) <= 1, 'the test made a name of %d bytes' % len(path))
        expected = errno.ENAMETOOLONG if len(path) >= 4096 else errno.ENOENT
        rank.fail(expected, 'open', path, os.O_RDONLY)
        rank.fail(expected, 'stat', path, bytes(256))
        rank.fail(expected, 'access', path, os.R_OK)
        rank.fail(expected, 'opendir', path)
        rank.fail(expected, 'rename', rank.fx, path)
        rank.fail(expected, 'mkdir', path, 0o755)
    slashes = rank.root + '/' * (4095 - len(rank.fx)) + rank.fx[len(rank.root):]
    rank.equal(len(slashes), 4095 - 0, 'length of the name')
    spelled(rank, slashes)
    rank.fail(errno.ENOENT, 'open', '', os.O_RDONLY)
    rank.fail(errno.ENOENT, 'stat', '', bytes(256))
    rank.fail(errno.ENOENT, 'rename', '', '')
    rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')


@case('open stat access rename mkdir opendir statx', 'no address at all is EFAULT')
def no_address(rank):
    rank.fail(errno.EFAULT, 'open', None, os.O_RDONLY)
    rank.fail(errno.EFAULT, 'stat', None, bytes(256))
    rank.fail(errno.EFAULT, 'access', None, os.R_OK)
    rank.fail(errno.EFAULT, 'mkdir', None, 0o755)
    rank.fail(errno.EFAULT, 'rename', rank.root, None)


@case('open stat', 'no permission to read the entry')
def no_permission(rank):
    os.chmod(rank.fx, 0)
    if os.geteuid() == 0:
        os.seteuid(65534)
    rank.fail(errno.EACCES, 'open', rank.fx, os.O_RDONLY)
    sizes(rank, 'stat', rank.fx, len(rank.fx_raw))


@case('open', 'another user may read what is readable')
def other_user(rank):
    if os.geteuid() != 0:
        raise Skipped('not root')
    os.seteuid(65534)
    rank.equal(shown(rank), 'view', 'what is read')


@case('open', 'an entry of a third ordinal under a canonical key is a miss')
def third_ordinal(rank):
    rank.put(rank.fx, read_raw(rank.told['views']['3']['fx']))
    rank.fail(errno.ENOENT, 'open', rank.fx, os.O_RDONLY)
    rank.counts(raw_foreign=0, views=0, views_failed=1, refused_not_canonical=1)


@case('open', "an entry of the rank's own ordinal under a canonical key is handed out as it is")
def own_ordinal(rank):
    rank.put(rank.fx, rank.fx_view)
    rank.equal(read_all(rank.succeed('open', rank.fx, os.O_RDONLY)), rank.fx_view, 'what is read')
    rank.counts(raw_foreign=1, views=0)


@case('rename', "another container's temporary file is not touched")
def same_pid(rank):
    """Two containers on one directory may have equal pids and tids."""
    folder, name = os.path.dirname(rank.fx), '.rs.%d.%d' % (os.getpid(), threading.get_native_id())
    theirs, source = os.path.join(folder, name), os.path.join(folder, '.1.2.tmp')
    rank.put(theirs, b'half of theirs')
    rank.put(source, rank.fx_view)
    rank.succeed('rename', source, rank.fx)
    rank.equal(rank.disk(theirs), b'half of theirs', 'their file')
    rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')


# ---- a second ordinal in one process ----------------------------------------------------------------

def private_place(rank, ordinal=12):
    details = read_raw(rank.told['details'][str(ordinal)]['fx'])
    salted = b'rankshare:ordinal:%d\0' % ordinal + details
    key = fixture.name51(salted)
    return hashlib.sha256(salted).digest(), os.path.join(rank.root, 'fxgraph', key[:2], 'f' + key)


@case('rename open', 'a second ordinal: salted key, marked entry, raw for everyone')
def second_ordinal(rank):
    digest, folder = private_place(rank)
    rank.equal(rank.hash('fx', 12), digest, 'the digest of the second ordinal')
    native = read_raw(rank.told['views']['12']['fx'])
    rank.check(os.path.basename(folder) != os.path.basename(rank.fx_dir), 'this key is the canonical one')
    os.makedirs(folder)
    source, target = os.path.join(folder, '.1.2.tmp'), os.path.join(folder, 'e' * 51)
    rank.put(source, native)
    rank.succeed('rename', source, target)
    stored = rank.disk(target)
    rank.check(stored is not None and stored.startswith(native), 'the native bytes are not on disk')
    rank.check(len(stored) > len(native), 'no mark behind them')
    rank.equal(read_all(os.open(target, os.O_RDONLY)), stored, 'what this process reads')
    rank.equal(shown(rank), 'view', 'an entry of the first ordinal')
    rank.counts(keys_private=1, stores_private=1, raw_private=1)


@case('rename link', 'a second ordinal: other files are not marked, and no entry twice')
def second_ordinal_twice(rank):
    native, folder = read_raw(rank.told['views']['12']['fx']), private_place(rank)[1]
    rank.hash('fx', 12)
    os.makedirs(folder)
    source = os.path.join(folder, '.1.2.tmp')
    rank.put(source, b'{"notes": 1}')
    rank.succeed('rename', source, os.path.join(folder, 'notes.json'))
    rank.equal(rank.disk(os.path.join(folder, 'notes.json')), b'{"notes": 1}', 'the other file')
    rank.put(source, native)
    rank.succeed('link', source, os.path.join(folder, 'e' * 51))
    rank.succeed('rename', source, os.path.join(folder, 'f' * 51))
    rank.equal(rank.disk(os.path.join(folder, 'f' * 51)), native + b'\nrankshare:private:12\n', 'the disk')
    rank.counts(stores_private=2)


@case('open', 'a marked entry is raw for a rank that knows nothing of it')
def marked(rank):
    """As a second_ordinal case of another process would have left it."""
    digest, folder = private_place(rank)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            rank.hash('fx', 11)
            rank.hash('fx', 12)
            os.makedirs(folder)
            rank.put(os.path.join(folder, '.1.2.tmp'), read_raw(rank.told['views']['12']['fx']))
            os.rename(os.path.join(folder, '.1.2.tmp'), os.path.join(folder, 'e' * 51))
            code = 0
        finally:
            os._exit(code)
    rank.equal(os.waitpid(child, 0)[1], 0, 'the process that stores')
    path = os.path.join(folder, 'e' * 51)
    stored = rank.disk(path)
    rank.check(len(stored) > len(read_raw(rank.told['views']['12']['fx'])), 'no mark on disk')
    rank.equal(read_all(os.open(path, os.O_RDONLY)), stored, 'what is read')
    sizes(rank, 'stat', path, len(stored))
    rank.check(rank.counter('raw_private') >= 1, 'raw_private was not counted')


# ---- keys that stay native ---------------------------------------------------------------------------

@case('open rename', 'a remote cache: keys stay native, entries too',
      environment={'TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE': '1'}, hashed=())
def remote_cache(rank):
    canonical = os.path.basename(rank.fx_dir)[1:]
    key = base64.b32encode(rank.hash('fx'))[:51].decode().lower()
    rank.check(key != canonical, 'the key is the canonical one')
    folder = os.path.join(rank.root, 'fxgraph', key[:2], 'f' + key)
    os.makedirs(folder)
    rank.put(os.path.join(folder, '.1.2.tmp'), rank.fx_view)
    path = os.path.join(folder, 'e' * 51)
    rank.succeed('rename', os.path.join(folder, '.1.2.tmp'), path)
    rank.equal(rank.disk(path), rank.fx_view, 'the disk')
    rank.equal(read_all(os.open(path, os.O_RDONLY)), rank.fx_view, 'what is read')
    rank.counts(refused_remote_cache=1, keys_native=1, keys_canonical=0)


@case('open', 'with hardly a descriptor left: a view or an error, never the raw bytes')
def few_descriptors(rank):
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    free = os.open('/dev/null', os.O_RDONLY)
    os.close(free)
    for left in (1, 2, 3):
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + left, hard))
        fd = rank.call('open', rank.fx, os.O_RDONLY)
        said = rank.errno
        data = read_all(fd) if fd >= 0 else None
        if fd >= 0:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        if data not in (None, rank.fx_view):
            raise Failed('with %d descriptors left: the raw bytes' % left)
        if data is None:
            rank.check(said in (errno.EMFILE, errno.ENOENT, errno.EIO), 'errno is %d' % said)
    rank.equal(shown(rank), 'view', 'with descriptors again')


@case('open', 'the directory vanishes under a rank', prepare=fresh('aot'))
def vanishes(rank):
    shutil.rmtree(os.path.join(rank.root, 'fxgraph'))
    rank.fail(errno.ENOENT, 'open', rank.fx, os.O_RDONLY)
    shutil.rmtree(rank.root)
    rank.fail(errno.ENOENT, 'open', rank.fx, os.O_RDONLY)


@case('rename open', "a second ordinal's entry out of a blob, unpacked before its key was hashed", hashed=('aot',))
def second_ordinal_blob(rank):
    """A Mega-Cache holds the entry without its mark, so it comes to the disk in canonical form."""
    path = os.path.join(private_place(rank)[1], 'e' * 51)
    native = read_raw(rank.told['views']['12']['fx'])
    os.makedirs(os.path.dirname(path))
    rank.put(os.path.join(os.path.dirname(path), '.1.2.tmp'), native)
    rank.succeed('rename', os.path.join(os.path.dirname(path), '.1.2.tmp'), path)
    rank.hash('fx', 12)
    sizes(rank, 'stat', path, len(native))
    rank.equal(read_all(os.open(path, os.O_RDONLY)), native, 'what the second ordinal reads')


@case('rename open', 'an entry out of a blob, under the native key of a rank with a remote cache', environment={'TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE': '1'}, hashed=('aot',))
def native_blob(rank):
    # Hashed by another program: in the rank itself the key would be known as native.
    environment = {name: value for name, value in os.environ.items() if name != 'LD_PRELOAD'}
    digest = subprocess.run(['sha256sum', rank.told['details']['11']['fx']], env=environment, capture_output=True,
                            text=True, check=True).stdout.split()[0]
    key = base64.b32encode(bytes.fromhex(digest)).decode()[:51].lower()
    folder = os.path.join(rank.root, 'fxgraph', key[:2], 'f' + key)
    os.makedirs(folder)
    rank.put(os.path.join(folder, '.1.2.tmp'), rank.fx_view)
    path = os.path.join(folder, 'e' * 51)
    rank.succeed('rename', os.path.join(folder, '.1.2.tmp'), path)
    rank.hash('fx')
    rank.equal(rank.disk(path), rank.fx_raw, 'the disk: canonical, as README.md says of blobs')
    rank.equal(read_all(os.open(path, os.O_RDONLY)), rank.fx_view, 'what is read')


@case('linkat', 'a file without a name gets one through /proc', prepare=fresh('fx'))
def nameless_file(rank):
    fd = os.open(rank.fx_dir, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(fd, rank.fx_view)
    rank.succeed('linkat', -100, '/proc/self/fd/%d' % fd, -100, rank.fx, 0x400)
    rank.equal(rank.disk(rank.fx), rank.fx_raw, 'the disk')
