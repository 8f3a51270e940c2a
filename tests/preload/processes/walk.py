# SPDX-License-Identifier: Apache-2.0
"""What one process under the library does, and the books it keeps of it.

A Walk hashes recorded details and made-up Triton keys, looks up, stores and loads as torch does.
close() appends one line of JSON to the books before the process ends, in whatever way it then does.
"""
import base64
import collections
import hashlib
import json
import os
import threading
import uuid

TRITON = '3.6.0' + hashlib.sha256(b'triton').hexdigest() + '-'


def read(path):
    with open(path, 'rb') as data:
        return data.read()


def start_of(pid):
    """Field 22 of its stat file; 0 when it is gone."""
    try:
        return int(read('/proc/%d/stat' % pid).rpartition(b')')[2].split()[19])
    except OSError:
        return 0


def session_job():
    return 'session-%d-%d' % (os.getsid(0), start_of(os.getsid(0)))


def descriptors():
    """Open descriptors with what they are, but for the one that lists them."""
    found = []
    for number in os.listdir('/proc/self/fd'):
        try:
            found.append('%s %s' % (number, os.readlink('/proc/self/fd/' + number)))
        except OSError:
            pass
    return sorted(found)


class Walk:
    def __init__(self, ordinal=0, who='rank'):
        self.told, self.ordinal, self.who = json.loads(read(os.environ['TOLD'])), ordinal, who
        self.did, self.keys = collections.Counter(), []
        self.root = os.environ['TORCHINDUCTOR_CACHE_DIR']
        self.shown = None  # the ordinal that the statistics must show
        self.before = descriptors()

    # ---- graphs ---------------------------------------------------------------------------------------

    def hash(self, label='fx', ordinal=None):
        ordinal = self.ordinal if ordinal is None else ordinal
        hashlib.sha256(read(self.told['details'][str(ordinal)][label])).digest()
        self.did['details_' + label] += 1
        if self.shown is None:
            self.shown = ordinal

    def entry(self, label='fx'):
        return os.path.join(self.root, self.told[label])

    def load(self, ordinal=None, label='fx'):
        """Opens the entry: its bytes must be those of ORDINAL."""
        ordinal = self.ordinal if ordinal is None else ordinal
        if read(self.entry(label)) != read(self.told['views'][str(ordinal)][label]):
            raise AssertionError('not the bytes of ordinal %d' % ordinal)
        self.did['views'] += ordinal > 0

    def graph(self, label='fx', store=True):
        """Hash, look, then load or compile and store. Whether it was there."""
        self.hash(label)
        if label == 'fx':
            self.keys.append('fx')
        folder = os.path.dirname(self.entry(label))
        os.makedirs(folder, exist_ok=True)
        self.did['looks_' + label] += 1
        if [n for n in os.listdir(folder) if not n.startswith('.')]:
            self.load(label=label)
            return True
        if store:
            self.store(label)
        return False

    def store(self, label='fx'):
        entry = self.entry(label)
        temporary = os.path.join(os.path.dirname(entry), '.%d.%d.tmp' % (os.getpid(), threading.get_native_id()))
        with open(temporary, 'wb') as out:
            out.write(read(self.told['views'][str(self.ordinal)][label]))
        os.rename(temporary, entry)
        self.did['stores_' + label] += 1

    # ---- kernels --------------------------------------------------------------------------------------

    def group(self, name):
        """Path of a group file. Triton hashes the key for it, makes the directory, and then looks."""
        self.did['keys_triton'] += 1
        key = base64.b32encode(hashlib.sha256((TRITON + name).encode()).digest()).decode().rstrip('=')
        folder = os.path.join(self.root, 'triton', str(self.ordinal), key)
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, '__grp__%s.json' % name)

    def kernel(self, name, store=True, asking=None):
        """The same for a Triton kernel. ASKING is called just before the look."""
        path = self.group(name)
        self.did['looks_triton'] += 1
        self.keys.append(name)
        if asking:
            asking()
        if os.path.exists(path):
            return True
        if store:
            self.store_kernel(path)
        return False

    def store_kernel(self, path):
        folder = os.path.dirname(path)
        temporary = os.path.join(folder, 'tmp.pid_%d_%s' % (os.getpid(), uuid.uuid4()))
        os.makedirs(temporary)
        with open(os.path.join(temporary, 'group'), 'w') as out:
            out.write('{"child_paths": {}}')
        os.replace(os.path.join(temporary, 'group'), path)
        os.rmdir(temporary)
        self.did['stores_triton'] += 1

    # ---- the books ------------------------------------------------------------------------------------

    def close(self, rank=None, job=None, execs=False, keeps=False, **expect):
        """RANK, JOB: what the statistics must say, where it isn't what the environment says. EXECS: the
        process goes on as another program. KEEPS: Python itself keeps descriptors open, or other threads
        do. EXPECT: counters that must have a value in its row."""
        if rank is None:
            rank = int(os.environ['RANK']) if 'RANK' in os.environ else None
        line = {'who': self.who, 'pid': os.getpid(), 'rank': rank, 'ordinal': self.shown, 'did': dict(self.did),
                'job': job or os.environ.get('RANKSHARE_JOB') or session_job(), 'keys': self.keys, 'expect': expect,
                'execs': execs, 'left': [] if keeps else sorted(set(descriptors()) - set(self.before))}
        write(line)


def write(line):
    fd = os.open(os.environ['BOOKS'], os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.write(fd, json.dumps(line).encode() + b'\n')
    os.close(fd)
