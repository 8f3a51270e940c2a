# SPDX-License-Identifier: Apache-2.0
"""mkdir and rmdir of triton/<ordinal>, the environment, dlsym."""
import base64
import ctypes
import errno
import hashlib
import os
import shutil
import stat

from cases import case
from rank import AT_FDCWD, AT_REMOVEDIR, read_all, read_raw

MKDIRS = ('mkdir', 'mkdirat')
RMDIRS = ('rmdir', 'unlinkat')


def mkdir_arguments(name, path, mode=0o777, dirfd=AT_FDCWD):
    return ([dirfd] if name == 'mkdirat' else []) + [path, ctypes.c_uint(mode)]


def rmdir_arguments(name, path, dirfd=AT_FDCWD):
    return [dirfd, path, AT_REMOVEDIR] if name == 'unlinkat' else [path]


def no_triton(root):
    shutil.rmtree(os.path.join(root, 'triton', '0'))


def is_link(rank, path):
    """os.path.islink would ask lstat, which calls it a directory."""
    rank.equal(os.readlink(path), '0', 'where %s points' % os.path.basename(path))


for hook in MKDIRS:
    for ordinal in ('11', 'None'):
        @case(hook, 'triton/%s becomes a link to 0' % ordinal, name=hook, ordinal_name=ordinal)
        @case(hook, 'triton/%s where there is no 0 yet' % ordinal, name=hook, ordinal_name=ordinal, prepare=no_triton)
        def make(rank, name, ordinal_name):
            path = os.path.join(rank.root, 'triton', ordinal_name)
            rank.equal(rank.succeed(name, *mkdir_arguments(name, path)), 0, 'result')
            is_link(rank, path)
            rank.check(stat.S_ISDIR(os.stat(os.path.join(rank.root, 'triton', '0')).st_mode), 'no directory 0')
            rank.put(os.path.join(path, 'file'), b'x')
            rank.equal(rank.disk(os.path.join(rank.root, 'triton', '0', 'file')), b'x', 'what lies behind the link')
            rank.fail(errno.EEXIST, name, *mkdir_arguments(name, path))
            rank.counts(links_made=1)

    @case(hook, 'triton/0 is a directory, other names too', name=hook, prepare=no_triton)
    def real(rank, name):
        for path in ('triton/0', 'triton/1000', 'triton/x', 'other', 'fxgraph/11', 'triton/0/11'):
            path = os.path.join(rank.root, path)
            rank.succeed(name, *mkdir_arguments(name, path, 0o750))
            rank.check(stat.S_ISDIR(os.lstat(path).st_mode), path + ' is no directory')
            rank.equal(stat.S_IMODE(os.lstat(path).st_mode), 0o750, 'mode')
            rank.fail(errno.EEXIST, name, *mkdir_arguments(name, path))

    @case(hook, 'a real directory of an earlier run is left alone', name=hook)
    def earlier(rank, name):
        path = os.path.join(rank.root, 'triton', '11')
        os.mkdir(os.path.join(rank.root, 'elsewhere'))
        os.rename(os.path.join(rank.root, 'elsewhere'), path)
        rank.fail(errno.EEXIST, name, *mkdir_arguments(name, path))
        rank.check(stat.S_ISDIR(os.lstat(path).st_mode), 'the directory is gone')

    @case(hook, 'a link whose target was removed is whole again', name=hook, prepare=no_triton)
    def dangling(rank, name):
        path = os.path.join(rank.root, 'triton', '11')
        os.symlink('0', path)
        rank.succeed(name, *mkdir_arguments(name, path))
        is_link(rank, path)
        rank.check(stat.S_ISDIR(os.stat(path).st_mode), 'the link still leads nowhere')

    @case(hook, 'no triton directory to make it in', name=hook)
    def no_parent(rank, name):
        shutil.rmtree(os.path.join(rank.root, 'triton'))
        rank.fail(errno.ENOENT, name, *mkdir_arguments(name, os.path.join(rank.root, 'triton', '11')))
        rank.check(not os.path.lexists(os.path.join(rank.root, 'triton')), 'triton was made')

