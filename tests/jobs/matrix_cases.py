# SPDX-License-Identifier: Apache-2.0
"""The cases that run under every version of torch. What a version is expected to do stands in matrix-expected.txt."""

import collective_cases
import race_cases
import tuning_cases
from case import LEAN, gpu
from cases import digests_sample, moves

PAIR = (3, 11)
# The variables of the rig that switch on what is off by default in old versions.
DEFAULTS = dict.fromkeys(("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE", "ENABLE_AOT_AUTOGRAD_CACHE"))


def three_times(test, mode, config=""):
    """Cold, warm, and a plain process on cuda:0 that knows nothing. Two ranks, of which the second one is compared with a
    plain one and runs the warm job alone."""
    ranks = [gpu(mode, device, config=config) for device in PAIR]
    reference = test.reference(ranks[1:], deadline=900)
    cold = test.job("cold", ranks, deadline=900)
    test.same_code("cold", cold.reports[1:], reference.reports)
    before = test.groups()
    test.same_code("warm", test.job("warm", ranks[1:], deadline=900).reports, reference.reports)
    test.job("plain", [gpu(mode, 0, library=False, config=config)], deadline=900)
    test.same_groups(before, "warm and plain")
    count, seen = moves(test, test.place.cache("native"))
    test.expect(count and seen == set(PAIR[1:]), f"{count} genuine entries, of {sorted(seen)}")


def graphs(test):
    """A Triton kernel of one's own in an inference graph; forward and backward of a small network."""
    three_times(test, "user+small")


def sites(test):
    """Graphs with the device in many places."""
    three_times(test, "sites", LEAN)


def modes(test):
    """Sizes that are not known beforehand, and CUDA graphs, with nothing in the environment but the cache directory."""
    test.job("cold", [gpu("dynamic+cudagraphs", device, variables=DEFAULTS, config=LEAN) for device in PAIR])


def defaults(test):
    """Sizes that are not known beforehand, with nothing in the environment but the cache directory, cold and warm."""
    ranks = [gpu("dynamic", device, variables=DEFAULTS) for device in collective_cases.DEVICES]
    test.job("cold", ranks)
    before = test.groups()
    test.job("warm", ranks)
    test.same_groups(before, "warm")
    if test.minor < 5:
        told = test.place.tool("stats").stdout
        test.expect("fx_graph_cache, off by default" in told, f"nothing says that the cache is off: {told}")


def collectives(test):
    """Functional collectives: shared from 2.8 on."""
    collective_cases.together(test, "functional")


def newer(test):
    """A later torch: simple graphs are shared, collectives are not, and neither is a device index in a new place."""
    for name, mode, place in (("version", "user+functional", {}), ("details", "user", {"place": "details"}),
                              ("entry", "user", {"place": "entry"})):
        def ranks(phase):
            group = {"group": test.place.root / f"meeting-{phase}"} if mode != "user" else {}
            return [gpu(mode, device, pretend="2.16.0", **place, **group) for device in collective_cases.DEVICES]

        reference = test.reference(ranks("native"))
        for phase in ("cold", "warm"):
            outcome = test.job(f"{name}-{phase}", ranks(phase), test.place.cache(f"cache-{name}"))
            test.same_code(f"{name}-{phase}", outcome.reports, reference.reports)


def race(test):
    """Ranks unpack one bundle at the same time: up to 2.7 all but one of the plain ones die."""
    race_cases.race(test, race_cases.ranks_of(test), dies=test.minor < 8)


def results(test):
    """Autotuning results in versions that write them in place: each rank measures, and all have cuda:0's the next time."""
    ranks = [gpu("tuned", device) for device in (0, *PAIR)]
    cold = tuning_cases.chosen(test.job("cold", ranks))
    before = test.groups()
    warm = test.job("warm", ranks)
    chosen = tuning_cases.look(test, "warm", warm, 0, alike=True)
    test.expect(chosen == {tuple(cold[0]["configs"])}, f"warm: {chosen}, cuda:0 had {cold[0]['configs']}")
    test.same_groups(before, "warm")


ALL = {"graphs": graphs, "sites": sites, "modes": modes, "defaults": defaults, "collectives": collectives,
       "digests": digests_sample, "race": race, "newer": newer, "results": results}
# There is no bundle to race for before 2.6, and a torch newer than any is made out of the newest.
SINCE = {"race": 6, "modes": 9, "newer": 15}
UNTIL = {"defaults": 8, "results": 7}


def due(minor):
    """The cases for torch 2.MINOR."""
    return {name: case for name, case in ALL.items() if SINCE.get(name, 0) <= minor <= UNTIL.get(name, minor)}
