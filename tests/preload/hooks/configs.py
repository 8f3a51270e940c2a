# SPDX-License-Identifier: Apache-2.0
"""Where the autotuning results of the recorded graph's kernels lie, worked out without the library."""
import hashlib
import json
import os
import re

from fixture import name51
from rank import read_raw

KERNEL = re.compile(rb"async_compile\.triton\('\w+', '''(.*?)'''", re.DOTALL)


def torch_key(details):
    """The 32 bytes behind `torch_version` in the details."""
    at = details.index(b'torch_version')
    return details[details.index(b'C\x20', at) + 2:][:32]


def paths(told, ordinal):
    """Relative paths of the results, in the order of the kernels."""
    key = torch_key(read_raw(told['details'][str(ordinal)]['fx']))
    found = []
    for text in KERNEL.findall(read_raw(told['views'][str(ordinal)]['fx'])):
        file = 'c' + name51(text.strip())
        inner = hashlib.sha256((file + '.py:').encode()).hexdigest()
        found.append('%s/%s.best_config' % (file[1:3], hashlib.sha256(inner.encode() + key).hexdigest()))
    return found


def result(block, configs='a' * 64, refined=False):
    """A result as torch writes it."""
    return json.dumps({'XBLOCK': block, 'num_warps': 4, 'num_stages': 1, 'configs_hash': configs,
                       'found_by_coordesc': refined, 'time_taken_ms': 12}).encode()


def save(path, data):
    """As torch 2.8 and later do."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    draft = os.path.join(os.path.dirname(path), '.%d.%d.tmp' % (os.getpid(), 140000))
    with open(draft, 'wb') as file:
        file.write(data)
    os.rename(draft, path)


def load(path):
    """What torch gets, or None."""
    try:
        with open(path, 'rb') as file:
            return file.read()
    except FileNotFoundError:
        return None
