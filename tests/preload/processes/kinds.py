# SPDX-License-Identifier: Apache-2.0
"""The table of kinds of processes. A row is one run of a part; parts start each other.

Rows say how many lines the books must have in the end, so that nobody dies unnoticed.
"""
import importlib
import os
import subprocess
import sys
import traceback

import walk

PARTS, KINDS = {}, []
MODULES = ('kinds_start', 'kinds_end', 'kinds_devices', 'kinds_threads', 'kinds_jobs', 'kinds_many')
RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'rank.py')
PATIENCE = 50  # seconds; the ranks' RANKSHARE_WAIT is ten times that


class Kind:
    def __init__(self, name, part, lines, arguments, environment, long, totals):
        self.name, self.part, self.lines = name, part, lines
        self.arguments, self.environment = [str(a) for a in arguments], environment
        self.long, self.totals = long, totals


def part(function):
    PARTS[function.__name__] = function
    return function


def kind(name, part, lines, *arguments, environment=None, long=False, totals=False):
    """LINES of the books. ENVIRONMENT: variables on top (None takes one away). LONG: not in the quick
    form. TOTALS: pids may come again, so only the sums are compared."""
    KINDS.append(Kind(name, part, lines, arguments, environment or {}, long, totals))


# ---- starting and waiting -------------------------------------------------------------------------------

def command(part, *arguments):
    return [sys.executable, RANK, part] + [str(a) for a in arguments]


def run(part, *arguments, environment=None, **options):
    """A new program that plays PART."""
    variables = dict(os.environ, **{k: str(v) for k, v in (environment or {}).items()})
    return subprocess.Popen(command(part, *arguments), env=variables, **options)


def piped(part, *arguments, environment=None, **options):
    """The same, with pipes for say() and hear()."""
    return run(part, *arguments, environment=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)


def say(word):
    os.write(1, word.encode() + b'\n')


def hear():
    return os.read(0, 100)


def produce_when_told(rank, name):
    """Takes the lease of a Triton kernel, says "held", and stores when it hears a word."""
    path = rank.group(name)
    rank.did['looks_triton'] += 1
    if os.path.exists(path):
        raise AssertionError('somebody stored before')
    say('held')
    hear()
    rank.store_kernel(path)
    rank.close(leases=1)


def expect_word(process, word):
    line = process.stdout.readline().decode().strip()
    if line != word:
        raise AssertionError('a process said %r where it should say %r' % (line, word))


def finish(process, status=0):
    try:
        ended = process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError('%s still waited after %d s' % (' '.join(process.args[2:]), PATIENCE))
    if ended != status:
        raise AssertionError('%s ended with %s' % (' '.join(process.args[2:]), ended))


def guarded(function, *arguments, **named):
    """Runs FUNCTION; what goes wrong is written into the books. An exit status."""
    try:
        function(*arguments, **named)
        return 0
    except BaseException:
        walk.write({'error': traceback.format_exc()})
        return 1


def fork(function, *arguments, **named):
    child = os.fork()
    if child == 0:
        os._exit(guarded(function, *arguments, **named))
    return child


def reap(*children):
    for child in children:
        status = os.waitpid(child, 0)[1]
        if status:
            raise AssertionError('a fork child ended with status %#x' % status)


def load():
    for module in MODULES:
        importlib.import_module(module)
    return KINDS


@part
def probe(*keys):
    """Asks for each key: whoever produced it is gone, so the answer comes at once."""
    one = walk.Walk(11, 'probe')
    for key in keys:
        if key == 'fx':
            one.graph(store=False)
        else:
            one.kernel(key, store=False)
