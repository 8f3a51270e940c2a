# SPDX-License-Identifier: Apache-2.0
"""Autotuning results: what one rank measured is everybody's, under each rank's own name."""
import ctypes
import os
import struct

from cases import case
from cases_store import fresh
from configs import load, paths, result, save
from rank import Skipped


class Names:
    """The result of the recorded graph's first kernel under this rank's name and under the shared one."""

    def __init__(self, rank, opened=True, paths=paths):
        if opened:
            with open(rank.fx, 'rb') as entry:
                rank.equal(entry.read(), rank.fx_view, 'the graph')
        self.rank = rank
        self.own, self.shared = (os.path.join(rank.root, paths(rank.told, n)[0]) for n in (rank.ordinal, 0))

    def put(self, own=None, shared=None):
        """What lies there already, by somebody else."""
        for path, data in ((self.own, own), (self.shared, shared)):
            if data is not None:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                self.rank.put(path, data)

    def disk(self, own, shared):
        self.rank.equal((self.rank.disk(self.own), self.rank.disk(self.shared)), (own, shared), 'the disk')
        folders = {os.path.dirname(path) for path in (self.own, self.shared)}
        names = [name for folder in folders if os.path.isdir(folder) for name in self.rank.names(folder)]
        self.rank.equal([name for name in names if not name.endswith('.best_config')], [], 'left over')

    def one_file(self):
        self.rank.check(os.stat(self.own).st_ino == os.stat(self.shared).st_ino, 'two files')


MINE, THEIRS = result(256), result(512)
OTHER = result(64, configs='b' * 64)
REFINED = result(128, refined=True)
HALF = THEIRS[:40]


def expect(rank, **counters):
    names = {'stored', 'taken', 'second', 'waited', 'left'}
    rank.counts(**{'configs_' + name: counters.get(name, 0) for name in names})


@case('open', "a result that another rank measured is found under this rank's name")
def taken(rank):
    names = Names(rank)
    names.put(shared=THEIRS)
    rank.equal(load(names.own), THEIRS, 'what is read')
    rank.equal(os.path.getsize(names.own), len(THEIRS), 'the size')
    names.disk(THEIRS, THEIRS)
    names.one_file()
    rank.equal(load(names.own), THEIRS, 'what is read again')
    expect(rank, taken=1)


@case('stat', 'so it is for who asks before it opens')
def asked(rank):
    names = Names(rank)
    names.put(shared=THEIRS)
    rank.check(os.path.exists(names.own), 'stat does not find it')
    names.one_file()


@case('open', 'nothing is there: nothing appears')
def nothing(rank):
    names = Names(rank)
    rank.equal(load(names.own), None, 'what is read')
    names.disk(None, None)
    expect(rank)


@case('rename', 'the first result is for all')
def first(rank):
    names = Names(rank)
    save(names.own, MINE)
    names.disk(MINE, MINE)
    names.one_file()
    expect(rank, stored=1)


@case('rename', "another rank's result was first and stays")
def second(rank):
    names = Names(rank)
    rank.equal(load(names.own), None, 'before')
    names.put(shared=THEIRS)
    save(names.own, MINE)
    names.disk(THEIRS, THEIRS)
    names.one_file()
    expect(rank, second=1)


@case('rename', 'a result of other configurations stays beside the shared one')
def other_configurations(rank):
    names = Names(rank)
    names.put(shared=OTHER)
    save(names.own, MINE)
    names.disk(MINE, OTHER)
    rank.equal(load(names.own), MINE, 'what is read')
    names.disk(MINE, OTHER)
    expect(rank, stored=1)


@case('rename', "a refined result takes an unrefined one's place, and keeps it")
def refined(rank):
    names = Names(rank)
    names.put(shared=THEIRS)
    save(names.own, REFINED)
    names.disk(REFINED, REFINED)
    names.one_file()
    expect(rank, stored=1)


@case('rename', 'an unrefined result does not take the place of a refined one')
def unrefined(rank):
    names = Names(rank)
    names.put(shared=REFINED)
    save(names.own, MINE)
    names.disk(REFINED, REFINED)
    expect(rank, second=1)


