# SPDX-License-Identifier: Apache-2.0
"""A pipeline in which the producer of a graph measures behind a receive that a waiter must feed first."""

import dataclasses
import os

import rig
from case import Skipped


def pipeline(test):
    """The waiter leaves a silent producer. The library here loses patience after seconds, not a minute."""
    if test.setup.library:
        impatient = test.setup.library.parent / "test" / test.setup.library.name
        if not impatient.exists():
            raise Skipped(f"no {impatient}: make it")
        test.place.setup = dataclasses.replace(test.setup, library=impatient)
    meeting = test.place.root / "meeting"
    meeting.mkdir()
    os.mkfifo(meeting / "queue")
    ranks = [rig.Rank("stage.py", [role, "--device", device, "--meeting", meeting, "--report", "{out}.json"])
             for role, device in (("feeds", 3), ("needs", 11))]
    outcome = test.place.run(ranks)
    test.expect(not outcome.problem, outcome.problem)
    misses = [report["counters"]["fx_miss"] for report in outcome.reports]
    test.expect(misses == [1, 1], f"misses {misses}: each stage was to compile")
    if test.stats:
        counters = test.stats.read()
        seen = {name: counters[name] for name in ("leases", "wait_silent", "wait_timeouts", "wait_interrupted", "wait_ns")}
        test.notes.append(f"{test.name} {outcome.seconds:.1f} s {seen}")
        # At the AOT key, and at once at the FX key in it.
        test.expect(counters["wait_silent"] == 2 and not counters["wait_timeouts"], f"counters {seen}")


FULL = {"silent-producer": pipeline}
