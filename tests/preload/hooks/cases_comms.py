# SPDX-License-Identifier: Apache-2.0
"""Keys of graphs with collectives: shared, or native and why. The details are the recorded ones with
other text in the graph's code and single settings turned."""
import hashlib

from cases import case
from cases_aot import TORCH, plain_digest, pretend, turned

CODE = b'torch.ops.higher_order.'
COLLECTIVE = (CODE, b'torch.ops.c10d_r_order.')
SYMMETRIC = (CODE, b'torch.ops.symm_mem_ord.')
BUCKETS = (b'bucket_all_gathers_fx\x8c\x04none', b'bucket_all_gathers_fx\x8c\x04fsdp')
PASS = (b'\x8c\x1apost_grad_custom_post_passN', b'\x8c\x1apost_grad_custom_post_pass\x88')
ODD = (b'bucket_all_gathers_fx\x8c\x04none', b'bucket_all_gathers_fxC\x04none')

CASES = (
    ('collectives under a known version', TORCH, [COLLECTIVE], None),
    ('collectives under a later version', '2.16.0', [COLLECTIVE], 'torch_unknown'),
    ('collectives under a build between releases', '2.12.0a0+git1234', [COLLECTIVE], 'torch_unknown'),
    ('collectives without any torch', None, [COLLECTIVE], 'torch_unknown'),
    ('collectives under a version that must say more', '2.13.0', [COLLECTIVE], 'rank_specific'),
    ('collectives and buckets of all-gathers', TORCH, [COLLECTIVE, BUCKETS], 'rank_specific'),
    ('collectives and a setting of a wrong type', TORCH, [COLLECTIVE, ODD], 'rank_specific'),
    ('collectives and a custom pass', TORCH, [COLLECTIVE, PASS], 'custom_pass'),
    ('symmetric memory', TORCH, [SYMMETRIC], 'symm_mem'),
    ('no collectives: buckets and a custom pass do not matter', TORCH, [BUCKETS, PASS], None),
    ('no collectives under a later version', '2.16.0', [], None),
)

for title, version, changes, reason in CASES:
    @case('', 'FX key: ' + title, hashed=(), version=version, changes=changes, reason=reason)
    def fx_key(rank, version, changes, reason):
        if version:
            pretend(version)
        data = turned(rank, rank.ordinal, changes, 'fx')
        native, canonical = plain_digest(data), plain_digest(turned(rank, 0, changes, 'fx'))
        rank.check(native != canonical, 'the details name no device')
        rank.equal(hashlib.sha256(data).digest(), native if reason else canonical, 'the key')
        counts = {'keys_native': 1, 'refused_' + reason: 1} if reason else {'keys_canonical': 1, 'keys_native': 0}
        rank.counts(**counts)


@case('', 'AOT key: collectives and buckets: neither native nor shared', hashed=())
def aot_key(rank):
    pretend(TORCH)
    data = turned(rank, rank.ordinal, [COLLECTIVE, BUCKETS])
    rank.equal(hashlib.sha256(data).digest(), plain_digest(b'rankshare:ordinal:%d\0' % rank.ordinal + data), 'the key')
    rank.counts(keys_private=1, keys_native=0)
