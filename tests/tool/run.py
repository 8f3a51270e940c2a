#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the program `rankshare`: exit codes, JSON, bad input, `run`, standard input and output.

    run.py [WORD...]       only cases whose name holds one of the words

Needs BUILD (default build) with rankshare in it; makes the helpers that it wants. Prints a line per case.
"""
import os
import signal
import subprocess
import sys
import tempfile
import traceback

import harness
import test_artifacts
import test_doctor
import test_explain
import test_inspect
import test_run
import test_segment
import test_store
import test_usage
import test_warm


def format_units(build):
    """The Criterion tests of tool-format, as one case each."""
    result = subprocess.run([os.path.join(build, "tool-format"), "--tap"], capture_output=True, text=True,
                            check=False)
    lines = [line for line in result.stdout.splitlines() if line.startswith(("ok ", "not ok "))]
    assert lines, result.stderr
    for line in lines:
        state, _, name = line.partition(" - ")
        yield "format: " + name.split(" ")[0], state.startswith("ok")


def main():
    # `run` leaves ignored signals ignored; whoever started this (nohup, a CI) may have ignored some.
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    build = os.path.abspath(os.environ.get("BUILD", "build"))
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    helpers = [os.path.join(os.environ.get("BUILD", "build"), name) for name in ("tool-fill", "tool-format")]
    subprocess.run(["make", "--no-print-directory", "-C", top, *helpers], check=True, stdout=subprocess.DEVNULL)
    os.chdir(top)
    counts = {"passed": 0, "failed": 0, "skipped": 0}

    def note(outcome, name, text=""):
        counts[outcome] += 1
        print("%s %s%s" % (outcome, name, text), flush=True)

    for name, good in format_units(build):
        note("passed" if good else "failed", name)
    with tempfile.TemporaryDirectory(prefix="rankshare-tool-") as work:
        context = harness.Context(build, top, work)
        for module in (test_usage, test_artifacts, test_segment, test_store, test_warm, test_run, test_doctor, test_explain, test_inspect):
            for name, case in module.cases(context):
                if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
                    continue
                try:
                    case()
                    note("passed", name)
                except harness.Skip as why:
                    note("skipped", name, ": %s" % why)
                except Exception:  # a failed case must not end the others
                    note("failed", name)
                    traceback.print_exc()
        context.close()
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
