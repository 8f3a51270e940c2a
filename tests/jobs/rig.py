# SPDX-License-Identifier: Apache-2.0
"""Starts the processes of a job: environment, deadline, clean-up. Knows nothing of what they check."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
DEVICES = 12
sys.path.insert(0, str(PROGRAMS))  # what is in a report is defined beside the programs

# Leader of a session of its own, as torchrun or a shell would be; ranks and their workers stay in it.
LEADER = """
import json, os, subprocess, sys
started = [subprocess.Popen(r["argv"], env=r["env"], stdin=subprocess.DEVNULL,
                            stdout=open(r["out"], "wb"), stderr=subprocess.STDOUT)
           for r in json.load(sys.stdin)]
print(json.dumps([p.wait() for p in started]))
"""


@dataclass
class Setup:
    """What all tests share: the torch environment, and the library when there is one under test."""

    environment: Path
    library: Path | None
    tool: Path | None
    keep: bool = False

    @property
    def minor(self):
        """The N of torch 2.N; ci/torch-env has written it down."""
        return int((self.environment / "complete").read_text().split(".")[1])

    @property
    def mode(self):
        return "shared" if self.library else "plain"


@dataclass
class Rank:
    program: str
    arguments: list
    library: bool = True  # False: a process that knows nothing of the library, on the same directory
    variables: dict = field(default_factory=dict)  # None: not set at all
    environment: Path | None = None  # another torch than the job's


@dataclass
class Outcome:
    """What is left of a job when all its processes have ended."""

    folder: Path
    codes: list
    reports: list
    seconds: float
    problem: str = ""


def members(session):
    """Processes that still belong to a session."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            yield int(entry)


def kill_session(session):
    for _ in range(50):
        left = list(members(session))
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.1)


class Place:
    """A directory for one test: HOME, temporary files, caches, logs; gone afterwards."""

    def __init__(self, setup, name):
        self.setup = setup
        self.root = Path(tempfile.mkdtemp(prefix=f"rankshare-{name}-"))
        self.segment = self.root.name  # a segment of its own, so that tests never meet
        self.count = 0
        for part in ("home", "tmp"):
            (self.root / part).mkdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.setup.tool and self.setup.library:
            try:
                self.tool("clear")
            except (OSError, subprocess.TimeoutExpired):
                pass  # the segment is unlinked below
        for left in Path("/dev/shm").glob(f"*{self.segment}*"):
            left.unlink(missing_ok=True)
        if not self.setup.keep:
            shutil.rmtree(self.root, ignore_errors=True)

    def cache(self, name="cache"):
        return self.root / name

    def variables(self, cache, logs, torch):
        stubs = str(torch / "fakecuda")
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin",
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "LD_LIBRARY_PATH": stubs,
            "TRITON_LIBCUDA_PATH": stubs,
            "FAKECUDA_DEVICES": str(DEVICES),
            "FAKECUDA_LOG": str(logs),
            "TORCHINDUCTOR_CACHE_DIR": str(cache),
            # Off by default in old versions of torch, each under its own name.
            "TORCHINDUCTOR_FX_GRAPH_CACHE": "1",
            "TORCHINDUCTOR_AUTOGRAD_CACHE": "1",
            "ENABLE_AOT_AUTOGRAD_CACHE": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "TRITON_DEFAULT_FP_FUSION": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONWARNINGS": "ignore",
        }

    def _command(self, rank, number, world, cache, folder):
        torch = rank.environment or self.setup.environment
        environment = self.variables(cache, folder / "cuda", torch)
        environment |= {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": str(world)}
        if rank.library and self.setup.library:
            environment |= {"LD_PRELOAD": str(self.setup.library), "RANKSHARE": "1",
                            "RANKSHARE_SEGMENT": self.segment}
        environment = {name: value for name, value in (environment | rank.variables).items() if value is not None}
        arguments = [str(a).replace("{out}", str(folder / f"rank{number}")) for a in rank.arguments]
        return {"argv": [str(torch / "bin" / "python"), str(PROGRAMS / rank.program), *arguments],
                "env": environment, "out": str(folder / f"rank{number}.out")}

    def run(self, ranks, cache=None, deadline=400):
        """Runs one job to its end; what its ranks report lies in the outcome."""
        self.count += 1
        folder = self.root / f"job{self.count}"
        (folder / "cuda").mkdir(parents=True)
        cache = cache or self.cache()
        commands = [self._command(rank, i, len(ranks), cache, folder)
                    for i, rank in enumerate(ranks)]
        start = time.monotonic()
        leader = subprocess.Popen([sys.executable, "-c", LEADER], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            out, _ = leader.communicate(json.dumps(commands), timeout=deadline)
            codes, problem = json.loads(out), ""
        except subprocess.TimeoutExpired:
            codes, problem = [], f"not finished after {deadline} s"
        except ValueError:
            codes, problem = [], "the processes could not be started"
        finally:
            kill_session(leader.pid)
            leader.wait()
        outcome = Outcome(folder, codes, [], time.monotonic() - start, problem)
        self._collect(outcome, len(ranks))
        return outcome

    def _collect(self, outcome, world):
        unfinished = bool(outcome.problem)
        for number in range(world):
            report = outcome.folder / f"rank{number}.json"
            failed = outcome.codes and outcome.codes[number] != 0
            if failed or unfinished or not report.exists():
                log = outcome.folder / f"rank{number}.out"
                tail = log.read_text(errors="replace")[-1500:] if log.exists() else ""
                code = outcome.codes[number] if outcome.codes else "killed"
                outcome.problem += f"\nrank {number} ended with {code}:\n{tail}"
            else:
                content = json.loads(report.read_text())
                outcome.reports += content.get("ranks", [content])  # a parent reports for its children

    def tool(self, *arguments, variables=None):
        """Runs the rankshare program on this test's segment."""
        environment = {**os.environ, "RANKSHARE_SEGMENT": self.segment, **(variables or {})}
        return subprocess.run([str(self.setup.tool), *arguments], env=environment, text=True,
                              capture_output=True, timeout=60)
