# SPDX-License-Identifier: Apache-2.0
"""Waiting for autotuning results: for the rank that stored the graph, and not for long.

Two other ranks: one stores the graph (on cuda:3) and measures, one loads it (on cuda:11). Where patience is
tried they run under a library that has two seconds of it.
"""
import os
import subprocess
import sys
import time

from cases import case
from cases_aot import TORCH, pretend, turned
from cases_comms import COLLECTIVE
from cases_store import fresh
from configs import paths
from fixture import name51, triton_name
from others import HERE, Other


class Tuner(Other):
    """A tuner.py. Steps: (word, or word and number of a kernel)."""

    def __init__(self, rank, ordinal, *steps, library=None, key=None, entry=None, environment=None):
        own = dict(os.environ, **(environment or {}))
        if library:
            own['LD_PRELOAD'] = library
        results = [os.path.join(rank.root, path) for path in paths(rank.told, ordinal)]
        words = [step if isinstance(step, str) else '%s=%s' % (step[0], results[step[1]]) for step in steps]
        details, folder = key or (rank.told['details'][str(ordinal)]['fx'], rank.fx_dir)
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, 'tuner.py'), details, folder,
             entry or rank.told['views'][str(ordinal)]['fx'], *words],
            env=own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        self.pid = self.process.pid

    def go(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()

    def expect(self, rank, **what):
        said = self.said()
        rank.equal({name: said.get(name) for name in what}, what, 'what a rank says')
        return said


def pair(rank, measures, *loads, **options):
    """The rank that stored the graph, and one that has loaded it."""
    first = Tuner(rank, 3, *measures, **options)
    first.expect(rank, graph='stored')
    second = Tuner(rank, 11, *loads, **options)
    second.expect(rank, graph='loaded')
    return first, second


def counts(rank, other, **expected):
    for name, value in expected.items():
        rank.equal(rank.counter('configs_' + name, other.pid), value, name)


@case('open', 'the result comes: the waiter has it at once', prepare=fresh('fx'))
def comes(rank):
    first, second = pair(rank, ('pause', ('save', 0)), ('load', 0))
    with first, second:
        second.waiting()
        time.sleep(1)
        first.go()
        said = second.expect(rank, step='load')
        rank.equal(said['found']['XBLOCK'], first.pid, 'whose result it is')
        rank.check(said['seconds'] >= 0.9, 'it did not wait')
        counts(rank, second, waited=1, taken=1, left=0)
        counts(rank, first, stored=1, waited=0)


@case('open', 'the result is there: nobody waits', prepare=fresh('fx'))
def there(rank):
    first, second = pair(rank, (('save', 0), 'pause'), 'pause', ('load', 0))
    with first, second:
        first.expect(rank, step='save')
        second.go()
        second.expect(rank, step='pause')
        rank.equal(second.expect(rank, step='load')['found']['XBLOCK'], first.pid, 'whose result it is')
        counts(rank, second, waited=0, taken=1, left=0)


@case('open', 'the rank that measures goes on to other details: its waiters measure, too', prepare=fresh('fx'))
def goes_on(rank):
    first, second = pair(rank, ('pause', 'look=%s' % rank.fx), ('load', 0))
    with first, second:
        second.waiting()
        first.go()
        second.expect(rank, step='load', found=None)
        counts(rank, second, waited=0, left=1)


@case('open', 'the last result of the graph is there: nobody waits for what never comes', prepare=fresh('fx'),
      environment={'RANKSHARE_WAIT': '60'})
def never(rank):
    # The graph has two kernels, one of them with a choice; torch 2.14 and later look the other's result up, too.
    first, second = pair(rank, ('pause', ('save', 1), 'pause'), ('load', 0))
    with first, second:
        second.waiting()
        first.go()
        first.expect(rank, step='pause')
        said = second.expect(rank, step='load', found=None)
        rank.check(said['seconds'] < 4, 'it waited %.1f s' % said['seconds'])
        counts(rank, second, waited=0, left=1)


@case('open', 'the rank that measures is killed', prepare=fresh('fx'))
def killed(rank):
    first, second = pair(rank, ('pause',), ('load', 0))
    with first, second:
        second.waiting()
        first.process.kill()
        first.process.wait()
        said = second.expect(rank, step='load', found=None)
        rank.check(said['seconds'] < 5, 'it took %.1f s to see that' % said['seconds'])
        rank.equal(rank.counter('takeovers', second.pid), 0, 'takeovers')


@case('open', 'a silent one is left after a while, and not waited for again', prepare=fresh('fx'))
def silent(rank):
    first, second = pair(rank, ('pause',), ('load', 0), ('load', 0), library=rank.told['impatient'])
    with first, second:
        said = second.expect(rank, step='load', found=None)
        rank.check(1 <= said['seconds'] < 20, 'it waited %.1f s' % said['seconds'])
        said = second.expect(rank, step='load', found=None)
        rank.check(said['seconds'] < 1, 'it waited again for %.1f s' % said['seconds'])
        counts(rank, second, left=1)


@case('open', "what other threads do is no sign of work, in the process that measures or in its group", prepare=fresh('fx'))
def busy(rank):
    first, second = pair(rank, ('busy', 'pause'), ('load', 0), library=rank.told['impatient'],
                         environment={'RANKSHARE_WAIT': '1000'})
    with first, second, Other(rank, 'work'):
        said = second.expect(rank, step='load', found=None)
        rank.check(1 <= said['seconds'] < 20, 'it waited %.1f s' % said['seconds'])


@case('open', 'who looks for kernels that it compiles is at work', prepare=fresh('fx'))
def works(rank):
    kernel = os.path.join(rank.root, rank.told['group'])
    first, second = pair(rank, ('pause', 'works=' + kernel, ('save', 0)), ('load', 0), library=rank.told['impatient'],
                         environment={'RANKSHARE_WAIT': '1000'})
    with first, second:
        second.waiting()
        first.go()
        said = second.expect(rank, step='load')
        rank.equal((said['found'] or {}).get('XBLOCK'), first.pid, 'whose result it is')
        rank.check(said['seconds'] > 4, 'it waited %.1f s only' % said['seconds'])


@case('open', 'results take half of what may be waited, and the rest is left for graphs', prepare=fresh('fx'))
def half(rank):
    first, second = pair(rank, ('pause',), ('load', 0), environment={'RANKSHARE_WAIT': '2'})
    with first, second:
        said = second.expect(rank, step='load', found=None)
        rank.check(0.5 <= said['seconds'] < 1.8, 'it waited %.1f s' % said['seconds'])
        counts(rank, second, left=1)
        rank.equal(rank.counter('wait_timeouts', second.pid), 0, 'timeouts')


@case('open', 'a name that the rank that measures does not know is not waited for', prepare=fresh('fx'))
def unknown(rank):
    tagged = os.path.join(rank.root, 'ab', '0' * 64 + '.best_config')
    first, second = pair(rank, ('pause',), 'load=' + tagged)
    with first, second:
        rank.check(second.expect(rank, step='load', found=None)['seconds'] < 0.8, 'it waited')
        counts(rank, second, waited=0, left=0)


@case('open', 'the one that measured is dead: the first to find out measures for the others', prepare=fresh('fx'))
def successor(rank):
    first, second = pair(rank, (), 'pause', *[('load', 0)] * 6, 'pause', ('save', 0))
    with first, second:
        first.process.kill()
        first.process.wait()
        second.go()
        second.expect(rank, step='pause')
        spent = sum(second.expect(rank, step='load', found=None)['seconds'] for _ in range(6))
        rank.check(spent < 1.5, 'it waited %.1f s for a dead one' % spent)
        with Tuner(rank, 3, ('load', 0)) as third:
            third.expect(rank, graph='loaded')
            third.waiting()
            second.go()
            rank.equal(third.expect(rank, step='load')['found']['XBLOCK'], second.pid, 'whose result it is')


@case('open', 'who stored the graph itself does not wait', prepare=fresh('fx'))
def own(rank):
    with Tuner(rank, 3, ('load', 0)) as first:
        first.expect(rank, graph='stored')
        said = first.expect(rank, step='load', found=None)
        rank.check(said['seconds'] < 1, 'it waited %.1f s' % said['seconds'])


@case('open', 'the graph was there before: nobody measures, nobody waits')
def warm(rank):
    with Tuner(rank, 3, ('load', 0)) as first:
        first.expect(rank, graph='loaded')
        rank.check(first.expect(rank, step='load', found=None)['seconds'] < 1, 'it waited')
        counts(rank, first, waited=0, left=0)


@case('open', 'a graph with collectives: nobody waits, since its run needs all', hashed=())
def collectives(rank):
    pretend(TORCH)
    files = {}
    for ordinal in (3, 11):
        files[ordinal] = os.path.join(rank.root, '..', 'collectives.%d' % ordinal)
        rank.put(files[ordinal], turned(rank, ordinal, [COLLECTIVE], 'fx'))
    name = name51(turned(rank, 0, [COLLECTIVE], 'fx'))
    folder = os.path.join(rank.root, 'fxgraph', name[:2], 'f' + name)
    os.makedirs(folder)
    with Tuner(rank, 3, 'pause', key=(files[3], folder)) as first:
        first.expect(rank, graph='stored')
        with Tuner(rank, 11, ('load', 0), key=(files[11], folder)) as second:
            second.expect(rank, graph='loaded')
            rank.check(second.expect(rank, step='load', found=None)['seconds'] < 1, 'it waited')
            counts(rank, second, waited=0, left=0)


# ---- Triton's own autotuner ------------------------------------------------------------------------------


def timings(rank):
    folder = os.path.join(rank.root, 'triton', '0', triton_name('the timings of a kernel'))
    os.makedirs(folder)
    return os.path.join(folder, 'kernel.autotune.json')


@case('stat', "Triton's autotuner: one measures, the others wait")
def triton(rank):
    path = timings(rank)
    with Tuner(rank, 3, 'triton=' + path, 'pause', 'put=' + path) as first:
        first.expect(rank, graph='loaded')
        first.expect(rank, step='triton', found=None)
        with Tuner(rank, 11, 'triton=' + path) as second:
            second.expect(rank, graph='loaded')
            second.waiting()
            first.go()
            rank.equal(second.expect(rank, step='triton')['found'], {'by': first.pid}, 'the result')
            counts(rank, second, waited=1)


@case('stat', "Triton's autotuner: the one that measures dies")
def triton_dies(rank):
    path = timings(rank)
    with Tuner(rank, 3, 'triton=' + path, 'pause') as first:
        first.expect(rank, graph='loaded')
        first.expect(rank, step='triton', found=None)
        with Tuner(rank, 11, 'triton=' + path) as second:
            second.expect(rank, graph='loaded')
            second.waiting()
            first.process.kill()
            second.expect(rank, step='triton', found=None)


@case('stat', "Triton's autotuner inside a graph's compilation: no second lease", prepare=fresh('fx'))
def triton_inside(rank):
    path = timings(rank)
    rank.hash('fx')
    os.listdir(rank.fx_dir)
    rank.counts(leases=1)
    rank.check(not os.path.exists(path), 'there is a result')
    with Other(rank) as other:
        other.waiting()  # the graph's lease is still held
