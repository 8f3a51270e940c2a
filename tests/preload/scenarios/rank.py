# SPDX-License-Identifier: Apache-2.0
"""A small rank: hashes details, reads an entry, says what it saw.

    python3 rank.py read DETAILS ENTRY        one look
    python3 rank.py threads DETAILS ENTRY     16 threads, 20 looks each
    python3 rank.py store DETAILS ENTRY FILE [UID]  stores FILE's bytes as ENTRY, as torch does
    python3 rank.py job DETAILS ROOT FILE     looks for its key's entry, stores FILE's bytes where there is none, reads
                                              it again: says whether it saw FILE's bytes, its own native entry
    python3 rank.py spawn DETAILS ENTRY       the looks of children: fork, exec, vfork, posix_spawn
    python3 rank.py users UID SEGMENT DETAILS OTHER_DETAILS ENTRY  becomes UID, forks first; checks that the file
                                              SEGMENT stays as it was
    python3 rank.py inside LIBRARY DETAILS [ARGUMENT ...]  calls LIBRARY's program() as a main()
"""
import base64
import ctypes
import hashlib
import os
import subprocess
import sys
import threading
import zlib


def hash_of(details):
    with open(details, 'rb') as data:
        return base64.b32encode(hashlib.sha256(data.read()).digest())[:51].decode().lower()


def look(details, entry):
    key = hash_of(details)
    try:
        size = os.stat(entry).st_size
        with open(entry, 'rb') as data:
            read = data.read()
    except OSError as error:
        return '%s %s' % (key, error.strerror)
    return '%s %d %d %08x' % (key, size, len(read), zlib.crc32(read))


def threads(details, entry):
    seen, failures = set(), []

    def work():
        try:
            for _ in range(20):
                seen.add(look(details, entry))
        except Exception as error:
            failures.append(repr(error))
    running = [threading.Thread(target=work) for _ in range(16)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return '\n'.join(sorted(seen) + failures)


def store(details, entry, source, uid=None):
    if uid:
        os.setuid(int(uid))
    with open(details, 'rb') as data:
        hashlib.sha256(data.read()).digest()
    temporary = os.path.join(os.path.dirname(entry), '.%d.%d.tmp' % (os.getpid(), threading.get_ident()))
    try:
        with open(source, 'rb') as data, open(temporary, 'wb') as out:
            out.write(data.read())
        os.rename(temporary, entry)
    except OSError as error:
        return error.strerror
    return 'stored'


def job(details, root, native):
    key = 'f' + hash_of(details)
    folder = os.path.join(root, 'fxgraph', key[1:3], key)
    with open(native, 'rb') as data:
        own = data.read()

    def seen():
        try:
            names = [n for n in os.listdir(folder) if not n.startswith('.')]
        except FileNotFoundError:
            return 'nothing'
        for name in names:
            try:
                size = os.stat(os.path.join(folder, name)).st_size
                with open(os.path.join(folder, name), 'rb') as data:
                    read = data.read()
                return 'right' if (read, size) == (own, len(own)) else 'WRONG'
            except OSError as error:
                return error.strerror
        return 'nothing'
    first, done = seen(), ''
    if first != 'right':
        temporary = os.path.join(folder, '.%d.%d.tmp' % (os.getpid(), threading.get_ident()))
        try:
            os.makedirs(folder, exist_ok=True)
            with open(temporary, 'wb') as out:
                out.write(own)
            os.rename(temporary, os.path.join(folder, 'p' + hash_of(native)))
            done = ', stored: %s' % seen()
        except OSError as error:
            done = ', not stored: %s' % error.strerror
    return '%s %s%s' % (key, first, done)


def spawn(details, entry):
    said = [look(details, entry)]
    again = [sys.executable, __file__, 'read', details, entry]
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, look(details, entry).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    said.append(os.read(reading, 4096).decode())
    # subprocess uses vfork or posix_spawn where it may.
    said.append(subprocess.run(again, stdout=subprocess.PIPE, universal_newlines=True).stdout.strip())
    reading, writing = os.pipe()
    child = os.posix_spawn(sys.executable, again, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)])
    os.waitpid(child, 0)
    os.close(writing)
    said.append(os.read(reading, 4096).decode().strip())
    child = os.fork()
    if child == 0:
        os.execv(sys.executable, again)
    os.waitpid(child, 0)
    return '\n'.join(said)


def users(uid, segment, details, other_details, entry):
    """Who reads the segment has opened it while it could."""
    said = [look(details, entry)]
    data = os.open(segment, os.O_RDONLY)

    def content():
        return zlib.crc32(os.pread(data, 1 << 30, 0))
    before = content()
    child = os.fork()
    if child == 0:
        os.setuid(int(uid))
        print(look(details, entry), 'child', content() == before, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    os.setuid(int(uid))
    hash_of(other_details)
    after = content()  # the process has left, and does not come back
    said.append('%s unchanged %s %s' % (look(details, entry), hash_of(details) and content() == after, after == before))
    return '\n'.join(said)


def inside(library, details, *arguments):
    with open(details, 'rb') as data:
        hashlib.sha256(data.read()).digest()
    words = [word.encode() for word in (library, *arguments)]
    status = ctypes.CDLL(library).program(len(words), (ctypes.c_char_p * (len(words) + 1))(*words))
    ctypes.CDLL(None).fflush(None)
    return 'status %d' % status


print(globals()[{'read': 'look'}.get(sys.argv[1], sys.argv[1])](*sys.argv[2:]), flush=True)
