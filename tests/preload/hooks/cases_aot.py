# SPDX-License-Identifier: Apache-2.0
"""AOT keys: who waits there, and who has one of its own. The details are the recorded ones with single
settings turned."""
import base64
import hashlib
import os
import re
import subprocess
import sys
import threading
import types

from cases import case
from others import Other
from rank import read_raw

TORCH = '2.11.0+cu130'  # of the recordings
GRAD = (b'\x8c\x0cgrad_enabled\x88', b'\x8c\x0cgrad_enabled\x89')
TUNED = (b'\x8c\x0cmax_autotune\x89', b'\x8c\x0cmax_autotune\x88')
TALKS = (b'\x8c\x1ddistributed_max_autotune_gemm\x89', b'\x8c\x1ddistributed_max_autotune_gemm\x88')


def pretend(version):
    sys.modules['torch'] = types.ModuleType('torch')
    sys.modules['torch'].__version__ = version


def turned(rank, ordinal, changes, label='aot'):
    data = read_raw(rank.told['details'][str(ordinal)][label])
    for old, new in changes:
        rank.equal(data.count(old), 1, 'how often the details have %r' % old)
        data = data.replace(old, new)
    return data


class Place:
    """Where the turned details lead: its key's directory, empty, and what another rank hashes."""

    def __init__(self, rank, changes, label='aot', version=TORCH):
        self.rank, self.label, self.changes = rank, label, changes
        if version:
            pretend(version)
        self.data = turned(rank, rank.ordinal, changes, label)
        key = name_of(label, plain_digest(turned(rank, 0, changes, label)))
        folder = 'aotautograd' if label == 'aot' else os.path.join('fxgraph', key[1:3])
        self.directory = os.path.join(rank.root, folder, key)
        os.makedirs(self.directory, exist_ok=True)

    def look(self):
        """Hashes the details and looks for their entry, as torch does; the names found."""
        hashlib.sha256(self.data).digest()
        return os.listdir(self.directory)

    def store(self, name='x' * 51):
        temporary = os.path.join(self.directory, '.1.2.tmp')
        self.rank.put(temporary, self.rank.aot_view if self.label == 'aot' else self.rank.fx_view)
        os.rename(temporary, os.path.join(self.directory, name))


def name_of(label, digest):
    return label[0] + base64.b32encode(digest)[:51].decode().lower()


def plain_digest(data):
    """The digest of bytes without the library's doing: by a process that has none."""
    program = 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())'
    environment = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'RANKSHARE')}
    done = subprocess.run([sys.executable, '-c', program], input=data, env=environment, stdout=subprocess.PIPE)
    return bytes.fromhex(done.stdout.decode())


@case('opendir', 'an inference graph: the first rank leads, the second waits for its AOT entry', hashed=('fx',))
def waits(rank):
    place = Place(rank, [GRAD])
    rank.equal(place.look(), [], 'names')
    rank.counts(aot_misses=1, leases=1)
    with other_rank(rank, place) as other:
        other.waiting()
        place.store()
        rank.equal(other.said()['names'], [['x' * 51]], 'what the other rank found')
        rank.equal([rank.counter(name, other.pid) for name in ('aot_waited', 'aot_hits', 'aot_misses')], [1, 0, 0],
                   'waits, hits and misses of the other rank')
    rank.counts(stores_aot=1)


def other_rank(rank, place, **options):
    """A rank of cuda:3 that hashes the same details and looks at the same place."""
    details = os.path.join(rank.root, 'details3')
    rank.put(details, turned(rank, 3, place.changes))
    return Other(rank, key=({'3': details}, place.directory), **options)


@case('opendir', 'torch does not store the AOT entry after its FX entry: nobody waits for it', hashed=())
def not_stored(rank):
    place = Place(rank, [GRAD])
    place.look()
    inner = Place(rank, [TUNED], 'fx')
    inner.look()
    impatient = {'environment': {'RANKSHARE_WAIT': '1000'}, 'library': rank.told['impatient']}
    # A worker's hashes are signs of its rank's work: else a slow machine has the producer fall silent first.
    with Other(rank, 'work') as worker, other_rank(rank, place, **impatient) as other:
        worker.said()
        other.waiting()
        rank.equal(rank.counter('wait_stalled', other.pid), 0, 'stalled while the producer compiles')
        inner.store()
        rank.equal(other.said()['names'], [[]], 'what the other rank found')
        rank.equal(rank.counter('wait_stalled', other.pid), 1, 'stalled')
        rank.equal(rank.counter('aot_misses', other.pid), 1, 'misses')
    rank.counts(leases=2, stores_fx=1, stores_aot=0)


