# SPDX-License-Identifier: Apache-2.0
"""Another rank: hashes details, looks at their key's place and says what it saw.

    python3 waiter.py DETAILS DIRECTORY WORD...

Prints "hashed", then one line of JSON. Words: threads=N (N threads look at once), again (a second
look, timed), when (says that it has looked, and goes on after a line of input), work (goes on hashing
once it has spoken), handle=SIG (a handler in Python that counts), timer (a handler and SIGALRM every
0.2 s), fork (a child looks once the first look is over), exec (becomes another program after all that),
store=HOW (writes ENTRY=PATH as torch does, and passes over errors: limit allows no large file, disk takes what the
disk takes, slow takes seconds, gone removes its file).
"""
import ctypes
import hashlib
import json
import os
import resource
import signal
import sys
import threading
import time
import types

PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
# The details are read by the rules of the version that made them.
sys.modules['torch'] = types.ModuleType('torch')
sys.modules['torch'].__version__ = '2.11.0'
details, directory = sys.argv[1:3]
words = dict(word.partition('=')[::2] for word in sys.argv[3:])
with open(details, 'rb') as source:
    data = source.read()
said = {'names': [], 'handled': 0, 'interrupted': False, 'pid': os.getpid()}


def handler(number, frame):
    said['handled'] += 1


def store(how, entry):
    name = os.path.join(directory, '.%d.%d.tmp' % (os.getpid(), threading.get_ident()))
    if how == 'limit':
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        with open(entry, 'rb') as source, open(name, 'wb') as target:
            data = source.read()
            step = len(data) // 15 if how == 'slow' else len(data)
            for at in range(0, len(data), step):
                target.write(data[at:at + step])
                target.flush()
                time.sleep(0.5 if how == 'slow' else 0)
        if how == 'gone':
            os.unlink(name)
        else:
            os.rename(name, os.path.join(directory, 'e' * 51))
    except OSError as error:
        said['error'] = error.errno


def look(into):
    hashlib.sha256(data).digest()
    try:
        into.append(os.listdir(directory))
    except OSError as error:
        into.append(error.errno)


if 'handle' in words:
    signal.signal(getattr(signal, words['handle']), handler)
if 'timer' in words:
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
hashlib.sha256(data).digest()
print('hashed', flush=True)
try:
    threads = [threading.Thread(target=look, args=(said['names'],)) for _ in range(int(words.get('threads', 1)) - 1)]
    for thread in threads:
        thread.start()
    look(said['names'])
    for thread in threads:
        thread.join()
    if 'store' in words:
        print('stores', flush=True)
        store(words['store'], words['ENTRY'])
    if 'when' in words:
        print('left', flush=True)
        sys.stdin.readline()
    if 'again' in words:
        before = time.monotonic()
        look(said['names'])
        said['again_s'] = time.monotonic() - before
    if 'fork' in words:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            said['names'] = []
            look(said['names'])
            said['pid'] = os.getpid()
        else:
            os.waitpid(child, 0)
except KeyboardInterrupt:
    said['interrupted'] = True
print(json.dumps(said), flush=True)
while 'work' in words:
    hashlib.sha256(b'anything').digest()
    time.sleep(0.1)
if 'exec' in words:
    os.execvp('sleep', ['sleep', '1000'])
sys.stdin.read()  # its counters can be read as long as it lives
