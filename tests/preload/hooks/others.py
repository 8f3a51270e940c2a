# SPDX-License-Identifier: Apache-2.0
"""Other ranks of a case: processes under the library that look at the same key."""
import json
import os
import select
import subprocess
import sys
import time

from rank import Failed

HERE = os.path.dirname(os.path.abspath(__file__))
SYS_FUTEX = {'x86_64': 202, 'aarch64': 98}[os.uname().machine]
LIMIT = 40


class Other:
    """A waiter.py. Ends when the object does."""

    def __init__(self, rank, *words, environment=None, key=None, ordinal=3, library=None, inside=()):
        """KEY: (details by ordinal, directory); the FX entry's by default. INSIDE: a command that runs it."""
        details, folder = key or ({k: v['fx'] for k, v in rank.told['details'].items()}, rank.fx_dir)
        own = dict(os.environ, **(environment or {}))
        if library:
            own['LD_PRELOAD'] = library
        self.process = subprocess.Popen(
            [*inside, sys.executable, os.path.join(HERE, 'waiter.py'), details[str(ordinal)], folder, *words],
            env=own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        self.pid = self.process.pid
        if self.process.stdout.readline().strip() != 'hashed':
            raise Failed('the other rank did not hash')

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def in_futex(self):
        """Whether its main thread sleeps in a futex: it waits for a producer."""
        try:
            with open('/proc/%d/syscall' % self.pid) as text:
                return text.read().split()[0] == str(SYS_FUTEX)
        except (OSError, IndexError):
            return None

    def is_silent(self):
        """Whether it has said nothing that was not read yet. Unlike in_futex() this holds from one slice of a wait to the next."""
        return not select.select([self.process.stdout], [], [], 0)[0]

    def waiting(self):
        """Returns once it waits."""
        for _ in range(LIMIT * 50):
            state = self.in_futex()
            if state is None:  # this kernel does not tell
                time.sleep(1)
                return
            if state:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise Failed('the other rank does not wait')

    def said(self):
        """What it saw."""
        line = self.process.stdout.readline()
        if not line:
            raise Failed('the other rank said nothing and ended with %s' % self.process.wait())
        return json.loads(line)
