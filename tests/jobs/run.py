#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs real PyTorch jobs on pretended GPUs, and checks what they did.

    run.py [--set quick|full|all|matrix] [--library build/librankshare.so --tool build/rankshare] [CASE...]

Without --library the jobs run plain, which checks the harness: every rank misses and compiles. One line
per case; the last line is "N passed, N failed, N skipped". The exit code is 1 when something failed.
"""

import argparse
import os
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases
import matrix_cases
import rig
import table
from case import Failed, Skipped, Test

printing = threading.Lock()


def default_environment():
    chosen = os.environ.get("RANKSHARE_TORCH_ENV")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(chosen or f"{cache}/rankshare/torch-2.15.0")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="names of cases; all of the set when there are none")
    parser.add_argument("--set", choices=(*cases.SETS, "matrix"), default="quick")
    parser.add_argument("--env", type=Path, default=default_environment(),
                        help="the environment that ci/torch-env makes")
    parser.add_argument("--library", type=Path, help="the library under test; without it: plain")
    parser.add_argument("--tool", type=Path, help="the rankshare program, for its counters")
    parser.add_argument("--parallel", type=int, default=2, help="cases at a time")
    parser.add_argument("--keep", action="store_true", help="leave the directories of the jobs")
    parser.add_argument("--verbose", action="store_true", help="also print what was measured")
    parser.add_argument("--list", action="store_true", help="print the cases and end")
    return parser.parse_args()


def run_case(name, function, setup, rows, verbose):
    """One line, and below it the reasons when it failed. Returns the word at the line's begin."""
    start, word = time.monotonic(), "ok"
    with rig.Place(setup, name) as place:
        test = Test(name, place, rows)
        try:
            function(test)
        except Skipped as reason:
            word = "skip"
            test.notes = [str(reason)]
        except Failed as failure:
            test.failures.append(str(failure))
        except Exception:
            test.failures.append("the test itself broke:\n" + traceback.format_exc())
    word = "FAIL" if test.failures else word
    with printing:
        print(f"{word:4} {setup.mode} {name} ({time.monotonic() - start:.0f} s)")
        lines = test.failures + (test.notes if verbose or word != "ok" else [])
        for line in lines:
            print("     " + line.replace("\n", "\n     "))
        if setup.keep:
            print(f"     kept in {place.root}")
        sys.stdout.flush()
    return word


def unseen(test):
    raise Skipped(f"what it does under torch 2.{test.minor} has not been seen yet: the table has no row")


def problem_of(options):
    """Why nothing can be run, or an empty text."""
    if not (options.env / "complete").exists():
        return f"no torch in {options.env}: make it with 'make torch-env' (downloads 0.8 GB)"
    if options.set == "matrix" and not (options.library and options.tool):
        return "the cases for all versions need --library and --tool"
    for path in (options.library, options.tool):
        if path and not path.exists():
            return f"{path} does not exist: build it first"
    return ""


def main():
    options = parse()
    matrix = options.set == "matrix"
    known = matrix_cases.ALL if matrix else cases.ALL
    chosen = known if matrix else cases.SETS[options.set]
    if options.list:
        print("\n".join(chosen))
        return 0
    unknown = [name for name in options.cases if name not in known]
    if unknown:
        print(f"no such case: {', '.join(unknown)}", file=sys.stderr)
        return 2
    if options.cases:
        chosen = {name: known[name] for name in options.cases}
    problem = problem_of(options)
    if problem:
        print(f"skip torch jobs: {problem}")
        print(f"0 passed, 0 failed, {len(chosen)} skipped")
        return 0
    resolved = [path.resolve() if path else None for path in (options.library, options.tool)]
    setup = rig.Setup(options.env.resolve(), *resolved, keep=options.keep)
    if matrix and not options.cases:
        chosen = matrix_cases.due(setup.minor)
    file = table.MATRIX if matrix else table.FILE
    rows = table.read(file, setup.minor)
    chosen = chosen | dict.fromkeys(chosen.keys() & table.missing(file, rows), unseen)
    with ThreadPoolExecutor(max(1, options.parallel)) as workers:
        results = list(workers.map(
            lambda item: run_case(*item, setup, rows, options.verbose), chosen.items()))
    passed, failed, skipped = (results.count(word) for word in ("ok", "FAIL", "skip"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
