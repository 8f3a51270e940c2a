# SPDX-License-Identifier: Apache-2.0
"""A stage of a pipeline, whose GPU is a pipe: what it queues there runs in order.

    python3 stage.py DETAILS DIRECTORY ENTRY feeds=FD|needs=FD

Both stages want the same graph. The one that needs has queued its receive first, so the kernels that it
measures while it compiles run when the other has sent, and the other sends when it has the graph.
Prints how it got it.
"""
import hashlib
import os
import sys
import types

details, directory, entry = sys.argv[1:4]
role, fd = sys.argv[4].split('=')
sys.modules['torch'] = types.ModuleType('torch')
sys.modules['torch'].__version__ = '2.11.0'
with open(details, 'rb') as source:
    hashlib.sha256(source.read()).digest()
found = os.listdir(directory)
if role == 'needs':
    print('looked', flush=True)
    os.read(int(fd), 1)
if found:
    print('loaded', flush=True)
else:
    name = '.%d.%d.tmp' % (os.getpid(), 1)
    with open(entry, 'rb') as source, open(os.path.join(directory, name), 'wb') as target:
        target.write(source.read())
    os.rename(os.path.join(directory, name), os.path.join(directory, 'e' * 51))
    print('compiled', flush=True)
if role == 'feeds':
    os.write(int(fd), b'x')
sys.stdin.read()
