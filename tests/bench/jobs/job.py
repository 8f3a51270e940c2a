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
from contextlib import ExitStack
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
    parser.add_argument("--warm", type=int, default=1, help="warm runs after each cold one (1); those beyond the first in turns with the other modes")
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
        """(cores, ranks, modes) of one round. Modes alternate at each number of ranks, and change places from round
        to round."""
        shift = turn % len(self.args.modes)
        modes = self.args.modes[shift:] + self.args.modes[:shift]
        for cores in self.args.cores:
            for ranks in sorted({1, *self.args.ranks}):
                if ranks == 1:  # alone, a rank's directory and device are its own anyway
                    yield cores, 1, [mode for mode in dict.fromkeys(["plain", *modes]) if mode in (
                        "plain", "library" if 1 in self.args.ranks else "plain")]
                else:
                    yield cores, ranks, modes

    def once(self, here, stamp, phase, folder):
        """The figures of one run in a place, FOLDER among its runs."""
        figures = here.run(folder, min(DEADLINE_S, max(1.0, self.clock.left())))
        return {"job": self.job, "round": stamp, "cores": here.wanted, "ranks": here.ranks, "mode": here.name, "phase": phase,
                "commit": self.commit, "date": datetime.now(timezone.utc).isoformat(timespec="seconds"), **figures}

    def pair(self, here, stamp):
        """A cold run and a warm one."""
        began = time.monotonic()
        cold, warm = (self.once(here, stamp, phase, phase) for phase in ("cold", "warm"))
        self.results.add(self.machine, [cold, warm])
        self.clock.took((here.wanted, here.ranks, here.name), time.monotonic() - began)
        print(f"{here.name:11} x{here.ranks:<2} cores {here.wanted:3}: first step {cold['first_step_s']:6.1f} s cold {warm['first_step_s']:5.1f} s warm, "
              f"{cold['cpu_s'] - warm['cpu_s']:6.1f} CPU s above warm, {cold['fx_miss']} FX misses", flush=True)
        return cold

    def more_warm(self, places, stamp):
        """The warm runs beyond the first, modes in turns: what differs is less than a machine changes within minutes."""
        for turn in range(2, self.args.warm + 1):
            for here in places if turn % 2 else places[::-1]:
                if not self.clock.permits((here.wanted, here.ranks, here.name)):
                    return
                run = self.once(here, stamp, "warm", f"warm{turn}")
                self.results.add(self.machine, [run])
                print(f"{here.name:11} x{here.ranks:<2} cores {here.wanted:3}: first step {run['first_step_s']:5.2f} s warm", flush=True)

    def compare(self, cold, plain):
        """A rank that ran another device's kernels would show here. On pretended GPUs numbers mean nothing."""
        if plain and self.backend.kind != "pretend":
            one = plain["losses"][0]
            for loss in cold["losses"]:
                if abs(loss - one) > 1e-2 * abs(one):
                    print(f"RESULTS DIFFER: {cold['mode']} x{cold['ranks']} has a loss of {loss!r}, one plain rank {one!r}")
                    self.failed += 1

    def group(self, stamp, cores, ranks, modes, alone):
        """All modes of one number of ranks: the cold run of one plain rank alone, and whether there is time for more."""
        with ExitStack() as kept:
            places = []
            for mode in modes:
                if not self.clock.permits((cores, ranks, mode)):
                    print("the rest would not end within the budget")
                    return alone, False
                here = kept.enter_context(place.Place(self.backend, self.args, mode, ranks, cores))
                try:
                    cold = self.pair(here, stamp)
                    alone = cold if (mode, ranks) == ("plain", 1) else alone
                    self.compare(cold, alone)
                    places.append(here)
                except place.Failed as reason:
                    self.fail(here, reason)
            try:
                self.more_warm(places, stamp)
            except place.Failed as reason:
                self.fail(places[0], reason)
        return alone, True

    def fail(self, here, reason):
        print(f"FAILED {here.name} x{here.ranks}, cores {here.wanted}: {reason}", flush=True)
        self.failed += 1

    def run(self):
        for turn in range(self.args.repeat):
            stamp, alone = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{os.getpid()}", None
            for cores, ranks, modes in self.plan(turn):
                alone, more = self.group(stamp, cores, ranks, modes, alone)
                if not more:
                    return


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
