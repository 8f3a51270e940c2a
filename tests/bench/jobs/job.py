#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the first step of a compiled training job takes, what it costs, and how that grows with the ranks: plain,
with one visible device for each rank, under the library; cold and warm.

    make bench-job                                       # all of it, on the GPUs present or on pretended ones
    tests/bench/jobs/job.py --ranks 2,8 --cores 8 --repeat 3 --budget-minutes 9 --json FILE
    tests/bench/jobs/job.py --plot FILE | --markdown FILE

Commands that write to one file add up. One plain rank alone is measured in every round. docs/performance.md tells more.
"""
import argparse
import os
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

sys.dont_write_bytecode = True
import page  # noqa: E402
import place  # noqa: E402
import plot  # noqa: E402
import results  # noqa: E402

DEADLINE_S = 580
NO_PLOT = ("no plot: matplotlib is missing. 'pip install matplotlib' in any environment, then there:\n"
           "    tests/bench/jobs/job.py --plot {}")


def numbers(text):
    return [int(word) for word in text.split(",")]


def words(known):
    def parse(text):
        chosen = text.split(",")
        for word in chosen:
            if word not in known and not (known is page.CORES and word.isdigit() and int(word) > 0):
                raise argparse.ArgumentTypeError(f"{word}: not one of {', '.join(known)}")
        return chosen
    return parse


def setting(text):
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text}: not NAME=VALUE")
    return name, value


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="Cores: all, one (for each rank), or a number for all ranks together.")
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 4, 8, 16])
    parser.add_argument("--modes", type=words(place.MODES), default=list(place.MODES), help=", ".join(place.MODES))
    parser.add_argument("--cores", type=words(page.CORES), default=["all", "one"])
    parser.add_argument("--repeat", type=int, default=3, help="rounds (3)")
    parser.add_argument("--budget-minutes", type=float, help="begin no run that would probably end later")
    parser.add_argument("--backend", choices=("auto", "gpu", "pretend", "cpu"), default="auto",
                        help="auto: GPUs of this Python's torch, else pretended ones")
    parser.add_argument("--blocks", type=int, default=4, help="of the transformer (4)")
    parser.add_argument("--infer", action="store_true", help="the forward pass without gradients in the place of training steps")
    parser.add_argument("--untuned", action="store_true", help="each kernel has one configuration; "
                        "always so on pretended GPUs, where measuring costs much and tells nothing")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", type=setting, help="a variable of all ranks")
    parser.add_argument("--env", type=Path, default=place.default_environment(), help="the environment that ci/torch-env makes")
    parser.add_argument("--library", default="build/librankshare.so")
    parser.add_argument("--tool", default="build/rankshare")
    parser.add_argument("--json", default="build/bench-job.json", help="file that the runs are added to")
    parser.add_argument("--plot", metavar="FILE", help="only draw this file's runs, to FILE.svg")
    parser.add_argument("--markdown", metavar="FILE", help="only print this file's tables")
    return parser.parse_args()


class Clock:
    """The budget: what a run will probably take, from those before it."""

    def __init__(self, minutes):
        self.end = time.monotonic() + minutes * 60 if minutes else None
        self.seen = {}

    def took(self, what, seconds):
        self.seen[what] = max(seconds, self.seen.get(what, 0))

    def left(self):
        return self.end - time.monotonic() if self.end else DEADLINE_S * 2

    def permits(self, what):
        """An unknown one is taken for as long as the longest so far."""
        return self.left() > 1.1 * self.seen.get(what, max(self.seen.values(), default=0))


class Bench:
    def __init__(self, args, backend):
        self.args, self.backend = args, backend
        self.results = results.Results(args.json)
        self.machine = results.describe(backend)
        self.clock = Clock(args.budget_minutes)
        self.commit = results.commit()
        self.job = ", ".join([f"{'infer' if args.infer else 'train'}, blocks {args.blocks}", *["untuned"] * args.untuned, *map("=".join, args.set)])
        self.failed = 0

    def plan(self, turn):
        """(cores, ranks, mode) of one round. Modes alternate at each number of ranks, and change places from round
        to round."""
        shift = turn % len(self.args.modes)
        modes = self.args.modes[shift:] + self.args.modes[:shift]
        for cores in self.args.cores:
            for ranks in sorted({1, *self.args.ranks}):
                if ranks == 1:  # alone, a rank's directory and device are its own anyway
                    yield from ((cores, 1, mode) for mode in dict.fromkeys(["plain", *modes]) if mode in (
                        "plain", "library" if 1 in self.args.ranks else "plain"))
                else:
                    yield from ((cores, ranks, mode) for mode in modes)

    def pair(self, stamp, cores, ranks, mode):
        """A cold run and a warm one."""
        began, runs = time.monotonic(), []
        with place.Place(self.backend, self.args, mode, ranks, cores) as here:
            for phase in ("cold", "warm"):
                figures = here.run(phase, min(DEADLINE_S, max(1.0, self.clock.left())))
                runs.append({"job": self.job, "round": stamp, "cores": cores, "ranks": ranks,
                             "mode": mode, "phase": phase, "commit": self.commit,
                             "date": datetime.now(timezone.utc).isoformat(timespec="seconds"), **figures})
        self.results.add(self.machine, runs)
        self.clock.took((cores, ranks, mode), time.monotonic() - began)
        cold, warm = runs
        print(f"{mode:11} x{ranks:<2} cores {cores:3}: first step {cold['first_step_s']:6.1f} s cold {warm['first_step_s']:5.1f} s warm, "
              f"{cold['cpu_s'] - warm['cpu_s']:6.1f} CPU s above warm, {cold['fx_miss']} FX misses", flush=True)
        return cold

    def compare(self, cold, plain):
        """A rank that ran another device's kernels would show here. On pretended GPUs numbers mean nothing."""
        if plain and self.backend.kind != "pretend":
            one = plain["losses"][0]
            for loss in cold["losses"]:
                if abs(loss - one) > 1e-2 * abs(one):
                    print(f"RESULTS DIFFER: {cold['mode']} x{cold['ranks']} has a loss of {loss!r}, one plain rank {one!r}")
                    self.failed += 1

    def run(self):
        for turn in range(self.args.repeat):
            stamp, alone = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{os.getpid()}", None
            for cores, ranks, mode in self.plan(turn):
                if not self.clock.permits((cores, ranks, mode)):
                    print("the rest would not end within the budget")
                    return
                try:
                    cold = self.pair(stamp, cores, ranks, mode)
                except place.Failed as reason:
                    print(f"FAILED {mode} x{ranks}, cores {cores}: {reason}", flush=True)
                    self.failed += 1
                    continue
                alone = cold if (mode, ranks) == ("plain", 1) else alone
                self.compare(cold, alone)


def draw(path):
    target = str(Path(path).with_suffix(".svg"))
    drawn = plot.plot(results.Results(path).data, target)
    print(target if drawn else NO_PLOT.format(path))


def main():
    args = parse()
    if args.plot or args.markdown:
        if args.markdown:
            print(page.tables(results.Results(args.markdown).data))
        if args.plot:
            draw(args.plot)
        return 0
    for path in (args.library, args.tool):
        if not os.path.exists(path):
            raise SystemExit(f"{path} does not exist: build it first")
    try:
        backend = place.find_backend(args.backend, args.env)
    except place.Failed as reason:
        print(f"skipped: {reason}")
        return 0
    args.untuned |= backend.kind == "pretend"
    bench = Bench(args, backend)
    print(f"{page.machine_line(bench.machine)}\nadding to {args.json}", flush=True)
    try:
        bench.run()
    except KeyboardInterrupt:
        print("interrupted; what was measured is kept")
    if bench.results.data["runs"]:
        print("\n" + page.tables(bench.results.data))
        draw(args.json)
    return 1 if bench.failed else 0


sys.exit(main())
