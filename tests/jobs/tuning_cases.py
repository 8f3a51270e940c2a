# SPDX-License-Identifier: Apache-2.0
"""Autotuning results: what ranks choose when each measures for itself, and when one measures for all."""

from case import DEVICES, gpu


def chosen(outcome):
    return [report["chosen"] for report in outcome.reports]


def look(test, phase, outcome, measured, alike):
    """MEASURED: how often kernels were measured in all ranks together."""
    told = chosen(outcome)
    configs = {tuple(rank["configs"]) for rank in told}
    total = sum(rank.get("measured", 0) for rank in told)
    test.expect(all(rank["configs"] for rank in told), f"{phase}: nobody tells what it chose")
    test.expect((len(configs) == 1) == alike, f"{phase}: {len(configs)} different choices: {sorted(configs)}")
    test.expect(total == measured, f"{phase}: measured {total} times, expected {measured}")
    test.notes.append(f"{test.name}/{phase} measured {total}, {len(configs)} choices")
    return configs


def tuned(test, mode="tuned", one=2):
    """ONE: how often a rank alone measures (of the three kernels two have a choice)."""
    ranks = [gpu(mode, device) for device in DEVICES]
    shared = test.mode == "shared"
    cold = test.job("cold", ranks)
    # Triton's results have one name for all ordinals, so plain ranks find each other's when they come late.
    if shared:
        first = look(test, "cold", cold, one, alike=True)
    elif mode == "tuned":
        first = look(test, "cold", cold, one * len(ranks), alike=False)
    warm = test.job("warm", ranks)
    if shared or mode == "tuned":
        again = look(test, "warm", warm, 0, alike=shared)
        test.expect(again == first, f"warm: other choices than before: {again} instead of {first}")
    test.job("plain", [gpu(mode, 0, library=False)])


def triton_tuned(test):
    tuned(test, "triton-tuned", 6)


CASES = {"tuned": tuned, "triton-tuned": triton_tuned}
