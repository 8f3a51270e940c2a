# SPDX-License-Identifier: Apache-2.0
"""Ranks with a cache directory each."""

import contextlib
import dataclasses
import re

import closed
import look
import rig
from case import DEVICES, Failed, Skipped, gpu

RESULT = re.compile(rb"/[\x21-\x7e]+/[0-9a-f]{64}\.best_config")


def foreign_results(entry, cache):
    """Paths of autotuning results in an entry that are another directory's: a program would open them."""
    return [path for path in RESULT.findall(entry.read_bytes()) if not path.startswith(f"{cache}/".encode())]


def clean(test, cache):
    """Nothing is left over in CACHE, and no entry leads out of it."""
    left = look.leftovers(cache)
    test.expect(not left, f"left behind: {left[:3]}")
    for entry in filter(lambda path: path.is_file(), (cache / "fxgraph").rglob("*")):
        foreign = foreign_results(entry, cache)
        test.expect(not foreign, f"{entry} names {foreign[:2]}")


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
        clean(test, cache)


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


@contextlib.contextmanager
def closing(path):
    """Closes PATH for a while, or skips the case."""
    try:
        with closed.closed(path):
            yield
    except closed.Unable as reason:
        raise Skipped(str(reason)) from None


def read_only(test):
    """A cache directory in which nothing can be written: what lies there is found, and what does not can be compiled."""
    if test.mode != "shared":
        raise Skipped("a plain rank ends there with the first graph that it has to compile")
    theirs, private = test.place.cache("theirs"), test.place.root / "private"
    filled = test.place.run([dataclasses.replace(gpu("user", 0), library=False)], theirs, 900)
    test.expect(not filled.problem, filled.problem)
    before = look.tree(theirs)
    with closing(theirs):
        def ranks(mode):
            return [gpu(mode, device, variables={"RANKSHARE_DIR": str(private)}) for device in DEVICES]

        test.job("warm", ranks("user"), theirs, deadline=900)
        for phase in ("cold", "again"):
            test.job(phase, ranks("small"), theirs, deadline=900)
    test.expect(look.tree(theirs) == before, "something was written into the read-only directory")
    test.expect(test.stats.total()["redirect_failed"] == 0, "not all could be copied")
    (own,) = private.glob("cache-*")
    test.expect(look.keys(theirs, "fx") < look.keys(own, "fx"), f"{own} lacks keys of {theirs}")
    clean(test, own)


def read_only_cpu(test):
    """The same on the CPU: the C++ that lies there compiled is not compiled again, and losses are those of a plain job."""
    if test.mode != "shared":
        raise Skipped("a plain rank ends there at the first lock file that it wants to make")
    theirs, private = test.place.cache("theirs"), test.place.root / "private"

    def ranks(name, library):
        arguments = ["--group", test.place.root / f"meeting-{name}", "--report", "{out}.json"]
        return [rig.Rank("cpu_job.py", arguments, library, {"RANKSHARE_DIR": str(private)}) for _ in range(2)]

    filled = test.place.run(ranks("plain", False), theirs, 900)
    if filled.problem:
        raise Failed(filled.problem)
    before = look.tree(theirs)
    with closing(theirs):
        outcome = test.job("warm", ranks("warm", True), theirs, deadline=900)
    losses = [[report["losses"] for report in job.reports] for job in (filled, outcome)]
    test.expect(losses[0] == losses[1], f"losses {losses[1]} instead of {losses[0]}")
    test.expect(look.tree(theirs) == before, "something was written into the read-only directory")
    (own,) = private.glob("cache-*")
    libraries = [{path.name for path in cache.rglob("*.so")} for cache in (theirs, own)]
    test.expect(libraries[1] and libraries[1] <= libraries[0], f"compiled again: {libraries[1] - libraries[0]}")


FULL = {"separate-directories": directories, "read-in": read_in, "read-only": read_only, "read-only-cpu": read_only_cpu}
