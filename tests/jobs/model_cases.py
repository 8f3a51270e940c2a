# SPDX-License-Identifier: Apache-2.0
"""Models as people write them (programs/models.py), and what they do around torch.compile: sizes that change,
blocks compiled by themselves, activation checkpoints, data from worker processes, pipeline stages."""

from case import LEAN, gpu

DEVICES = (0, 3)


def model(test, mode, group=False):
    def ranks(phase):
        more = {"group": test.place.root / f"meeting-{phase}"} if group else {}
        return [gpu(mode, device, config=LEAN, **more) for device in DEVICES]

    test.cold_and_warm(ranks, 900)


def llama(test):
    """Decoder blocks with rotary embeddings, grouped queries and a KV cache: a prompt, then word by word."""
    model(test, "llama")


def bert(test):
    """An encoder in training: dropout draws from each device's own generator."""
    model(test, "bert")


def sizes(test):
    """mark_dynamic with and without limits, and sizes that torch finds out about by recompiling."""
    model(test, "sizes")


def checkpointed(test):
    """Activations are computed again in the backward."""
    model(test, "checkpointed")


def regional(test):
    """One block compiled, used many times: one forward and one backward graph in the whole job."""
    model(test, "regional")


def loaders(test):
    """Forked and spawned DataLoader workers are no ranks, and see what the rank gave them."""
    model(test, "loaders")
    if test.stats:
        found = sorted(str(rank["ordinal"]) for rank in test.stats.ranks())
        test.expect(set(found) == {str(device) for device in DEVICES},
                    f"processes on {found} by the library's statistics")


def stages(test):
    """Two stages of a pipeline with one block each, forward and backward: gloo carries what they exchange."""
    model(test, "stages", group=True)


ALL = {"llama": llama, "bert": bert, "sizes": sizes, "checkpointed": checkpointed, "regional": regional,
       "loaders": loaders, "stages": stages}
