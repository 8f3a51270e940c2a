# SPDX-License-Identifier: Apache-2.0
"""A rank that does what it is told: one JSON list a line on standard input, one answer a line.

    ["hash", FILE]         hashes the details in FILE
    ["key", TEXT]          hashes a Triton key
    ["list", DIRECTORY]    the names in it, or an errno
    ["exists", PATH]
    ["read", PATH, OUT]    copies what it reads to OUT past all hooks; its size, or an errno
    ["store", FILE, PATH]  as torch does: FILE's bytes under a temporary name, then rename
    ["set", NAME, VALUE]   an environment variable
    ["get", NAME]          its value
    ["makedirs", PATH]     as torch does
    ["fork"]               goes on as a child; the parent waits for it
"""
import ctypes
import hashlib
import json
import os
import signal
import sys
import threading
import types

PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rank import raw_open, read_all, read_raw  # noqa: E402

# The details are read by the rules of the version that made them.
sys.modules['torch'] = types.ModuleType('torch')
sys.modules['torch'].__version__ = '2.11.0'


def raw_write(path, data):
    fd = raw_open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    while data:
        data = data[os.write(fd, data):]
    os.close(fd)


def read(path, out):
    fd = os.open(path, os.O_RDONLY)
    data = read_all(fd)
    os.close(fd)
    raw_write(out, data)
    return len(data)


def store(source, path):
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    temporary = os.path.join(folder, '.%d.%d.tmp' % (os.getpid(), threading.get_ident()))
    raw_write(temporary, read_raw(source))
    os.rename(temporary, path)


def fork():
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os._exit(0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getpid()


def obey(word, *arguments):
    if word == 'hash':
        return hashlib.sha256(read_raw(arguments[0])).hexdigest()
    if word == 'key':
        return hashlib.sha256(arguments[0].encode()).hexdigest()
    if word == 'get':
        return os.environ.get(*arguments)
    if word == 'makedirs':
        return os.makedirs(*arguments, exist_ok=True)
    if word == 'set':
        return os.environ.__setitem__(*arguments)
    return {'list': lambda path: sorted(os.listdir(path)), 'exists': os.path.exists, 'read': read, 'store': store,
            'fork': fork}[word](*arguments)


while True:
    line = sys.stdin.readline()
    if not line:
        break
    try:
        answer = obey(*json.loads(line))
    except OSError as error:
        answer = {'errno': error.errno}
    print(json.dumps(answer), flush=True)