@case('rename', 'who was first may save again')
def again(rank):
    names = Names(rank)
    save(names.own, MINE)
    save(names.own, THEIRS)
    names.disk(THEIRS, THEIRS)
    expect(rank, stored=2)


@case('open rename', 'half a result is none')
def half(rank):
    names = Names(rank)
    names.put(shared=HALF)
    rank.equal(load(names.own), None, 'what is read')
    names.disk(None, HALF)
    save(names.own, MINE)
    names.disk(MINE, MINE)
    expect(rank, stored=1)


@case('open', "this rank's result of an earlier, plain run becomes the shared one")
def adopted(rank):
    names = Names(rank)
    names.put(own=MINE)
    rank.equal(load(names.own), MINE, 'what is read')
    names.disk(MINE, MINE)
    names.one_file()


@case('open', "it gives way to what is shared, unless it was chosen from other configurations")
def plain_results(rank):
    names = Names(rank)
    names.put(own=MINE, shared=THEIRS)
    rank.equal(load(names.own), THEIRS, 'what is read')
    names.disk(THEIRS, THEIRS)
    os.unlink(names.own)
    names.put(own=OTHER)
    rank.equal(load(names.own), OTHER, 'what is read')
    names.disk(OTHER, THEIRS)


@case('open rename', 'a name that nobody knows is left alone')
def unknown(rank):
    names = Names(rank, opened=False)
    names.put(shared=THEIRS)
    rank.equal(load(names.own), None, 'what is read')
    save(names.own, MINE)
    names.disk(MINE, THEIRS)


@case('rename', "the producer's own graph tells the names, too", prepare=fresh('fx'))
def producer(rank):
    names = Names(rank, opened=False)
    draft = os.path.join(rank.fx_dir, '.1.2.tmp')
    rank.put(draft, rank.fx_view)
    os.rename(draft, rank.fx)
    save(names.own, MINE)
    names.disk(MINE, MINE)


@case('open rename', 'the rank of cuda:0 keeps what was first', ordinal=0)
def zero(rank):
    names = Names(rank)
    names.put(shared=THEIRS)
    save(names.own, MINE)
    names.disk(THEIRS, THEIRS)
    save(names.own, OTHER)
    names.disk(OTHER, OTHER)
    expect(rank, second=1, stored=1)


@case('open', "something else in the name's place stays there")
def in_the_way(rank):
    names = Names(rank)
    names.put(shared=THEIRS)
    os.makedirs(names.own)
    try:
        load(names.own)
        rank.check(False, 'a directory was opened')
    except IsADirectoryError:
        pass
    rank.check(os.path.isdir(names.own), 'the directory is gone')
    rank.equal(rank.names(os.path.dirname(names.own)), [os.path.basename(names.own)], 'names')
    expect(rank)


def no_more_links():
    """From now on this process makes no hard link, as on a file system that has none."""
    prctl, number = ctypes.CDLL(None).prctl, {'x86_64': 265, 'aarch64': 37}[os.uname().machine]
    load_number, equal, answer = 0x20, 0x15, 0x06
    steps = [(load_number, 0, 0, 0), (equal, 0, 1, number), (answer, 0, 0, 0x00050000 | 1), (answer, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b''.join(struct.pack('=HBBI', *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack('@HP', len(steps), ctypes.addressof(code)))
    set_no_new_privileges, set_seccomp, filtered = 38, 22, 2
    if prctl(set_no_new_privileges, 1, 0, 0, 0) or prctl(set_seccomp, filtered, program):
        raise Skipped('no seccomp filters here')


@case('open rename', 'without hard links results stay this rank\'s own')
def no_links(rank):
    names = Names(rank)
    no_more_links()
    names.put(shared=THEIRS)
    rank.equal(load(names.own), None, 'what is read')
    save(names.own, MINE)
    names.disk(MINE, THEIRS)
    rank.equal(load(names.own), MINE, 'what is read then')
    os.unlink(names.shared)
    save(names.own, REFINED)
    names.disk(REFINED, None)
    rank.equal(load(names.own), REFINED, 'what is read with nothing shared')
    expect(rank, stored=2)
