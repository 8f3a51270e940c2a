# SPDX-License-Identifier: Apache-2.0
"""The file of measurements: several commands add to one, runs of equal machines belong together; and what follows from
its runs.

{"schema": 1, "machines": [{...}], "runs": [{"machine": index, "round": "...", "mode", "ranks", "cores", "phase", ...}]}

A round is one turn through all modes within minutes: ratios are made inside a round, medians over rounds.
"""
import fcntl
import json
import os
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

SCHEMA = 1
VERSIONS = """
import json, platform, torch
try:
    import triton
    version = triton.__version__
except ImportError:
    version = None
print(json.dumps({"torch": torch.__version__, "triton": version, "python": platform.python_version()}))
"""


def output(*command, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def describe(backend):
    """The machine, without what changes from run to run."""
    with open("/proc/cpuinfo") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith(("model name", "CPU part"))]
    gpus = output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").splitlines() if backend.kind == "gpu" else []
    return {"backend": backend.kind, "cpu": models[0] if models else "unknown", "cores": len(os.sched_getaffinity(0)),
            "ram_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "gpus": [line.split(",")[0].strip() for line in gpus][:backend.devices],
            "driver": gpus[0].split(",")[1].strip() if gpus else None,
            "kernel": os.uname().release, **json.loads(backend.ask(VERSIONS) or "{}")}


def commit():
    here = Path(__file__).resolve().parent
    changed = output("git", "-C", str(here), "status", "--porcelain", "--untracked-files=no")
    return (output("git", "-C", str(here), "rev-parse", "--short=12", "HEAD") or "unknown") + ("+changes" if changed else "")


class Results:
    def __init__(self, path):
        self.path = Path(path)
        self.read()

    def read(self):
        self.data = {"schema": SCHEMA, "machines": [], "runs": []}
        if self.path.exists():
            self.data = json.loads(self.path.read_text())
            if self.data.get("schema") != SCHEMA:
                raise SystemExit(f"{self.path} has schema {self.data.get('schema')}, this program writes {SCHEMA}")

    def add(self, machine, runs):
        """Adds runs and saves all: a command that is killed later has lost nothing, one that runs at the same time loses
        nothing either. One line per run."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{self.path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.read()
            machines = self.data["machines"]
            if machine not in machines:
                machines.append(machine)
            self.data["runs"] += [dict(run, machine=machines.index(machine)) for run in runs]
            self.write()

    def write(self):
        parts = (",\n".join(json.dumps(one) for one in self.data[name]) for name in ("machines", "runs"))
        part = self.path.with_name(self.path.name + ".part")
        part.write_text('{{"schema": {},\n"machines": [\n{}],\n"runs": [\n{}]}}\n'.format(SCHEMA, *parts))
        os.replace(part, self.path)


@dataclass(frozen=True, order=True)
class Series:
    """What must be equal for figures to stand in one table."""
    machine: int
    job: str
    cores: str


@dataclass
class Spread:
    """Median and range."""
    values: list

    def __str__(self):
        if not self.values:
            return ""
        digits = 2 if max(self.values) < 10 else 1 if max(self.values) < 100 else 0
        text = f"{statistics.median(self.values):.{digits}f}"
        if len(self.values) > 1:
            text += f" ({min(self.values):.{digits}f}-{max(self.values):.{digits}f})"
        return text

    @property
    def median(self):
        return statistics.median(self.values) if self.values else None


@dataclass
class Row:
    """One mode with one number of ranks: all rounds."""
    mode: str
    ranks: int
    rounds: int
    cold: Spread      # seconds to the end of the first step, from when all ranks stood before it
    warm: Spread
    ratio: Spread     # cold first step by that of one plain rank alone in the same round
    cpu: Spread       # CPU seconds of all ranks cold, less the same in the first warm run
    cpu_ratio: Spread
    last: dict        # of the last cold run: misses, files, bytes


def series_of(run):
    return Series(run["machine"], run["job"], run["cores"])


def pairs(runs):
    """{(series, round): {(mode, ranks): (cold, [warm, ...])}}"""
    found = {}
    for run in runs:
        of = found.setdefault((series_of(run), run["round"]), {}).setdefault((run["mode"], run["ranks"]), {})
        of.setdefault(run["phase"], []).append(run)
    return {key: {which: (two["cold"][0], two["warm"]) for which, two in of.items() if len(two) == 2}
            for key, of in found.items()}


def summarise(runs):
    """{series: [rows]}, in the order of modes' first appearance, then ranks."""
    table, order = {}, list(dict.fromkeys(run["mode"] for run in runs))
    for (series, _), of in pairs(runs).items():
        alone = of.get(("plain", 1))
        for (mode, ranks), (cold, warm) in of.items():
            row = table.setdefault(series, {}).setdefault((mode, ranks), Row(
                mode, ranks, 0, *(Spread([]) for _ in range(5)), {}))
            row.rounds += 1
            row.cold.values.append(cold["first_step_s"])
            row.warm.values += [run["first_step_s"] for run in warm]
            row.cpu.values.append(cold["cpu_s"] - warm[0]["cpu_s"])
            row.last = cold
            if alone:
                row.ratio.values.append(cold["first_step_s"] / alone[0]["first_step_s"])
                row.cpu_ratio.values.append(row.cpu.values[-1] / (alone[0]["cpu_s"] - alone[1][0]["cpu_s"]))
    return {series: sorted(rows.values(), key=lambda row: (row.ranks, order.index(row.mode)))
            for series, rows in sorted(table.items())}
