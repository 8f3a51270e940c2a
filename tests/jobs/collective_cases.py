# SPDX-License-Identifier: Apache-2.0
"""Ranks that work together."""

from case import gpu

DEVICES = (0, 3)


def in_group(test, mode, phase, devices=DEVICES):
    meeting = test.place.root / f"meeting-{phase}"
    return [gpu(mode, device, group=meeting) for device in devices]


def ddp(test):
    """DistributedDataParallel over gloo: its all_reduce is not in the graphs."""
    test.job("cold", in_group(test, "ddp", "cold"), deadline=900)
    before = test.groups()
    test.job("warm", in_group(test, "ddp", "warm"), deadline=900)
    test.same_groups(before, "warm")


def collective(test):
    """An all_reduce inside the graph."""
    test.job("cold", in_group(test, "coll", "cold"))
    test.job("warm", in_group(test, "coll", "warm"))


FULL = {"ddp": ddp, "collective": collective}