for hook in RMDIRS:
    @case(hook, 'takes the link away, not the kernels of the others', name=hook)
    def remove(rank, name):
        path = os.path.join(rank.root, 'triton', '11')
        os.symlink('0', path)
        rank.equal(rank.succeed(name, *rmdir_arguments(name, path)), 0, 'result')
        rank.check(not os.path.lexists(path), 'the link is still there')
        rank.check(rank.disk(rank.group) is not None, 'the kernels are gone')
        rank.fail(errno.ENOENT, name, *rmdir_arguments(name, path))

    @case(hook, 'other directories and files as ever', name=hook)
    def ordinary(rank, name):
        rank.check(rank.call(name, *rmdir_arguments(name, os.path.join(rank.root, 'triton', '0'))) == -1, 'it worked')
        rank.check(rank.errno in (errno.ENOTEMPTY, errno.EEXIST), 'errno is %d' % rank.errno)
        path = os.path.join(rank.root, 'triton', '5')
        os.mkdir(os.path.join(rank.root, 'elsewhere'))
        os.rename(os.path.join(rank.root, 'elsewhere'), path)
        rank.succeed(name, *rmdir_arguments(name, path))
        rank.check(not os.path.lexists(path), 'the directory is still there')
        os.symlink('0', os.path.join(rank.root, 'plain'))
        rank.fail(errno.ENOTDIR, name, *rmdir_arguments(name, os.path.join(rank.root, 'plain')))

for hook in ('mkdirat', 'unlinkat'):
    @case(hook, 'a directory descriptor and a relative name', name=hook)
    def relative(rank, name):
        dirfd = os.open(os.path.join(rank.root, 'triton'), os.O_RDONLY | os.O_DIRECTORY)
        path = os.path.join(rank.root, 'triton', '11')
        if name == 'mkdirat':
            rank.succeed(name, *mkdir_arguments(name, '../triton/11', dirfd=dirfd))
            is_link(rank, path)
        else:
            os.symlink('0', path)
            rank.succeed(name, *rmdir_arguments(name, '../triton/11', dirfd=dirfd))
            rank.check(not os.path.lexists(path), 'the link is still there')


@case('mkdirat', 'a name that has no "triton/" in it but a descriptor that leads there')
def bare_name(rank):
    dirfd = os.open(os.path.join(rank.root, 'triton'), os.O_RDONLY | os.O_DIRECTORY)
    rank.succeed('mkdirat', dirfd, '11', ctypes.c_uint(0o777))
    is_link(rank, os.path.join(rank.root, 'triton', '11'))


@case('mkdir', "os.makedirs as Triton's cache calls it")
def makedirs(rank):
    folder = os.path.join(rank.root, 'triton', '11', 'C' * 51 + 'A')
    os.makedirs(folder, exist_ok=True)
    is_link(rank, os.path.join(rank.root, 'triton', '11'))
    rank.check(os.path.isdir(os.path.join(rank.root, 'triton', '0', 'C' * 51 + 'A')), 'the kernel lies elsewhere')
    os.makedirs(folder, exist_ok=True)


@case('unlinkat', 'a file, and a link without AT_REMOVEDIR')
def unlink_files(rank):
    path = os.path.join(rank.root, 'triton', '11')
    os.symlink('0', path)
    rank.succeed('unlinkat', AT_FDCWD, path, 0)
    rank.check(not os.path.lexists(path), 'the link is still there')
    rank.succeed('unlinkat', AT_FDCWD, rank.fx, 0)
    rank.equal(rank.names(rank.fx_dir), [], 'names')


# ---- the environment: where the managed root is ---------------------------------------------------

def shown(rank):
    """What a read of the FX entry gives: 'view' or 'raw'."""
    fd = os.open(rank.fx, os.O_RDONLY)
    data = read_all(fd)
    os.close(fd)
    return {rank.fx_view: 'view', rank.fx_raw: 'raw'}[data]


# The entry's own key is not hashed in these cases: where a hashed key was looked for, the library knows
# the root without its name.
ROOT = 'TORCHINDUCTOR_CACHE_DIR'
NOWHERE = {ROOT: None}


