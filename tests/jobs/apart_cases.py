# SPDX-License-Identifier: Apache-2.0
"""Ranks with a cache directory each."""

import re

import look
from case import DEVICES, gpu


def directories(test, program):
    """One miss per graph in the job; the ranks' directories then hold the same keys, and later jobs need nothing else."""
    def own(device, phase):
        return test.place.root / ("native" if phase == "reference" else "own") / str(device)

    def ranks_of(phase):
        return [gpu(program, device, variables={"TORCHINDUCTOR_CACHE_DIR": str(own(device, phase))}) for device in DEVICES]

    test.cold_and_warm(ranks_of, deadline=900)
    if test.mode != "shared":
        return
    caches = [own(device, "warm") for device in DEVICES]
    keys = [look.keys(cache, "fx") for cache in caches]
    test.expect(keys[0] and all(each == keys[0] for each in keys), f"other keys in each directory: {keys}")
    left = [name for cache in caches for name in look.leftovers(cache)]
    test.expect(not left, f"left behind: {left[:3]}")
    # What a program would open: the strings that are paths of kernels' results.
    for cache in caches:
        for path in (cache / "fxgraph").rglob("*"):
            paths = set(re.findall(rb"[\x20-\x7e]*\.best_config", path.read_bytes())) if path.is_file() else set()
            other = [each for each in paths if not each.split(b"/", 1)[-1].startswith(str(cache).encode()[1:])]
            test.expect(not other, f"{path} names {other[:2]}")


def user(test):
    directories(test, "user")


def small(test):
    directories(test, "small")


FULL = {"separate-user": user, "separate-directories": small}
