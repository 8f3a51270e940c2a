# SPDX-License-Identifier: Apache-2.0
"""Producers that may use the GPU while they compile: who waits for them leaves when they fall silent.

The waiters run under a library that calls three seconds a silence.
"""
import os
import signal
import subprocess
import sys
import time

from cases import case
from cases_store import fresh
from fixture import name51
from others import HERE, Other
from rank import Failed, read_raw

PATIENT = {'RANKSHARE_WAIT': '1000'}


def tuning_key(rank):
    """The FX details with max_autotune on, for each ordinal, and the directory of their key."""
    details = {}
    for ordinal, paths in rank.told['details'].items():
        data = read_raw(paths['fx'])
        off, on = (b'\x8c\x0cmax_autotune' + value for value in (b'\x89', b'\x88'))
        if data.count(off) != 1:
            raise Failed('the details do not say max_autotune=False')
        data = data.replace(off, on)
        details[ordinal] = os.path.join(rank.root, '..', 'tuning.' + ordinal)
        rank.put(details[ordinal], data)
        if ordinal == str(rank.ordinal):
            name = name51(data)  # its own details: hashed in canonical form
    folder = os.path.join(rank.root, 'fxgraph', name[:2], 'f' + name)
    os.makedirs(folder)
    return details, folder


def leaves(rank, other, times=1):
    said = other.said()
    rank.equal(said['names'], [[]] * times, 'what the waiter saw')
    rank.equal(rank.counter('wait_silent', other.pid), times, 'silent')
    rank.equal(rank.counter('wait_timeouts', other.pid), 0, 'timeouts')
    return said


@case('opendir', 'a stopped producer that may use the GPU is left, and not waited for again')
def stopped(rank):
    key = tuning_key(rank)
    with Other(rank, key=key, ordinal=11) as producer:
        rank.equal(producer.said()['names'], [[]], 'what the producer saw')
        rank.equal(rank.counter('leases', producer.pid), 1, 'leases')
        os.kill(producer.pid, signal.SIGSTOP)
        with Other(rank, 'again', key=key, environment=PATIENT, library=rank.told['impatient']) as other:
            # What the waiter itself hashes is no sign that its producer works, though both are in one process group.
            again = leaves(rank, other, 2)['again_s']
            rank.check(again < 1, 'the second look took %.1f s' % again)
            rank.equal(rank.counter('leases', other.pid), 0, "the waiter's leases")


@case('opendir', 'a producer that was left and works again is waited for again', prepare=fresh('fx'))
def back_at_work(rank):
    key = tuning_key(rank)
    with Other(rank, 'work', key=key, ordinal=11) as producer:
        producer.said()
        os.kill(producer.pid, signal.SIGSTOP)
        with Other(rank, 'again', 'when', key=key, environment=PATIENT, library=rank.told['impatient']) as other:
            rank.equal(other.process.stdout.readline().strip(), 'left', 'after the first look')
            os.kill(producer.pid, signal.SIGCONT)
            time.sleep(1.5)  # signs are seconds
            other.process.stdin.write('\n')
            other.process.stdin.flush()
            time.sleep(4)
            rank.check(other.is_silent(), 'the waiter has left a producer at work')
            producer.process.kill()
            at_last = other.said()
            rank.equal(rank.counter('wait_silent', other.pid), 1, 'silent')
            rank.equal(at_last['names'], [[], []], 'what the waiter saw')


@case('opendir', 'a silent producer that does not use the GPU is waited for', prepare=fresh('fx'))
def plain(rank):
    key = tuning_key(rank)
    impatient = {'environment': PATIENT, 'library': rank.told['impatient']}
    with Other(rank, ordinal=11) as plain_one, Other(rank, key=key, ordinal=11) as tuning_one:
        plain_one.said(), tuning_one.said()
        with Other(rank, **impatient) as stays, Other(rank, key=key, **impatient) as goes:
            stays.waiting()
            leaves(rank, goes)
            time.sleep(1.5)
            rank.check(stays.is_silent(), 'the other waiter has left, too')
            stays.process.kill()


@case('opendir', "a compile worker's hashes keep its rank's waiters", prepare=fresh('fx'))
def worker(rank):
    key = tuning_key(rank)
    with Other(rank, key=key, ordinal=11) as producer:
        producer.said()
        with Other(rank, 'work') as worker:
            worker.said()
            with Other(rank, key=key, environment=PATIENT, library=rank.told['impatient']) as other:
                other.waiting()
                time.sleep(6)
                rank.check(other.is_silent(), 'the waiter has left')
                worker.process.kill()
                leaves(rank, other)


def run_pipeline(rank, key, environment):
    """How stage 0, which feeds, and stage 1, which needs, got the graph; stage 0's counters."""
    out, into = os.pipe()
    stages = []
    try:
        for ordinal, role, end in (('11', 'needs', out), ('3', 'feeds', into)):
            own = dict(os.environ, LD_PRELOAD=rank.told['impatient'], **environment)
            stages.append(subprocess.Popen(
                [sys.executable, os.path.join(HERE, 'stage.py'), key[0][ordinal], key[1],
                 rank.told['views'][ordinal]['fx'], '%s=%d' % (role, end)], env=own, pass_fds=(end,),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True))
            if role == 'needs':
                rank.equal(stages[0].stdout.readline().strip(), 'looked', 'stage 1')
        got = tuple(stage.stdout.readline().strip() for stage in reversed(stages))
        return got, tuple(rank.counter(name, stages[1].pid) for name in ('wait_silent', 'wait_timeouts'))
    finally:
        for stage in stages:
            stage.kill()
            stage.wait()
            stage.stdin.close()
            stage.stdout.close()
        os.close(out)
        os.close(into)


@case('opendir', 'a pipeline whose receive is queued first goes on')
def pipeline(rank):
    got, counters = run_pipeline(rank, tuning_key(rank), PATIENT)
    rank.equal(got, ('compiled', 'compiled'), 'how the stages got the graph')
    rank.equal(counters, (1, 0), 'silent, timeouts')


@case('opendir', 'that pipeline where the details do not tell: the limit alone frees it', prepare=fresh('fx'))
def blind_pipeline(rank):
    key = ({k: v['fx'] for k, v in rank.told['details'].items()}, rank.fx_dir)
    got, counters = run_pipeline(rank, key, {'RANKSHARE_WAIT': '6'})
    rank.equal(got, ('compiled', 'compiled'), 'how the stages got the graph')
    rank.equal(counters, (0, 1), 'silent, timeouts')