@case('setenv', 'a root that appears later, moves away and back', environment=NOWHERE, hashed=('aot',))
def set_root(rank):
    rank.equal(shown(rank), 'raw', 'without a root')
    rank.succeed('setenv', ROOT, '/nowhere', 1)
    rank.equal(shown(rank), 'raw', 'with another root')
    rank.succeed('setenv', ROOT, rank.root, 0)
    rank.equal(shown(rank), 'raw', 'after a setenv that must not overwrite')
    rank.succeed('setenv', ROOT, rank.root, 1)
    rank.equal(shown(rank), 'view', 'with the root')
    rank.libc.getenv.restype = ctypes.c_char_p
    rank.equal(rank.libc.getenv(ROOT.encode()), os.fsencode(rank.root), 'getenv')
    rank.fail(errno.EINVAL, 'setenv', 'A=B', 'x', 1)


@case('setenv', 'os.environ', environment=NOWHERE, hashed=('aot',))
def os_environ(rank):
    os.environ[ROOT] = rank.root
    rank.equal(shown(rank), 'view', 'with the root')
    del os.environ[ROOT]
    rank.equal(shown(rank), 'raw', 'without it')


@case('putenv', 'a root comes and goes', environment=NOWHERE, hashed=('aot',))
def put_root(rank):
    string = ctypes.create_string_buffer(('%s=%s' % (ROOT, rank.root)).encode())
    rank.equal(shown(rank), 'raw', 'without a root')
    rank.equal(rank.call('putenv', string), 0, 'result')
    rank.equal(shown(rank), 'view', 'with the root')
    name = ctypes.create_string_buffer(ROOT.encode())
    rank.equal(rank.call('putenv', name), 0, 'result')
    rank.equal(shown(rank), 'raw', 'after putenv of the bare name, which removes')
    rank.keep += [string, name]


@case('unsetenv', 'the root goes', hashed=('aot',))
def unset_root(rank):
    rank.equal(shown(rank), 'view', 'with the root')
    rank.succeed('unsetenv', ROOT)
    rank.equal(shown(rank), 'raw', 'without it')
    rank.fail(errno.EINVAL, 'unsetenv', 'A=B')


@case('clearenv', 'all variables go, the root with them', hashed=('aot',))
def clear_root(rank):
    rank.equal(shown(rank), 'view', 'with the root')
    rank.equal(rank.call('clearenv'), 0, 'result')
    rank.equal(shown(rank), 'raw', 'without it')
    rank.succeed('setenv', ROOT, rank.root, 1)
    rank.equal(shown(rank), 'view', 'with the root again')


# ---- dlsym -----------------------------------------------------------------------------------------

@case('dlsym', "Python's hash modules: details get the canonical key", hashed=())
def canonical_key(rank):
    for label in ('fx', 'aot'):
        key = base64.b32encode(rank.hash(label))[:51].decode().lower()
        rank.equal(key, os.path.basename(getattr(rank, label + '_dir'))[1:], 'the key of details of ordinal 11')
    details = read_raw(rank.told['details']['11']['fx'])
    rank.equal(hashlib.new('sha256', details).digest(), rank.hash('fx'), 'the digest by new()')
    other = hashlib.sha256()
    other.update(details)
    rank.equal(other.digest(), rank.hash('fx'), 'the digest by update()')


@case('dlsym', 'handles, RTLD_DEFAULT, RTLD_NEXT and what is not there')
def lookups(rank):
    libc = ctypes.CDLL('libc.so.6')
    dlerror = rank.libc.dlerror  # looked up now: a lookup forgets the pending error
    dlerror.restype = ctypes.c_char_p
    known = ctypes.cast(libc.getpid, ctypes.c_void_p).value
    for handle in (libc._handle, rank.libc._handle, 0):
        rank.equal(rank.call('dlsym', ctypes.c_void_p(handle), 'getpid'), known, 'getpid by handle %x' % handle)
    # libc's own handle: its open, not the hook.
    hook = rank.function('open')
    inner = rank.call('dlsym', ctypes.c_void_p(libc._handle), 'open')
    rank.check(inner != ctypes.cast(hook, ctypes.c_void_p).value, 'a lookup in libc alone gave the hook')
    rank.equal(rank.call('dlsym', ctypes.c_void_p(libc._handle), 'no_such_name'), None, 'a name that is not there')
    rank.check(b'no_such_name' in (dlerror() or b''), 'dlerror does not speak of the name')
    rank.equal(dlerror(), None, 'dlerror afterwards')
