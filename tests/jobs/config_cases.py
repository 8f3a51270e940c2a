# SPDX-License-Identifier: Apache-2.0
"""Where torch keeps what it compiles; another torch; Triton alone."""

import dataclasses

import rig
from case import DEVICES, environment_of, gpu

PAIR = (0, 3)


def disabled(test):
    """Caches switched off: no keys, no waits, and the tool says so."""
    off = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    test.cold_and_warm(lambda _: [gpu("user", device, variables=off) for device in PAIR])
    if test.stats:
        waited = sum(rank["counters"]["wait_ns"] for rank in test.stats.ranks())
        test.expect(waited == 0, f"ranks waited {waited / 1e9:.1f} s")
    test.explained("stats", "only Triton kernels were seen, no graph")
    test.explained("doctor", "torch's caches are switched off", "only Triton kernels were seen", variables=off)


def bundled(test):
    """bundled_autograd_cache: whole graphs inside AOTAutograd entries stay native."""
    test.cold_and_warm(lambda _: [gpu("user", device, config="functorch.bundled_autograd_cache=True") for device in PAIR])
    test.explained("stats", "bundled AOTAutograd entries are not shared yet")


def stampede(test):
    """Triton alone, real machine code: six processes at one moment."""
    for phase in ("cold", "warm"):
        meeting = test.place.root / f"meeting-{phase}"
        ranks = [rig.Rank("stampede.py", ["--meeting", meeting, "--report", "{out}.json"]) for _ in range(6)]
        sizes = {tuple(report["results"]) for report in test.job(phase, ranks).reports}
        test.expect(len(sizes) == 1, f"{phase}: images of {sizes} bytes")


def user_26(test):
    """The same job with torch 2.6, where it is there: make torch-env TORCH_VERSION=2.6.0"""
    test.place.setup = dataclasses.replace(test.setup, environment=environment_of(test, "2.6.0"))
    test.cold_and_warm(lambda _: [gpu("user", device) for device in DEVICES])


ALL = {"caches-off": disabled, "bundled-entries": bundled, "stampede": stampede, "user-2.6": user_26}
