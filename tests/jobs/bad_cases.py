# SPDX-License-Identifier: Apache-2.0
"""Jobs with something wrong: a torch that nobody knows, ranks that die while they compile.
Never worse than without the library, counted, and explained by the tool."""

import signal

from case import DEVICES, Failed, gpu

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


def accident(test, how, code, *sentences, **counters):
    """Rank 0 produces the graph of all and meets with an accident. The others must come to their end, the library
    must have counted it (COUNTERS) and the tool must tell (SENTENCES). Then all goes on as ever."""
    folder = test.place.root / "meeting"
    folder.mkdir()
    ranks = [gpu("user", DEVICES[0], accident=how, beside=folder)]
    ranks += [gpu("user", device, beside=folder) for device in DEVICES[1:]]
    outcome = test.place.run(ranks)
    if outcome.codes != [code, 0, 0]:
        raise Failed(f"the ranks ended with {outcome.codes}: {outcome.problem}")
    test.inspect("cold", ranks, outcome, test.place.cache())
    for name, number in counters.items() if test.stats else ():
        found = test.stats.total()[name]
        test.expect(found == number, f"cold: {name} is {found}, expected {number}")
    for verb in ("stats", "doctor"):
        test.explained(verb, *sentences)
    test.job("again", [gpu("user", device) for device in DEVICES])


# The graph has no gradients, so its AOTAutograd key has a lease as its FX key does.
TAKEN_OVER = "takeovers 2: leases taken over from a dead producer"


def killed(test):
    """One waiter takes over from a producer that was killed, the other one waits on."""
    accident(test, "kill", -signal.SIGKILL, TAKEN_OVER, takeovers=2, aot_waited=1)


ALL = {"unknown-torch": unknown_torch, "producer-killed": killed}
