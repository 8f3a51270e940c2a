#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the matrix cases under one version of torch after another.

    matrix.py [--remove] [VERSION...] [-- OPTIONS OF run.py]

Makes the environments that are missing by ci/torch-env. The last line is "N passed, N failed, N skipped", over all
versions; the exit code is 1 when something failed. A version whose environment can't be made is skipped, and said
why; with RANKSHARE_TORCH_REQUIRED=1 it is a failure.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSIONS = ("2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1",
            "2.15.0")
COUNTS = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--remove", action="store_true",
                        help="remove each environment that was made here as soon as its cases have run")
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=f"default: {' '.join(VERSIONS)}")
    arguments = sys.argv[1:]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:at])
    return options, arguments[at + 1:]


def make_environment(version):
    """Its folder, whether it was made just now, and why there is none."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(cache) / "rankshare" / f"torch-{version}"
    there = (folder / "complete").exists()
    # One folder for all versions would not do.
    variables = {name: value for name, value in os.environ.items() if name != "RANKSHARE_TORCH_ENV"}
    made = subprocess.run([HERE.parents[1] / "ci" / "torch-env", version], env=variables, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if made.returncode:
        errors = [line for line in made.stdout.splitlines() if "ERROR" in line or line.startswith("torch-env:")]
        return folder, False, "; ".join(errors[-2:]) or f"ci/torch-env ended with {made.returncode}"
    return folder, not there, ""


def run_cases(folder, options):
    """Runs them, shows what they print, and returns their counts."""
    command = [sys.executable, HERE / "run.py", "--set", "matrix", "--env", folder, *options]
    last = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line
    found = COUNTS.fullmatch(last.strip())
    if not found:
        print(f"run.py ended with {process.returncode} and no counts")
        return Counter(failed=1)
    counts = Counter(dict(zip(("passed", "failed", "skipped"), map(int, found.groups()))))
    if process.returncode and not counts["failed"]:
        counts["failed"] = 1
    return counts


def main():
    options, more = parse()
    total = Counter()
    for version in options.versions or VERSIONS:
        folder, fresh, problem = make_environment(version)
        if problem:
            required = os.environ.get("RANKSHARE_TORCH_REQUIRED") == "1"
            print(f"{'FAIL' if required else 'skip'} torch {version}: {problem}", flush=True)
            total["failed" if required else "skipped"] += 1
            continue
        torch, triton = (folder / "complete").read_text().split()
        print(f"== torch {torch}, Triton {triton}", flush=True)
        total += run_cases(folder, more)
        if options.remove and fresh:
            shutil.rmtree(folder)
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
