# SPDX-License-Identifier: Apache-2.0
"""Autotuning results of PyTorch 2.4 to 2.7, which writes them in place: no two names may be one file."""
import hashlib
import os

from cases import case
from cases_aot import pretend
from cases_tuned import HALF, MINE, OTHER, REFINED, THEIRS, Names
from configs import KERNEL, load
from fixture import name51
from rank import read_raw


def files(told, ordinal):
    """The files of the recorded graph's kernels, without their tail."""
    return ['c' + name51(text.strip()) for text in KERNEL.findall(read_raw(told['views'][str(ordinal)]['fx']))]


def path_of(version, file):
    """Relative path of the result."""
    if version in ('2.4.1', '2.5.1'):
        return '%s/%s.best_config' % (file[1:3], file)
    return '%s/%s.best_config' % (file[1:3], hashlib.sha256((file + '.py:').encode()).hexdigest())


class Old(Names):
    """The names that VERSION gives, once the graph was read."""

    def __init__(self, rank, version):
        pretend(version)
        for label in ('aot', 'fx'):
            rank.hash(label)
        super().__init__(rank, paths=lambda told, ordinal: [path_of(version, file) for file in files(told, ordinal)])

    def disk(self, own, shared):
        super().disk(own, shared)
        self.rank.check(None in (own, shared) or os.stat(self.own).st_ino != os.stat(self.shared).st_ino, 'one file')


for version in ('2.4.1', '2.6.0'):
    def old(title, hooks='open', **more):
        def add(function, version=version):
            @case(hooks, '%s: %s' % (version, title), hashed=(), **more)
            def run(rank):
                function(rank, Old(rank, version))
            return function
        return add

    @old("what cuda:0 has chosen is found under this rank's name, and writing there changes it there alone")
    def taken(rank, names):
        names.put(shared=THEIRS)
        rank.equal(os.path.exists(names.own), True, 'stat')
        rank.equal(load(names.own), THEIRS, 'what is read')
        names.disk(THEIRS, THEIRS)
        rank.counts(configs_taken=1)
        with open(names.own, 'wb') as file:
            file.write(REFINED)
        names.disk(REFINED, THEIRS)

    @old("this rank's own of an earlier run becomes the shared one")
    def adopted(rank, names):
        names.put(own=MINE)
        rank.equal(load(names.own), MINE, 'what is read')
        names.disk(MINE, MINE)
        rank.counts(configs_taken=0)

    @old('it gives way to what is shared, unless it was chosen from other configurations')
    def gives_way(rank, names):
        names.put(own=MINE, shared=THEIRS)
        rank.equal(load(names.own), THEIRS, 'what is read')
        names.disk(THEIRS, THEIRS)
        rank.equal(load(names.own), THEIRS, 'what is read again')
        rank.counts(configs_taken=1)
        names.put(own=OTHER)
        rank.equal(load(names.own), OTHER, 'what is read')
        names.disk(OTHER, THEIRS)

    @old("a refined result of this rank's takes an unrefined one's place")
    def refined(rank, names):
        names.put(own=REFINED, shared=THEIRS)
        rank.equal(load(names.own), REFINED, 'what is read')
        names.disk(REFINED, REFINED)
        rank.counts(configs_taken=0)

    @old('half a result is none')
    def half(rank, names):
        names.put(shared=HALF)
        rank.equal(load(names.own), None, 'what is read')
        names.put(own=MINE)
        rank.equal(load(names.own), MINE, 'what is read then')
        names.disk(MINE, HALF)
        rank.put(names.shared, THEIRS)
        rank.put(names.own, HALF)
        rank.equal(load(names.own), THEIRS, 'what is read of two')
        names.disk(THEIRS, THEIRS)

    @old('the rank of cuda:0 has its own', ordinal=0)
    def zero(rank, names):
        names.put(shared=THEIRS)
        rank.equal(load(names.shared), THEIRS, 'what is read')
        rank.equal(rank.disk(names.shared), THEIRS, 'the disk')
