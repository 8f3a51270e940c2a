# SPDX-License-Identifier: Apache-2.0
"""The jobs of tests/gpu on pretended GPUs: misses, refusals, devices and code are real there, results are not."""

import sys
from pathlib import Path

import rig
from case import Skipped

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "gpu"))
import plan  # noqa: E402

DEVICES = (3, 11)


def ranks_of(job):
    """A port of its own for each group: the store of the last one may still hold its place."""
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(plan.free_port())}
    # A pipeline's tensors go from one device to the other, which gloo can't; nothing depends on them here.
    gloo = ["--gloo"] if job.together and not job.silent else []
    program, *options = job.program
    if program == "train.py":
        options += ["--blocks", "2"]  # each layer more costs seconds here
    return [rig.Rank("gpu_program.py", ["{out}.json", *gloo, program, "--device", device, *options], variables=meeting)
            for device in DEVICES]


def judged(test, row, phase, plain):
    """What test.job() compares instead of its own table."""
    def compare(_, outcome):
        counters = test.stats.read() if test.stats else None
        for good, what in plan.judge(row, phase, plain.reports, outcome.reports, counters):
            test.expect(good, f"{phase}: {what}")
        if counters:
            test.notes.append(f"{test.name}/{phase} " + " ".join(
                f"{name}={count}" for name, count in sorted(counters.items()) if count and not name.endswith("_ns")))
    return compare


def run(test, job):
    plain = test.reference(ranks_of(job), deadline=900)
    rows, one = plan.read(), plain.reports[0]
    name = f"{job.name}~pretended" if (f"{job.name}~pretended", ()) in rows else job.name
    row = plan.row_of(rows, name, one["torch"])
    skipped, wrong = plan.skipped(row, one)
    test.expect(not wrong, wrong)
    if skipped:
        raise Skipped(skipped)
    if test.mode == "plain":
        return
    for phase in ("cold", "warm"):
        outcome = test.job(phase, ranks_of(job), deadline=900, compare=judged(test, row, phase, plain))
        test.same_code(phase, outcome.reports, plain.reports, results=False)


def case_of(job):
    return lambda test: run(test, job)


FULL = {f"gpu-{job.name}": case_of(job) for job in plan.JOBS}
