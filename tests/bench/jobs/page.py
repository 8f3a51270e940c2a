#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of a file of measurements, and the page that shows them.

    page.py PAGE            writes the tables into the page, from the file that it names
    page.py --check PAGE    says whether they agree

In the page the tables stand between `<!-- tables of FILE -->` and `<!-- end of tables -->`.
"""
import re
import sys
from pathlib import Path

import results

BACKENDS = {"gpu": "GPUs", "pretend": "pretended GPUs", "cpu": "CPU"}
CORES = {"all": "all cores", "one": "one core for each rank"}
HEAD = ("| ranks | mode | first step, s | by one rank alone | CPU s above warm | warm first step, s | FX misses | AOT misses "
        "| files | MB | rounds |\n" + "| --- " * 11 + "|\n")
BLOCK = re.compile(r"(<!-- tables of (\S+) -->\n).*?(<!-- end of tables -->)", re.S)


def title(series, machine):
    cores = CORES.get(series.cores, f"{series.cores} cores for all ranks")
    return f"### {BACKENDS[machine['backend']]}, torch {machine.get('torch')}, `{series.job}`, {cores}\n"


def machine_line(machine):
    gpus = machine["gpus"]
    parts = [f"{machine['cores']} cores ({machine['cpu']})", f"{machine['ram_gib']} GiB",
             f"{len(gpus)} x {gpus[0]}, driver {machine['driver']}" if gpus else
             {"pretend": "GPUs pretended", "cpu": "no GPU"}.get(machine["backend"], ""),
             f"torch {machine.get('torch')}", f"Triton {machine.get('triton')}", f"Python {machine.get('python')}",
             f"Linux {machine['kernel']}"]
    return f"Machine: {', '.join(filter(None, parts))}."


def when(runs):
    dates, commits = sorted({run["date"][:10] for run in runs}), sorted({run["commit"] for run in runs})
    return f"Measured on {', '.join(dates)} at {', '.join(commits)}.\n"


def line(row):
    last = row.last
    return (f"| {row.ranks} | {row.mode} | {row.cold} | {row.ratio} | {row.cpu} | {row.warm} | {last['fx_miss']} | "
            f"{last['aot_miss']} | {last['files']} | {last['bytes'] / 1e6:.1f} | {row.rounds} |\n")


def tables(data):
    out = []
    for series, rows in results.summarise(data["runs"]).items():
        machine = data["machines"][series.machine]
        runs = [run for run in data["runs"] if results.series_of(run) == series]
        out += [title(series, machine), machine_line(machine), when(runs), HEAD + "".join(map(line, rows))]
    return "\n".join(out)


def main():
    check, page = sys.argv[1:-1] == ["--check"], Path(sys.argv[-1])
    text = page.read_text()
    wanted, count = BLOCK.subn(
        lambda found: found[1] + "\n" + tables(results.Results(page.parent / found[2]).data) + "\n" + found[3], text)
    if count == 0:
        sys.exit(f"{page} has no place for tables")
    if not check:
        page.write_text(wanted)
    elif wanted != text:
        sys.exit(f"{page}: its tables are not those of its data; run tests/bench/jobs/page.py {page}")


if __name__ == "__main__":
    main()