for why, changes, talks in (('training', [TUNED], 0), ('ranks talk', [GRAD, TALKS], 1)):
    @case('opendir', 'no lease at an AOT key: ' + why, hashed=('fx',), changes=changes, talks=talks)
    def no_lease(rank, changes, talks):
        place = Place(rank, changes)
        rank.equal(place.look(), [], 'names')
        rank.counts(aot_misses=1, leases=0, keys_canonical=2, leases_not_due=talks)


@case('opendir', 'no lease at an FX key where ranks talk: the key is shared all the same', hashed=())
def talks(rank):
    place = Place(rank, [TALKS], 'fx')
    rank.equal(place.look(), [], 'names')
    rank.counts(fx_misses=1, leases=0, leases_not_due=1, keys_canonical=1)


@case('opendir', 'an AOT lease ends at the next AOT key, not at FX keys', hashed=('fx',))
def next_key(rank):
    first = Place(rank, [GRAD])
    first.look()
    inner = Place(rank, [TUNED], 'fx')
    inner.look()
    rank.counts(leases=2, unproductive=0)
    Place(rank, [TUNED]).look()
    rank.counts(leases=2, unproductive=2)


TENSOR = b'\x8c\x19torch._inductor.codecache\x8c\x06_ident\x93\x8c\x20' + b'0123456789abcdef' * 2 + b'\x85R'


def with_subclass(rank, ordinal):
    """The details with a distributed tensor among them: 32 hex digits. They are one frame."""
    data = turned(rank, ordinal, [])
    head, key = data[:11], b'\x8c\x0dcache_key_tag'
    rank.equal((head[:3], data.count(key)), (b'\x80\x04\x95', 1), 'header, places for a tensor')
    body = data[11:].replace(key, b'\x8c\x06tensor' + TENSOR + key)
    return head[:3] + len(body).to_bytes(8, 'little') + body


@case('opendir', 'distributed tensors: an AOT key of its own, marked entries, FX keys shared', hashed=('fx',))
def distributed(rank):
    pretend(TORCH)
    data = with_subclass(rank, rank.ordinal)
    digest = hashlib.sha256(data).digest()
    native, canonical = plain_digest(data), plain_digest(with_subclass(rank, 0))
    rank.check(digest not in (native, canonical), 'the key is the native or the canonical one')
    salted = plain_digest(b'rankshare:ordinal:%d\0' % rank.ordinal + data)
    rank.equal(digest, salted, 'the key')
    rank.counts(keys_canonical=1, keys_private=1, refused_dtensor=1)
    folder = os.path.join(rank.root, 'aotautograd', name_of('aot', digest))
    os.makedirs(folder)
    rank.put(os.path.join(folder, '.1.2.tmp'), rank.aot_view)
    os.rename(os.path.join(folder, '.1.2.tmp'), os.path.join(folder, 'x' * 51))
    mark = b'\nrankshare:private:%d\n' % rank.ordinal
    rank.equal(read_raw(os.path.join(folder, 'x' * 51)), rank.aot_view + mark, 'the entry on disk')
    with open(os.path.join(folder, 'x' * 51), 'rb') as entry:
        rank.equal(entry.read(), rank.aot_view + mark, 'the entry as the rank sees it')


def without_device():
    """AOT details with a distributed tensor among them and no device."""
    body = (b'\x8c\x2dtorch._functorch._aot_autograd.autograd_cache\x8c\x17AOTAutogradCacheDetails\x93)\x81}(\x8c\x01a'
            + TENSOR + b'ub.')
    return b'\x80\x04\x95' + len(body).to_bytes(8, 'little') + body


