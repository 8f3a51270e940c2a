# SPDX-License-Identifier: Apache-2.0
"""Where a measured job runs: real GPUs, pretended ones, or none; its environment, and one run of it."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PRETENDED = 16
DROPPED = ("RANKSHARE", "TORCHINDUCTOR", "TRITON", "FAKECUDA", "LD_PRELOAD", "PYTHONDONTWRITEBYTECODE")
WAITED = ("fx_waited", "aot_waited", "triton_waited", "leases", "views", "unproductive", "wait_timeouts", "wait_silent",
          "wait_stalled", "segment_errors")


class Failed(Exception):
    """A run that gives no figures."""


@dataclass(frozen=True)
class Mode:
    library: bool = False
    own: bool = False      # a cache directory for each rank
    visible: bool = False  # one visible device for each rank: the keys of all ranks are those of cuda:0


MODES = {
    "plain": Mode(),
    "visible": Mode(visible=True),
    "library": Mode(library=True),
    "plain-own": Mode(own=True),
    "library-own": Mode(library=True, own=True),
}


@dataclass
class Backend:
    kind: str          # gpu, pretend or cpu
    python: str
    devices: int
    stubs: str = ""    # the pretended CUDA libraries, where this Python's torch needs them

    def environment(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(DROPPED)}
        kept.update(OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore", CUBLAS_WORKSPACE_CONFIG=":4096:8",
                    TORCHINDUCTOR_FX_GRAPH_CACHE="1", TORCHINDUCTOR_AUTOGRAD_CACHE="1")
        kept.setdefault("PYTHONUSERBASE", os.path.expanduser("~/.local"))  # HOME will be another one
        if self.stubs:
            kept.update(LD_LIBRARY_PATH=self.stubs, TRITON_LIBCUDA_PATH=self.stubs,
                        FAKECUDA_DEVICES=str(self.devices))
            for name in ("PYTHONPATH", "CUDA_VISIBLE_DEVICES"):
                kept.pop(name, None)
        if self.kind == "cpu":
            kept["CUDA_VISIBLE_DEVICES"] = ""
        return kept

    def visible(self, rank):
        """The one device of a rank: of those that this job was given."""
        given = self.environment().get("CUDA_VISIBLE_DEVICES")
        return given.split(",")[rank % self.devices] if given else str(rank % self.devices)

    def ask(self, program):
        """What a program prints in this Python; empty when it fails. The first one reads torch from the disk."""
        done = subprocess.run([self.python, "-c", program], env=self.environment(), capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""


def default_environment():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("RANKSHARE_TORCH_ENV") or f"{cache}/rankshare/torch-2.15.0")


def find_backend(kind, environment):
    """The backend wanted, or why there is none."""
    real = Backend("gpu", sys.executable, 0)
    found = real.ask("import torch; print(torch.cuda.device_count())")
    if kind in ("auto", "gpu") and found not in ("", "0"):
        return Backend("gpu", sys.executable, int(found))
    if kind == "gpu":
        raise Failed(f"{sys.executable} finds no PyTorch or no GPU")
    if kind == "cpu" and found:
        return Backend("cpu", sys.executable, 0)
    if not (environment / "complete").exists():
        raise Failed(f"no GPU, and no torch in {environment}: make it with 'make torch-env' (downloads 0.8 GB)")
    python, stubs = str(environment / "bin" / "python"), str(environment / "fakecuda")
    return Backend("cpu", python, 0, stubs) if kind == "cpu" else Backend("pretend", python, PRETENDED, stubs)


def cores_of(rank, wanted):
    """The cores that one rank may use: all, one of its own, or the first so many, together with the other ranks."""
    present = sorted(os.sched_getaffinity(0))
    if wanted == "one":
        return [present[rank % len(present)]]
    return present if wanted == "all" else present[:int(wanted)]


class Place:
    """The directories of one cold run and the warm ones after it."""

    def __init__(self, backend, args, mode, ranks, cores):
        self.backend, self.args, self.name, self.ranks, self.wanted = backend, args, mode, ranks, cores
        self.mode = MODES[mode]
        self.root = Path(tempfile.mkdtemp(prefix="rankshare-bench-"))
        self.segment = self.root.name
        for part in ("home", "tmp"):
            (self.root / part).mkdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for left in glob.glob(f"/dev/shm/rankshare.*.{self.segment}"):
            os.unlink(left)
        shutil.rmtree(self.root, ignore_errors=True)

    def cache(self, rank):
        return self.root / (f"cache{rank}" if self.mode.own else "cache")

    def environment(self, rank, phase):
        result = self.backend.environment()
        result.update(HOME=str(self.root / "home"), TMPDIR=str(self.root / "tmp"), RANK=str(rank), LOCAL_RANK=str(rank),
                      WORLD_SIZE=str(self.ranks), TORCHINDUCTOR_CACHE_DIR=str(self.cache(rank)))
        if self.mode.visible and self.backend.devices:
            result["CUDA_VISIBLE_DEVICES"] = self.backend.visible(rank)
        if self.mode.library:
            result.update(LD_PRELOAD=os.path.abspath(self.args.library), RANKSHARE="1", RANKSHARE_SEGMENT=self.segment,
                          RANKSHARE_JOB=phase)
        return {**result, **dict(self.args.set)}

    def command(self, rank, phase, folder):
        number = 0 if self.mode.visible else rank % max(1, self.backend.devices)
        argv = [self.backend.python, str(HERE / "rank.py"), str(folder / f"{rank}.json"), "--meet", str(folder / "meet"),
                "--device", f"cuda:{number}" if self.backend.devices else "cpu", "--blocks", str(self.args.blocks)]
        return {"argv": argv + ["--untuned"] * self.args.untuned + ["--infer"] * self.args.infer, "env": self.environment(rank, phase),
                "out": str(folder / f"{rank}.out"), "cores": cores_of(rank, self.wanted)}

    def run(self, phase, deadline_s):
        """Runs the ranks once; the figures of the run."""
        folder = self.root / phase
        (folder / "meet").mkdir(parents=True)
        ranks = [self.command(rank, phase, folder) for rank in range(self.ranks)]
        # stdin is its own: Ctrl-C reaches leader and ranks alike, and the leader cleans up.
        done = subprocess.run([sys.executable, str(HERE / "leader.py")], stdout=subprocess.PIPE, text=True,
                              input=json.dumps({"ranks": ranks, "deadline_s": deadline_s}))
        outcome = json.loads(done.stdout) if done.returncode == 0 else {"codes": ["no leader"]}
        for rank, code in enumerate(outcome["codes"]):
            if code != 0:
                text = (folder / f"{rank}.out").read_text(errors="replace")[-2000:]
                raise Failed(f"rank {rank} of {self.ranks} ended with {code}:\n{text}")
        reports = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(self.ranks)]
        return {**self.figures(outcome, reports), **self.left(), **self.counters(phase)}

    def figures(self, outcome, reports):
        began = max(report["began"] for report in reports)
        counters = {name: sum(report["counters"][name] for report in reports)
                    for name in ("fx_miss", "fx_hit", "aot_miss", "aot_hit")}
        parts = {name: round(max(report[name] for report in reports), 3) for name in ("forward_s", "backward_s", "optimizer_s")}
        return {"first_step_s": round(max(report["ended"] for report in reports) - began, 3),
                "until_step_s": round(max(report["ended"] for report in reports) - outcome["began"], 3), **parts,
                "ends_s": [round(report["ended"] - began, 3) for report in reports],  # of the ranks, in their order
                "wall_s": round(outcome["wall_s"], 3), "cpu_s": round(outcome["cpu_s"], 2), "late": outcome["late"],
                **counters, "losses": sorted({report["losses"][-1] for report in reports})}

    def left(self):
        """What the cache directories hold."""
        files = [os.path.join(folder, name) for cache in glob.glob(str(self.root / "cache*"))
                 for folder, _, names in os.walk(cache) for name in names]
        return {"files": len(files), "bytes": sum(os.lstat(path).st_size for path in files)}

    def counters(self, phase):
        """The library's own counters, those that are not zero."""
        if not self.mode.library:
            return {}
        done = subprocess.run([self.args.tool, "stats", "--json", "--job", phase], capture_output=True, text=True,
                              env=dict(os.environ, RANKSHARE_SEGMENT=self.segment))
        jobs = json.loads(done.stdout)["jobs"] if done.returncode == 0 else []
        ranks = [rank["counters"] for job in jobs for rank in job["ranks"]]
        totals = {name: sum(counters[name] for counters in ranks) for name in WAITED}
        refused = sum(count for counters in ranks for name, count in counters.items() if name.startswith("refused_"))
        totals.update(refused=refused, wait_s=round(sum(counters["wait_ns"] for counters in ranks) / 1e9, 2))
        return {"library": {name: count for name, count in totals.items() if count}}
