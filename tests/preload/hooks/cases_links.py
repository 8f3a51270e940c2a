# SPDX-License-Identifier: Apache-2.0
"""triton/<ordinal> is a link to 0, and a directory to the program that made it; links to entries are links."""
import os
import shutil
import stat
import tarfile

from cases import case
from cases_stat import AT, OLD_AT, call_stat
from cases_store import fresh
from rank import AT_SYMLINK_NOFOLLOW, Failed

NOT_FOLLOWING = ('lstat', 'lstat64', '__lxstat', '__lxstat64') + AT + OLD_AT + ('statx',)
KERNEL = 'K' * 51 + 'A'


def flags_of(name):
    return {'flags': AT_SYMLINK_NOFOLLOW} if name in AT + OLD_AT + ('statx',) else {}


def own(rank):
    """The directory as Triton makes it, with a kernel in it."""
    folder = os.path.join(rank.root, 'triton', '11')
    os.makedirs(os.path.join(folder, KERNEL), exist_ok=True)
    with open(os.path.join(folder, KERNEL, 'kernel.cubin'), 'wb') as out:
        out.write(b'code')
    return folder


@case(' '.join(NOT_FOLLOWING), "lstat of triton/11 says directory, of other links link")
def directory(rank):
    folder = own(rank)
    os.symlink('0', os.path.join(rank.root, 'triton', 'latest'))
    os.symlink('elsewhere', os.path.join(rank.root, 'triton', '5'))
    os.symlink('0', os.path.join(rank.root, 'other'))
    for name in NOT_FOLLOWING:
        for path, directory in ((folder, True), ('triton/latest', False), ('triton/5', False), ('other', False)):
            result, _, _, mode = call_stat(rank, name, os.path.join(rank.root, path), **flags_of(name))
            rank.equal(result, 0, 'result of %s of %s' % (name, path))
            rank.equal(stat.S_IFMT(mode), stat.S_IFDIR if directory else stat.S_IFLNK, 'type of %s by %s' % (path, name))
    rank.check(os.path.samestat(os.lstat(folder), os.stat(folder)), 'lstat and stat differ')
    rank.equal(os.readlink(folder), '0', 'where the link leads')


@case(' '.join(NOT_FOLLOWING), 'lstat of a link by an entry name is that of the link')
def link_to_entry(rank):
    path = os.path.join(rank.fx_dir, 'x' * 51)
    os.symlink(os.path.basename(rank.fx), path)
    for name in NOT_FOLLOWING:
        result, size, _, mode = call_stat(rank, name, path, **flags_of(name))
        rank.equal((result, size, stat.S_IFMT(mode)), (0, 51, stat.S_IFLNK), 'result, size and type by ' + name)
    rank.equal(call_stat(rank, 'stat', path)[1], len(rank.fx_view), 'size by stat')


@case(' '.join(NOT_FOLLOWING), 'no address for the answer is EFAULT')
def no_address(rank):
    import errno
    for path in (rank.fx, own(rank)):
        rank.fail(errno.EFAULT, 'lstat', path, None)
        rank.fail(errno.EFAULT, 'statx', -100, path, 0, 0x7ff, None)


# What programs do with $TRITON_CACHE_DIR, which torch sets to triton/<ordinal>.

def removes(rank, folder):
    shutil.rmtree(folder)
    rank.check(not os.path.lexists(folder) and not os.path.exists(folder), 'it is still there')
    rank.equal(os.listdir(os.path.join(rank.root, 'triton', '0')), [], 'kernels')
    own(rank)


def removes_with_slash(rank, folder):
    """A setting may end in one, through which a link is followed."""
    shutil.rmtree(folder + '/')
    rank.check(not os.path.lexists(folder), 'it is still there')
    os.makedirs(folder)
    os.rmdir(folder + '//')
    rank.check(not os.path.lexists(folder), 'it is still there')
    own(rank)


def opens_without_links(rank, folder):
    os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))


def removes_all(rank, folder):
    shutil.rmtree(rank.root)
    rank.check(not os.path.lexists(rank.root), 'the root is still there')
    own(rank)


def walks(rank, folder):
    found = {os.path.join(f, n) for f, _, names in os.walk(folder) for n in names}
    rank.check(os.path.join(folder, KERNEL, 'kernel.cubin') in found, 'the kernel was not found')


def resolves(rank, folder):
    rank.equal(os.path.realpath(folder), os.path.join(os.path.realpath(rank.root), 'triton', '11'), 'realpath')
    rank.check(not os.path.islink(folder) and os.path.isdir(folder), 'no directory')


def copies(rank, folder):
    for symlinks in (False, True):
        shutil.copytree(rank.root, rank.root + '.copy', symlinks=symlinks)
        rank.check(os.path.exists(os.path.join(rank.root + '.copy', 'triton', '11', KERNEL, 'kernel.cubin')), 'no kernel')
        shutil.rmtree(rank.root + '.copy')


def packs(rank, folder):
    with tarfile.open(rank.root + '.tar', 'w') as tar:
        tar.add(folder, 'triton')
    with tarfile.open(rank.root + '.tar') as tar:
        rank.check('triton/%s/kernel.cubin' % KERNEL in tar.getnames(), 'no kernel')


def loses_target(rank, folder):
    """Another rank cleans up: what this one sees is that its directory is gone."""
    shutil.rmtree(os.path.join(rank.root, 'triton', '0'))
    for there in (os.path.exists, os.path.lexists, os.path.isdir, os.path.islink):
        rank.check(not there(folder), '%s says yes' % there.__name__)
    try:
        shutil.rmtree(folder)
        raise Failed('rmtree of a directory that is gone worked')
    except FileNotFoundError:
        pass
    own(rank)


def prunes(rank, folder):
    """Triton's os.removedirs() of a temporary directory that is the last thing in it."""
    os.unlink(os.path.join(folder, KERNEL, 'kernel.cubin'))
    os.makedirs(os.path.join(folder, KERNEL, 'tmp.pid_1_x'))
    os.removedirs(os.path.join(folder, KERNEL, 'tmp.pid_1_x'))
    own(rank)


for program in (removes, removes_with_slash, opens_without_links, removes_all, walks, resolves, copies, packs, loses_target, prunes):
    @case('lstat rmdir', 'triton/11 in a program that %s' % program.__name__.replace('_', ' '), program=program)
    def used(rank, program):
        folder = own(rank)
        program(rank, folder)
        rank.equal(rank.disk(os.path.join(folder, KERNEL, 'kernel.cubin')), b'code', 'the kernel afterwards')
