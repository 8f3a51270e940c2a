# SPDX-License-Identifier: Apache-2.0
"""Where ranks and their helpers come from: children of one parent, processes that only measure kernels."""

import rig
from case import DEVICES, gpu


def siblings(test, how):
    arguments = [how, "user", "--report", "{out}.json", *DEVICES]
    for phase in ("cold", "warm"):
        test.job(phase, [rig.Rank("siblings.py", arguments)])
        if test.stats:
            test.expect(test.stats.ordinals() == set(DEVICES),
                        f"{phase}: the ranks are on {sorted(test.stats.ordinals())} by the library's statistics")


def siblings_fork(test):
    siblings(test, "fork")


def siblings_spawn(test):
    siblings(test, "spawn")


def autotune(test, devices, variables):
    ranks = [gpu("autotune", device, variables=variables) for device in devices]
    reference = test.reference(ranks)
    for phase in ("cold", "warm"):
        outcome = test.job(phase, ranks, deadline=900, helpers=True)
        test.same_code(phase, outcome.reports, reference.reports)


def autotune_here(test):
    """max-autotune: templates of a matrix product are measured while the graph is compiled."""
    autotune(test, (0, 3), {})


def autotune_elsewhere(test):
    """The same, measured by a child process."""
    autotune(test, (0, 3), {"TORCHINDUCTOR_AUTOTUNE_IN_SUBPROC": "1"})


def autotune_everywhere(test):
    """The same, measured by one child for each device, which sees that device alone."""
    autotune(test, (0,), {"TORCHINDUCTOR_AUTOTUNE_IN_SUBPROC": "1", "TORCHINDUCTOR_AUTOTUNE_MULTI_DEVICE": "1",
                          "FAKECUDA_DEVICES": "2"})


FULL = {"siblings-fork": siblings_fork, "siblings-spawn": siblings_spawn, "autotune": autotune_here,
        "autotune-elsewhere": autotune_elsewhere, "autotune-everywhere": autotune_everywhere}
