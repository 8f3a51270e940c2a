# SPDX-License-Identifier: Apache-2.0
"""Recorded artifacts laid out as the tests need them, and what every rank should see of them.

Runs without the library. Offline views come from `rankshare rewrite`; that they are right is proven
elsewhere (replay tests), here only that the hooks show the same bytes.
"""
import base64
import hashlib
import json
import os
import shutil
import subprocess
import tarfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.path.join(TOP, os.environ.get('BUILD') or 'build')  # ranks run elsewhere: not by the working directory
LIBRARY = os.path.join(BUILD, 'librankshare.so')
IMPATIENT = os.path.join(BUILD, 'test', 'librankshare.so')  # tests/preload/preload.mk
TOOL = os.path.join(BUILD, 'rankshare')
RECORDINGS = os.path.join(TOP, 'tests', 'data')
TRITON_KEY = '3.6.0' + hashlib.sha256(b'triton').hexdigest() + '-a kernel of the tests'


def name51(data):
    return base64.b32encode(hashlib.sha256(data).digest())[:51].decode().lower()


def triton_name(text):
    return base64.b32encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')


def plain_environment():
    """The environment without anything of the library or of a job."""
    drop = ('RANKSHARE', 'LD_PRELOAD', 'TORCHINDUCTOR', 'TRITON', 'RANK', 'LOCAL_RANK', 'WORLD_SIZE',
            'MASTER_', 'TORCHELASTIC')
    return {k: v for k, v in os.environ.items() if not k.startswith(drop)}


def rewrite(to, source, target, details=None):
    command = [TOOL, 'rewrite', '--to', str(to)]
    if details:
        command += ['--details', details]
    done = subprocess.run(command + [source, target], env=plain_environment(), stderr=subprocess.PIPE, timeout=60)
    if done.returncode:
        raise RuntimeError('%s: %s' % (' '.join(command + [source]), done.stderr.decode().strip()))


def extract(target, case='usertriton'):
    """One case of the recordings: its cache of cuda:0 and the details it hashed."""
    for archive in sorted(os.listdir(RECORDINGS)):
        if not archive.endswith('.tar.xz'):
            continue
        with tarfile.open(os.path.join(RECORDINGS, archive)) as tar:
            found = False
            for member in tar:
                parts = member.name.lstrip('./').split('/')
                if parts[0] == case and parts[1:2] and parts[1] in ('dev0_inductor', 'keys0'):
                    tar.extract(member, target)
                    found = True
            if found:
                return os.path.join(target, case)
    raise RuntimeError('no case %s in %s' % (case, RECORDINGS))


def entries(root):
    """(kind, path relative to root) of each FX and AOT entry."""
    for kind in ('fxgraph', 'aotautograd'):
        for folder, _, names in os.walk(os.path.join(root, kind)):
            for name in names:
                yield kind, os.path.relpath(os.path.join(folder, name), root)


def make(work, ordinals=(11, 12, 3)):
    """The shared part: template root, details and views for each ordinal. Returns what ranks get told."""
    recorded = extract(work)
    template = os.path.join(work, 'template')
    source = os.path.join(recorded, 'dev0_inductor')
    for kind in ('fxgraph', 'aotautograd'):
        shutil.copytree(os.path.join(source, kind), os.path.join(template, kind))
    group = os.path.join(template, 'triton', '0', triton_name(TRITON_KEY))
    os.makedirs(group)
    with open(os.path.join(group, '__grp__kernel.json'), 'w') as out:
        json.dump({'child_paths': {}}, out)
    told = {'template': template, 'details': {}, 'views': {}, 'tool': TOOL, 'library': LIBRARY, 'impatient': IMPATIENT,
            'triton_key': TRITON_KEY, 'group': os.path.relpath(os.path.join(group, '__grp__kernel.json'), template)}
    keys = os.path.join(recorded, 'keys0')
    details = sorted(os.listdir(keys))
    fx = [n for n in details if n.endswith('-fx.pickle')][0]
    aot = [n for n in details if n.endswith('-aot.pickle')][0]
    for kind, path in entries(template):
        label = 'fx' if kind == 'fxgraph' else 'aot'
        with open(os.path.join(keys, fx if label == 'fx' else aot), 'rb') as data:
            expected = ('f' if label == 'fx' else 'a') + name51(data.read())
        if os.path.basename(os.path.dirname(path)) != expected:
            raise RuntimeError('%s does not lie under the key of its details' % path)
        told[label] = path
    told['details']['0'] = {'fx': os.path.join(keys, fx), 'aot': os.path.join(keys, aot)}
    told['views']['0'] = {k: os.path.join(template, told[k]) for k in ('fx', 'aot')}
    for ordinal in ordinals:
        folder = os.path.join(work, 'ordinal%d' % ordinal)
        os.makedirs(folder)
        told['details'][str(ordinal)], told['views'][str(ordinal)] = {}, {}
        for label in ('fx', 'aot'):
            original = told['details']['0'][label]
            moved = os.path.join(folder, label + '.details')
            rewrite(ordinal, original, moved)
            told['details'][str(ordinal)][label] = moved
            view = os.path.join(folder, label + '.entry')
            rewrite(ordinal, os.path.join(template, told[label]), view, original)
            told['views'][str(ordinal)][label] = view
    return told