for ordinal in (11, 0):
    @case('rename', 'cuda:%d: a native AOT entry does not lead from its key to a shared FX key of another device' % ordinal,
          hashed=(), ordinal=ordinal)
    def native(rank):
        pretend(TORCH)
        data = without_device()
        digest = hashlib.sha256(data).digest()
        rank.equal(digest, plain_digest(data), 'the key, hashed before any that names a device')
        folder = os.path.join(rank.root, 'aotautograd', name_of('aot', digest))
        os.makedirs(folder)
        for name in 'xy':
            temporary = os.path.join(folder, '.1.2.tmp')
            rank.put(temporary, rank.aot_view)
            os.rename(temporary, os.path.join(folder, name * 51))
            rank.check(not os.path.exists(temporary), 'the temporary file is still there')
            rank.hash('fx')  # the recorded AOT entry names its key
        moved = rank.ordinal > 0
        rank.equal(rank.names(folder), ['x' * 51] if moved else ['x' * 51, 'y' * 51], 'what was stored')
        rank.equal(read_raw(os.path.join(folder, 'x' * 51)), rank.aot_view, 'the first of them')
        rank.counts(refused_dtensor=1, refused_inner_key=moved, stores_dropped=moved)


def several_devices():
    """AOT details of a graph on cuda:11 and cuda:12: native in every process."""
    device = b'\x8c\x05torch\x8c\x06device\x93\x8c\x04cudaK%c\x86R'
    body = (b'\x8c\x2dtorch._functorch._aot_autograd.autograd_cache\x8c\x17AOTAutogradCacheDetails\x93)\x81}(\x8c\x01a'
            + device % 11 + b'\x8c\x01b' + device % 12 + b'ub.')
    return b'\x80\x04\x95' + len(body).to_bytes(8, 'little') + body


@case('open', 'behind the AOT key of a graph on two devices no FX entry of one device, in that thread until it hashes others',
      hashed=('fx',), ordinal=11)
def behind(rank):
    pretend(TORCH)

    def seen():
        try:
            with open(rank.fx, 'rb') as entry:
                return entry.read()
        except FileNotFoundError:
            return None

    rank.equal(seen(), rank.fx_view, 'behind its own key')
    hashlib.sha256(several_devices()).digest()
    hashlib.sha256(b'3.6.0' + b'0' * 64 + b'-a kernel').digest()
    rank.equal(seen(), None, 'behind a native AOT key')
    others = []
    thread = threading.Thread(target=lambda: others.append(seen()))
    thread.start()
    thread.join()
    rank.equal(others, [rank.fx_view], 'in another thread')
    rank.hash('fx')
    rank.equal(seen(), rank.fx_view, 'behind its own key again')
    rank.counts(refused_several_ordinals=1, refused_not_canonical=1, views_failed=1)


def bundle():
    """The least that torch's bundled entries have in common, on this rank's device."""
    body = (b'\x8c\x32torch._functorch._aot_autograd.aot_autograd_result\x8c\x18BundledAOTAutogradResult\x93)\x81}(\x8c\x01a'
            b'\x8c\x05torch\x8c\x06device\x93\x8c\x04cudaK\x0b\x86R' b'ub.')
    return b'\x80\x04\x95' + len(body).to_bytes(8, 'little') + body


def by_setting(rank, data):
    setting = rb'(X\x16\0\0\0bundled_autograd_cache(?:q.|r....))\x89'
    data, found = re.subn(setting, lambda found: found[1] + b'\x88', data, flags=re.S)
    rank.equal(found, 1, 'how often the details have the setting')
    return data


for how, environment, turn in (('a setting in the details', {}, by_setting),
                               ('a variable', {'TORCH_CACHING_PRECOMPILE': '1'}, lambda _, data: data)):
    @case('rename', 'AOT entries that hold their FX graphs themselves by %s: native keys, and stored as they are' % how,
          hashed=(), ordinal=11, environment=environment)
    def bundled(rank, turn=turn):
        pretend(TORCH)
        data = turn(rank, turned(rank, rank.ordinal, ()))
        digest = hashlib.sha256(data).digest()
        rank.equal(digest, plain_digest(data), 'the key')
        folder = os.path.join(rank.root, 'aotautograd', name_of('aot', digest))
        os.makedirs(folder)
        temporary, entry = os.path.join(folder, '.1.2.tmp'), os.path.join(folder, 'x' * 51)
        rank.put(temporary, bundle())
        os.rename(temporary, entry)
        rank.equal(read_raw(entry), bundle(), 'the entry on disk')
        with open(entry, 'rb') as file:
            rank.equal(file.read(), bundle(), 'the entry as the rank sees it')
        rank.counts(keys_native=1, refused_bundled=1, stores_dropped=0, leases=0)
