# SPDX-License-Identifier: Apache-2.0
"""Ranks with a cache directory each."""

import dataclasses
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


def read_in(test):
    """A directory in which the job can't write (another user's, a read-only one): `rankshare warm', and ranks with directories of
    their own compile nothing."""
    if test.mode != "shared":
        raise Skipped("plain ranks with a directory each share nothing")
    theirs = test.place.cache("theirs")
    filled = test.place.run([dataclasses.replace(gpu("user", 0), library=False)], theirs, 900)
    test.expect(not filled.problem, filled.problem)
    said = test.place.tool("warm", str(theirs))
    test.expect(said.returncode == 0, said.stdout + said.stderr)
    own = {device: test.place.root / "own" / str(device) for device in DEVICES}
    test.job("warm", [gpu("user", device, variables={"TORCHINDUCTOR_CACHE_DIR": str(own[device])}) for device in DEVICES], deadline=900)
    for cache in own.values():
        test.expect(look.keys(cache, "fx") == look.keys(theirs, "fx"), f"other keys in {cache}")


FULL = {"separate-directories": directories, "read-in": read_in}
