# SPDX-License-Identifier: Apache-2.0
"""One rank among several on one cache, with many threads: looks, waits, stores, removals and forks at once.

    python3 torture.py SECONDS ROOT DETAILS FILE

FILE holds the rank's own native entry: whatever it reads must be that. Prints how often each thing happened,
and what went wrong on the last line (nothing: "right").
"""
import collections
import os
import random
import sys
import threading
import time

import base64
import hashlib

THREADS = 6


class Rank:
    def __init__(self, root, details, native):
        with open(details, 'rb') as data:
            self.details = data.read()
        with open(native, 'rb') as data:
            self.own = data.read()
        self.root, self.counts, self.wrong = root, collections.Counter(), []

    def folder(self):
        key = 'f' + base64.b32encode(hashlib.sha256(self.details).digest())[:51].decode().lower()
        return os.path.join(self.root, 'fxgraph', key[1:3], key)

    def look(self):
        folder = self.folder()
        try:
            names = [n for n in os.listdir(folder) if not n.startswith('.')]
            for name in names:
                with open(os.path.join(folder, name), 'rb') as data:
                    read = data.read()
                if read != self.own:
                    self.wrong.append('%d bytes that are not ours in %s' % (len(read), name))
                return 'hits'
        except OSError:
            pass
        return 'misses'

    def look_and_store(self):
        if self.look() == 'hits':
            return 'hits'
        folder = self.folder()
        temporary = os.path.join(folder, '.%d.%d.tmp' % (os.getpid(), threading.get_ident()))
        os.makedirs(folder, exist_ok=True)
        with open(temporary, 'wb') as out:
            out.write(self.own)
        os.rename(temporary, os.path.join(folder, 'pentry'))
        return 'stores'

    def remove(self):
        folder = self.folder()
        try:
            for name in os.listdir(folder):
                if not name.startswith('.'):
                    os.unlink(os.path.join(folder, name))
        except OSError:
            return 'nothing to remove'
        return 'removals'

    def fork(self):
        child = os.fork()
        if child == 0:
            before = len(self.wrong)
            self.look()
            os._exit(len(self.wrong) > before)
        if os.waitpid(child, 0)[1] != 0:
            self.wrong.append('a child saw what is not ours, or died')
        return 'forks'

    def work(self, until, seed):
        chance = random.Random(seed)
        actions = [self.look_and_store] * 6 + [self.look] * 6 + [self.fork] * 2 + [self.remove]
        try:
            while time.monotonic() < until and not self.wrong:
                self.counts[chance.choice(actions)()] += 1
        except Exception as error:
            self.wrong.append(repr(error))


def main():
    rank = Rank(*sys.argv[2:])
    until = time.monotonic() + float(sys.argv[1])
    threads = [threading.Thread(target=rank.work, args=(until, os.getpid() + i)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(dict(rank.counts))
    print('; '.join(rank.wrong) or 'right')


main()
