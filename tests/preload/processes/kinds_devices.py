# SPDX-License-Identifier: Apache-2.0
"""CUDA_VISIBLE_DEVICES and fork: whose device an entry is shown for in a child that hashed nothing."""
import os

from kinds import finish, fork, kind, part, reap, run
from walk import Walk

VISIBLE = 'CUDA_VISIBLE_DEVICES'


@part
def reader(ordinal):
    """Loads without hashing."""
    walk = Walk(int(ordinal), 'reader of %s' % ordinal)
    walk.load()
    walk.close()


def child(ordinal, visible, then=None):
    """A fork child. ORDINAL: what it must see before it hashes; None: nothing."""
    def body():
        if visible == '':
            os.environ.pop(VISIBLE, None)
        elif visible is not None:
            os.environ[VISIBLE] = visible
        walk = Walk(ordinal or 0, 'child with %s' % visible)
        if ordinal is None:
            try:
                walk.load()
            except FileNotFoundError:
                walk.did['views_failed'] += 1
            else:
                raise AssertionError('a child of unknown device saw the entry')
        else:
            walk.load()
        if then is not None:
            walk.ordinal = then
            walk.graph()
        walk.close()
    return fork(body)


@part
def devices(inherited):
    """A rank on 11 and children of all sorts."""
    if inherited != 'none':
        os.environ[VISIBLE] = inherited
    walk = Walk(11, 'parent')
    walk.graph()
    # Other programs know nothing of us: as plain ones, they see what is on disk.
    finish(run('reader', 0, environment={VISIBLE: '7'}))
    finish(run('reader', 0))
    reap(child(11, None), child(0, '7'), child(0, 'GPU-3f', then=0), child(None, '7,3', then=3), child(11, None, then=3))
    # torch 2.4 sets the variable in the parent while it starts a child.
    os.environ[VISIBLE] = '5'
    reap(child(0, None))
    if inherited == 'none':
        del os.environ[VISIBLE]
    else:
        os.environ[VISIBLE] = inherited
        reap(child(None, ''))
    reap(child(11, None), child(11, inherited if inherited != 'none' else None))
    walk.graph()
    walk.close()


kind('devices: children of a rank that sees all', 'devices', 11, 'none')
kind('devices: children of a rank that sees some', 'devices', 12, '0,1,2,3,4,5,6,7,8,9,10,11')
