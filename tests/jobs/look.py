# SPDX-License-Identifier: Apache-2.0
"""Looks at what a job left: the pretend driver's log, the cache directory, the library's counters."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class DriverLog:
    loads: list = field(default_factory=list)     # (pid, device, kernels)
    launches: list = field(default_factory=list)  # (pid, device, kernel)
    errors: list = field(default_factory=list)
    asked: int = 0                                # loads that came to the driver, not to the runtime

    def devices(self, pid):
        return {device for who, device, _ in self.loads + self.launches if who == pid}

    def count_by_device(self, events, pid):
        return Counter(device for who, device, _ in events if who == pid)


def read_driver_log(folder):
    log = DriverLog()
    for path in Path(folder).glob("*.log"):
        pid = int(path.stem)
        for line in path.read_text(errors="replace").splitlines():
            what, *words = line.split(" ")
            facts = dict(word.split("=", 1) for word in words if "=" in word)
            if what == "load":
                log.loads.append((pid, int(facts["device"]), facts["kernels"]))
                log.asked += not facts["road"].startswith("cuda")
            elif what == "launch" and "kernel" in facts:
                log.launches.append((pid, int(facts["device"]), facts["kernel"]))
            elif what == "error":
                log.errors.append(f"{pid}: {line}")
    return log


def keys(cache, kind):
    """Key directories that hold an entry: fxgraph/<xx>/<key> or aotautograd/<key>."""
    pattern = "fxgraph/*/*" if kind == "fx" else "aotautograd/*"
    return {path.name for path in Path(cache).glob(pattern)
            if path.is_dir() and any(not e.name.startswith(".") for e in path.iterdir())}


def groups(cache, home=None):
    """Complete Triton groups, each named once however many symlinks lead to it."""
    roots = list(Path(cache).glob("triton/*"))
    if home:
        roots.append(Path(home) / ".triton" / "cache")
    return {group.parent.resolve() for root in roots for group in root.glob("*/__grp__*.json")}


def tree(folder):
    """All that lies in a directory: by this, nothing there has changed."""
    return {(str(path), path.lstat().st_size, path.lstat().st_mtime_ns, path.lstat().st_mode) for path in Path(folder).rglob("*")}


def leftovers(cache):
    """Temporary files that nobody will ever rename."""
    return sorted(str(path) for path in Path(cache).rglob("*")
                  if ".rs." in path.name or path.name.startswith("tmp.")
                  or (path.name.startswith(".") and path.name.endswith(".tmp")))


class Stats:
    """The library's counters, job after job: each reading gives what is new since the last one."""

    def __init__(self, place):
        self.place = place
        self.seen = Counter()

    def jobs(self):
        """All jobs of this segment."""
        result = self.place.tool("stats", "--json")
        if result.returncode:
            raise ValueError(f"rankshare stats: {result.stderr.strip() or result.returncode}")
        return json.loads(result.stdout)["jobs"]

    def ranks(self):
        return [rank for job in self.jobs() for rank in job["ranks"]]

    def ordinals(self):
        return {rank["ordinal"] for rank in self.ranks()}

    def total(self):
        total = Counter()
        for rank in self.ranks():
            total.update(rank["counters"])
        return total

    def read(self):
        now = self.total()
        fresh = Counter({name: count - self.seen[name] for name, count in now.items()})
        self.seen = now
        return fresh
