# SPDX-License-Identifier: Apache-2.0
"""What bench.py measures with: recorded details and entries, and what no recording has: details of
1 MB, an entry of 10 kB. Runs without the library."""
import os
import pickletools
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'preload', 'hooks'))
sys.dont_write_bytecode = True
import fixture  # noqa: E402

AOT_ENTRY = ('torch._functorch._aot_autograd.aot_autograd_result', 'AOTAutogradResult')
FX_DETAILS = ('torch._inductor.codecache', 'FxGraphHashDetails')


def text(value):
    value = value.encode()
    return b'\x8c' + bytes([len(value)]) + value


def obj(module_and_class, fields):
    """A pickle of one object in one frame; FIELDS are (name, opcodes that build the value)."""
    module, name = module_and_class
    body = text(module) + text(name) + b'\x93)\x81}('
    body += b''.join(text(key) + value for key, value in fields) + b'ub.'
    return b'\x80\x04\x95' + struct.pack('<Q', len(body)) + body


def opcodes(pickled):
    """A pickle without its frames, to be put into another one (details have no memo since torch 2.5)."""
    places = [(op.name, at) for op, _, at in pickletools.genops(pickled)] + [('end', len(pickled))]
    return b''.join(pickled[at:after] for (name, at), (_, after) in zip(places, places[1:])
                    if name not in ('PROTO', 'FRAME', 'STOP'))


def large_details(path, copies):
    with open(path, 'rb') as data:
        body = opcodes(data.read())
    return obj(FX_DETAILS, [('part%d' % i, body) for i in range(copies)])


def small_entry(lines):
    device = text('torch') + text('device') + b'\x93' + text('cuda') + b'K\x00\x86R'
    return obj(AOT_ENTRY, [('device', device)] + [
        ('line%d' % i, text("buf%d = empty_strided((8, 128), (128, 1), device='cuda:0') # reuse" % i))
        for i in range(lines)])


class Case:
    """One recorded case: a cache directory of cuda:0, details as each rank would hash them."""

    def __init__(self, work, name):
        self.folder = fixture.extract(work, name)
        self.root = os.path.join(self.folder, 'dev0_inductor')
        self.entries = sorted((os.path.join(self.root, path) for _, path in fixture.entries(self.root)),
                              key=os.path.getsize)
        keys = os.path.join(self.folder, 'keys0')
        self.keys = sorted((os.path.join(keys, name) for name in os.listdir(keys)), key=os.path.getsize)

    def details(self, ordinal):
        """The details of a rank, smallest first."""
        moved = []
        for path in self.keys:
            moved.append('%s.%d' % (path, ordinal))
            if not os.path.exists(moved[-1]):
                fixture.rewrite(ordinal, path, moved[-1])
        return moved

    def entry_of(self, kind, size):
        """The KIND's entry that is nearest to SIZE bytes."""
        return min((e for e in self.entries if '/%s/' % kind in e), key=lambda e: abs(os.path.getsize(e) - size))

    def pair(self):
        """FX details and the entry of their key, as recorded."""
        for path in self.keys:
            with open(path, 'rb') as data:
                key = 'f' + fixture.name51(data.read())
            for entry in self.entries:
                if '/%s/' % key in entry:
                    return path, entry
        raise RuntimeError('no FX entry in ' + self.folder)

    def add_entry(self, data):
        """Puts an AOT entry under a key of its own."""
        folder = os.path.join(self.root, 'aotautograd', 'a' + fixture.name51(data))
        os.makedirs(folder)
        path = os.path.join(folder, fixture.name51(data))
        with open(path, 'wb') as out:
            out.write(data)
        return path


def cubin(size):
    """A cubin of SIZE bytes for sm_90 with one kernel, `k`: as much of one as a linker would keep."""
    names = b'\0.shstrtab\0.strtab\0.symtab\0.text.k\0'
    symbols = struct.pack('<IBBHQQ', 0, 0, 0, 0, 0, 0) + struct.pack('<IBBHQQ', 1, 0x12, 0x10, 4, 0, 128)
    bodies = [b'', names, b'\0k\0', symbols]
    kinds = [(0, 0, 0), (1, 3, 0), (11, 3, 0), (19, 2, 24), (27, 1, 0)]  # name, type, entry size
    fixed = 64 + sum(-(-len(body) // 128) * 128 + 128 for body in bodies) + 64 * len(kinds)
    state, code = 1, bytearray()
    while len(code) < size - fixed:
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        code += struct.pack('<Q', state)
    data, heads = bytearray(64), b''
    for (name, kind, entry), body in zip(kinds, bodies + [bytes(code)]):
        data += bytes(-len(data) % 128)
        heads += struct.pack('<IIQQQQIIQQ', name, kind, 6 if name == 27 else 0, 0, len(data), len(body),
                             2 if name == 19 else 0, 1 if name == 19 else 0, 128 if body else 0, entry)
        data += body
    data += bytes(-len(data) % 8)
    data[:64] = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\x02\x01\x01\x33\x07', 2, 190, 130, 0, 0, len(data), 0x5a055a, 64, 56, 0, 64, len(kinds), 1)
    return bytes(data) + heads
