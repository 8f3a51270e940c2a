# SPDX-License-Identifier: Apache-2.0
"""Containers that share /dev/shm and a cache directory: pids of one mean nothing in the other."""
import json
import os
import signal
import subprocess

from cases import case
from cases_store import fresh
from others import Other
from rank import Skipped

# With a /proc of its own, and with its host's.
PROCS = {'its own /proc': ('--mount-proc',), "its host's /proc": ()}
WAIT = {'RANKSHARE_WAIT': '4'}


def container(proc):
    command = ('unshare', '--pid', '--fork', '--user', '--map-root-user', *PROCS[proc])
    try:
        done = subprocess.run([*command, 'true'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20)
    except FileNotFoundError:
        raise Skipped('no unshare(1)')
    if done.returncode:
        raise Skipped('no pid namespace: ' + done.stdout.decode().strip())
    return command


def totals(rank, *names):
    """Sums over all processes; the segment is that of the containers' root user."""
    environment = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'RANKSHARE')}
    done = subprocess.run(['unshare', '--user', '--map-root-user', rank.told['tool'], 'stats', '--json'],
                          env=environment, stdout=subprocess.PIPE, timeout=20, check=True)
    total = json.loads(done.stdout)['total']
    return {name: total[name] for name in names}


for proc in PROCS:
    @case('opendir', 'a producer killed in another container: the limit alone, ' + proc, proc=proc, prepare=fresh('fx'),
          hashed=())
    def killed(rank, proc):
        inside = container(proc)
        with Other(rank, inside=inside) as producer, Other(rank, inside=inside, environment=WAIT) as other:
            said = producer.said()
            rank.equal((said['names'], said['pid']), ([[]], 1), 'the producer')
            os.kill(producer.pid, signal.SIGKILL)
            producer.process.wait()
            said = other.said()
            rank.equal((said['names'], said['pid']), ([[]], 1), 'the waiter')
            rank.equal(totals(rank, 'leases', 'takeovers', 'wait_timeouts', 'unproductive'),
                       {'leases': 1, 'takeovers': 0, 'wait_timeouts': 1, 'unproductive': 0}, 'counters')

    @case('opendir', 'a producer in another container stores, ' + proc, proc=proc, prepare=fresh('fx'), hashed=(),
          environment={'RANKSHARE_WAIT': '40'})
    def stores(rank, proc):
        inside = container(proc)
        with Other(rank, 'store=slow', 'ENTRY=' + rank.told['views']['11']['fx'], ordinal=11, inside=inside) as producer:
            producer.process.stdout.readline()
            with Other(rank, inside=inside) as other:
                rank.equal(other.said()['names'], [['e' * 51]], 'what the waiter saw')
                rank.equal(totals(rank, 'leases', 'fx_waited', 'wait_timeouts'),
                           {'leases': 1, 'fx_waited': 1, 'wait_timeouts': 0}, 'counters')
