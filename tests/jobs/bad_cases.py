# SPDX-License-Identifier: Apache-2.0
"""Jobs with something wrong: a torch that nobody knows, ranks that disagree, ranks that die while they compile.
Never worse than without the library, counted, and explained by the tool."""

import dataclasses
import signal

from case import DEVICES, Failed, environment_of, gpu

PAIR = (0, 3)


def unknown_torch(test):
    """Graphs without collectives are shared as ever, those with collectives keep their own keys."""
    def ranks(phase):
        return [gpu("user+coll", device, pretend="9.9.0", group=test.place.root / f"meeting-{phase}")
                for device in PAIR]

    test.cold_and_warm(ranks)
    sentences = "torch 9.9.0", "a graph with collectives under a torch version that is not known"
    test.explained("stats", *sentences)
    test.explained("doctor", sentences[1])


def other_settings(test):
    """One rank with max-autotune, one with another setting: three keys for one graph."""
    configs = {0: "", 3: "inductor.max_autotune=True", 11: "inductor.epilogue_fusion=False"}
    ranks = [gpu("user", device, config=config) for device, config in configs.items()]
    test.cold_and_warm(lambda _: ranks)
    alone = "no other rank looked for: rank 0: 1, rank 1: 1, rank 2: 1"
    test.explained("stats", "not all ranks compile with the same settings: benchmarks (rank 1)", alone)
    test.explained("doctor", alone)  # the latest job: all ranks hit AOTAutograd entries, and show no settings


def other_versions(test):
    """Two torch versions in one job and one cache directory, where the second one is there: make torch-env
    TORCH_VERSION=2.7.1"""
    ranks = [gpu("small", device) for device in PAIR]
    ranks[1] = dataclasses.replace(ranks[1], environment=environment_of(test, "2.7.1"))
    test.cold_and_warm(lambda _: ranks)
    for verb in ("stats", "doctor"):
        test.explained(verb, "not all processes run the same torch", "2.7.1")
    if test.stats:
        (versions,) = {job["versions"]["torch"] for job in test.stats.jobs()}
        test.expect("2.15.0" in versions and "2.7.1" in versions, f"versions {versions}")


def accident(test, how, code, *sentences, mode="user", stopped=False, **counters):
    """Rank 0 produces the graph of all and meets with an accident. The others must come to their end, the library
    must have counted it (COUNTERS) and the tool must tell (SENTENCES). Then all goes on as ever."""
    folder = test.place.root / "meeting"
    folder.mkdir()
    ranks = [gpu(mode, DEVICES[0], accident=how, beside=folder)]
    ranks += [gpu(mode, device, beside=folder, **({"stopped": True} if stopped else {})) for device in DEVICES[1:]]
    outcome = test.place.run(ranks)
    if outcome.codes != [code, 0, 0]:
        raise Failed(f"the ranks ended with {outcome.codes}: {outcome.problem}")
    test.inspect("cold", ranks, outcome, test.place.cache())
    for name, number in counters.items() if test.stats else ():
        found = test.stats.total()[name]
        test.expect(found == number, f"cold: {name} is {found}, expected {number}")
    for verb in ("stats", "doctor"):
        test.explained(verb, *sentences)
    test.job("again", [gpu(mode, device) for device in DEVICES])


# The graph has no gradients, so its AOTAutograd key has a lease as its FX key does.
TAKEN_OVER = "takeovers 2: leases taken over from a dead producer"


def killed(test):
    """One waiter takes over from a producer that was killed, the other one waits on."""
    accident(test, "kill", -signal.SIGKILL, TAKEN_OVER, takeovers=2, aot_waited=1)


def terminated(test):
    """The same with a SIGTERM that nobody handles."""
    accident(test, "terminate", -signal.SIGTERM, TAKEN_OVER, takeovers=2, aot_waited=1)


def raises(test):
    """The compiler of the producer fails, and its process ends."""
    accident(test, "fail", 1, TAKEN_OVER, takeovers=2, aot_waited=1)


def gives_up(test):
    """The compiler of the producer fails; it goes on without compiled code and with its next graph. Its waiters
    compile for themselves then."""
    accident(test, "fail", 0, "unproductive 2: leases that ended without a store", mode="tried+another", takeovers=0,
             unproductive=2)


def waiters_stopped(test):
    """SIGTERM to ranks that wait, and want to end their step first: it is heard at once, at the AOTAutograd key, and
    they wait again at the FX key."""
    accident(test, "slow", 0, "waits ended by a signal", stopped=True, takeovers=0)
    if test.stats:
        interrupted = test.stats.total()["wait_interrupted"]
        test.expect(interrupted >= 2, f"wait_interrupted is {interrupted}, expected 2 and more")


ALL = {"unknown-torch": unknown_torch, "other-settings": other_settings, "other-versions": other_versions,
       "producer-killed": killed, "producer-terminated": terminated, "producer-raises": raises,
       "producer-gives-up": gives_up, "waiters-stopped": waiters_stopped}
