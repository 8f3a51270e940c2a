# SPDX-License-Identifier: Apache-2.0
"""Ranks with a cache directory each."""

import re

import look
from case import DEVICES, Skipped, gpu

RESULT = re.compile(rb"/[\x21-\x7e]+/[0-9a-f]{64}\.best_config")


def foreign_results(entry, cache):
    """Paths of autotuning results in an entry that are another directory's: a program would open them."""
    return [path for path in RESULT.findall(entry.read_bytes()) if not path.startswith(f"{cache}/".encode())]


def directories(test):
    """One miss per graph in the job; the ranks' directories then hold the same keys, and the next job needs no more."""
    if test.mode != "shared":
        raise Skipped("plain ranks with a directory each share nothing: they are the reference")

    def own(device, phase):
        return test.place.root / ("native" if phase == "reference" else "own") / str(device)

    def ranks_of(phase):
        return [gpu("user", device, variables={"TORCHINDUCTOR_CACHE_DIR": str(own(device, phase))}) for device in DEVICES]

    test.cold_and_warm(ranks_of, deadline=900)
    caches = [own(device, "warm") for device in DEVICES]
    keys = [look.keys(cache, "fx") for cache in caches]
    test.expect(keys[0] and all(each == keys[0] for each in keys), f"other keys in each directory: {keys}")
    for cache in caches:
        left = look.leftovers(cache)
        test.expect(not left, f"left behind: {left[:3]}")
        for entry in filter(lambda path: path.is_file(), (cache / "fxgraph").rglob("*")):
            foreign = foreign_results(entry, cache)
            test.expect(not foreign, f"{entry} names {foreign[:2]}")


FULL = {"separate-directories": directories}
