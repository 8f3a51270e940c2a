# SPDX-License-Identifier: Apache-2.0
"""Where torch keeps what it compiles: a directory of the process's own, nowhere, bundles, remote caches, files;
another torch; Triton alone."""

import dataclasses

import rig
from case import DEVICES, LEAN, environment_of, gpu
from report import ordinals_in

PAIR = (0, 3)


def fresh(test):
    """fresh_cache: ranks that begin in such a directory are ranks with a directory each; who comes from the job's finds
    nothing of it there. Nothing gets out: in the job's directory all is as ever."""
    warm = test.cold_and_warm(lambda _: [gpu("fresh", device) for device in PAIR])
    later = test.job("later", [gpu("another+fresh", device) for device in PAIR])
    for report in warm.reports + later.reports:
        told = report["results"][-1]
        test.expect(told["removed"] and told["elsewhere"] and told["kernels"] and "fxgraph" in told["kept"],
                    f"rank {report['rank']} had {told}")
    left = [path.name for path in (test.place.root / "tmp").iterdir() if (path / "fxgraph").exists()]
    test.expect(not left, f"caches left in the temporary directory: {left}")


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


def remote(test):
    """Remote caches switched on, and none there: keys stay native, kernels are shared."""
    on = {"TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1", "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE": "1"}
    test.cold_and_warm(lambda _: [gpu("user", device, variables=on) for device in PAIR])
    test.explained("stats", "a remote cache is switched on")
    test.explained("doctor", "with a remote cache, keys stay native", variables=on)


def standalone(test):
    """standalone_compile: each rank saves a file that is about its own device, and runs what it loads."""
    outcome = test.cold_and_warm(lambda _: [gpu("standalone", device) for device in PAIR])
    for report in outcome.reports:
        found = ordinals_in((outcome.folder / f"rank{report['rank']}.json.artifact").read_bytes())
        test.expect(found == report["devices"], f"the artifact of {report['devices']} is about {found}")


def stampede(test):
    """Triton alone, real machine code: six processes at one moment."""
    for phase in ("cold", "warm"):
        meeting = test.place.root / f"meeting-{phase}"
        ranks = [rig.Rank("stampede.py", ["--meeting", meeting, "--report", "{out}.json"]) for _ in range(6)]
        sizes = {tuple(report["results"]) for report in test.job(phase, ranks).reports}
        test.expect(len(sizes) == 1, f"{phase}: images of {sizes} bytes")


def older(test, mode, devices=DEVICES, group=False, **options):
    """The same job with torch 2.6, where it is there: make torch-env TORCH_VERSION=2.6.0"""
    test.place.setup = dataclasses.replace(test.setup, environment=environment_of(test, "2.6.0"))

    def ranks(phase):
        more = {"group": test.place.root / f"meeting-{phase}"} if group else {}
        return [gpu(mode, device, **more, **options) for device in devices]

    test.cold_and_warm(ranks, 900)


def user_26(test):
    older(test, "user")


def small_26(test):
    older(test, "small", PAIR, config=LEAN)


def ddp_26(test):
    older(test, "ddp", PAIR, group=True, config=LEAN)


ALL = {"fresh-cache": fresh, "caches-off": disabled, "bundled-entries": bundled, "remote-cache": remote,
       "standalone": standalone, "stampede": stampede, "user-2.6": user_26, "small-2.6": small_26, "ddp-2.6": ddp_26}
