# SPDX-License-Identifier: Apache-2.0
"""Ranks that hit one graph at the same time and unpack its kernels into the one directory: up to torch 2.7
the slower ones die of ENOTEMPTY, later ones complain on stderr and leave their copies behind."""

import dataclasses
import shutil

import look
from case import DEVICES, Failed, environment_of, gpu


def fill(test):
    """A directory with the graph, but without its kernels."""
    outcome = test.place.run([gpu("user", 0, library=False)])
    if outcome.problem:
        raise Failed(f"fill: {outcome.problem}")
    shutil.rmtree(test.place.cache() / "triton")


def race(test, ranks, dies):
    """DIES: what happens to all but one rank of a plain job."""
    fill(test)
    outcome = test.place.run(ranks)
    output = "".join(path.read_text(errors="replace") for path in sorted(outcome.folder.glob("rank*.out")))
    left = look.leftovers(test.place.cache())
    test.notes.append(f"{test.name} {outcome.seconds:.1f} s, {len(left)} left, codes {outcome.codes}")
    if test.mode == "plain":
        lost = outcome.codes.count(1) if dies else output.count("is not empty - skipping!")
        test.expect(lost >= len(ranks) - 1, f"{lost} of {len(ranks)} ranks lost the race: {output[-800:]}")
        test.expect(len(left) >= len(ranks) - 1, f"{len(left)} directories left behind")
        return
    test.expect(not outcome.problem, outcome.problem)
    test.expect(not left, f"left behind: {left[:3]}")
    test.expect("not empty" not in output, f"stderr: {output[-800:]}")
    test.expect(len(test.groups()) >= 2, f"{len(test.groups())} kernels on disk")
    counters = test.stats.read() if test.stats else {}
    races = counters.get("rename_races", 0)
    test.expect(races >= len(ranks) - 1, f"{races} renames were answered: there was no race")
    hits = sum(report["counters"]["fx_hit"] for report in outcome.reports)
    test.expect(hits == len(ranks), f"{hits} of {len(ranks)} ranks hit")


def ranks_of(test):
    """Plain ranks meet in one directory only where they have one device."""
    meeting = test.place.root / "meeting"
    devices = DEVICES if test.mode == "shared" else (0, 0, 0)
    return [gpu("user", device, race=meeting) for device in devices]


def bundle_race(test):
    race(test, ranks_of(test), dies=False)


def bundle_race_27(test):
    """The same with torch 2.7, where it is there: make torch-env TORCH_VERSION=2.7.1"""
    environment = environment_of(test, "2.7.1")
    test.place.setup = dataclasses.replace(test.setup, environment=environment)
    race(test, ranks_of(test), dies=True)


FULL = {"bundle-race": bundle_race, "bundle-race-2.7": bundle_race_27}
