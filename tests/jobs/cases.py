# SPDX-License-Identifier: Apache-2.0
"""The cases. Each is a function that gets a Test; QUICK, FULL and ALL say which sets it belongs to."""

import hashlib
import subprocess
import sys
from pathlib import Path

import apart_cases
import bad_cases
import collective_cases
import config_cases
import gpu_cases
import model_cases
import process_cases
import race_cases
import rig
import stage_cases
import tuning_cases
from case import DEVICES, Failed, gpu

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "demo"))
import ordinals  # noqa: E402
from report import ordinals_in  # noqa: E402


def user(test):
    """Own Triton kernel in a compiled function: cold, warm, and a plain process afterwards."""
    ranks = [gpu("user", device) for device in DEVICES]
    test.same_loads("cold", test.job("cold", ranks))
    before = test.groups()
    test.same_loads("warm", test.job("warm", ranks))
    test.job("plain", [gpu("user", 0, library=False)])
    test.same_groups(before, "warm")


def adopt(test):
    """A directory that a plain process on cuda:0 has filled."""
    test.job("plain", [gpu("user", 0, library=False)])
    before = test.groups()
    test.job("ranks", [gpu("user", device) for device in DEVICES])
    if test.mode == "shared":
        test.same_groups(before, "ranks")


def moves(test, cache):
    """What torch itself wrote: the engine moves each entry to other ordinals as an independent generator does, and
    back without a byte of difference. Returns how many entries there are, and the ordinals in them (2.5 has some
    without any)."""
    entries = [path for kind in ("fxgraph", "aotautograd") for path in sorted((cache / kind).rglob("*"))
               if path.is_file()]
    seen = set()
    for path in entries:
        native = path.read_bytes()
        own = {int(o) for o in ordinals.Artifact(native).ordinals()}
        seen |= own
        for to in DEVICES:
            moved = subprocess.run([test.setup.tool, "rewrite", "--to", str(to), path, "-"], capture_output=True,
                                   check=False).stdout
            test.expect(moved == ordinals.rewrite(native, to), f"{path.name} to {to}: not the generator's bytes")
            back = subprocess.run([test.setup.tool, "rewrite", "--to", str(min(own, default=0)), "-", "-"], input=moved,
                                  capture_output=True, check=False).stdout
            test.expect(back == native, f"{path.name} to {to} and back: other bytes")
    return len(entries), seen


def genuine(test):
    """The engine on what plain ranks of cuda:0, 3 and 11 leave."""
    if not test.setup.tool:
        return
    cache = test.place.cache("native")
    outcome = test.place.run([gpu("user", device, library=False) for device in DEVICES], cache, 400)
    if outcome.problem:
        raise Failed(outcome.problem)
    count, seen = moves(test, cache)
    test.expect(count == 2 * len(DEVICES), f"{count} entries, expected {2 * len(DEVICES)}")
    test.expect(seen == set(DEVICES), f"ordinals {sorted(seen)}, expected {sorted(DEVICES)}")


def jit(test):
    """A kernel that torch.compile never sees."""
    ranks = [gpu("jit", device) for device in DEVICES]
    test.job("cold", ranks)
    test.job("warm", ranks)


def pool(test, **more):
    """Kernels compiled by worker processes, which never hash a key."""
    threads = {"TORCHINDUCTOR_COMPILE_THREADS": "2", **more}
    ranks = [gpu("user", device, pool=True, variables=threads) for device in DEVICES]
    test.job("cold", ranks)
    before = test.groups()
    test.job("plain", [gpu("user", 0, library=False)])
    test.same_groups(before, "plain")


def pool_fork(test):
    """The workers are fork children of the rank."""
    pool(test, TORCHINDUCTOR_WORKER_START="fork")


def pool_spawn(test):
    """The workers are programs of their own, started by the rank."""
    pool(test, TORCHINDUCTOR_WORKER_START="spawn")


def two_devices(test, order, **options):
    """One process, one device after the other; then the same in a fresh process."""
    # What was measured on cuda:1 is there for cuda:0, not the other way round: a second ordinal's names stay its own.
    test.job("cold", [gpu("user", *order, **options)], even=test.mode == "plain" or order[0] == 0)
    before = test.groups()
    test.job("warm", [gpu("user", *order, **options)])
    test.same_groups(before, "warm")
    return before


def two_devices_10(test):
    two_devices(test, (1, 0))


def two_devices_01(test):
    two_devices(test, (0, 1))


def two_devices_pool(test):
    two_devices(test, (1, 0), pool=True, variables={"TORCHINDUCTOR_COMPILE_THREADS": "2"})


def two_devices_turned(test):
    """The second process meets the devices in the other order."""
    test.job("cold", [gpu("user", 1, 0)], even=test.mode == "plain")
    test.job("turned", [gpu("user", 0, 1)], even=test.mode == "plain")
    test.job("plain", [gpu("user", 0, library=False)])


def digests(test, every):
    """Digests of files under the library are those that this process computes without it."""
    ranks = [rig.Rank("digests.py", ["{out}.json", "--every", every], library)
             for library in (True, False)]
    outcome = test.place.run(ranks)
    if outcome.problem:
        raise Failed(outcome.problem)
    under, plain = outcome.reports
    wrong = sorted(path for path in plain if under.get(path) != plain[path])
    test.expect(not wrong, f"digests differ: {wrong[:3]}")
    test.expect(under.keys() == plain.keys(), "not the same files")
    number = next(i for i, path in enumerate(plain) if path.endswith("codecache.py") or i > 900)
    path = list(plain)[number - number % 3]
    test.expect(plain[path] == hashlib.sha256(Path(path).read_bytes()).hexdigest(),
                f"the digest of {path} is wrong in a plain process too")
    test.notes.append(f"digests {outcome.seconds:.1f} s, {len(plain)} files")


def digests_sample(test):
    digests(test, 7)


def digests_all(test):
    digests(test, 1)


def inference(test):
    """Graphs without gradients: one rank traces and compiles, the others load AOTAutograd's entries."""
    ranks = [gpu("inference", device) for device in DEVICES]
    reference = test.reference(ranks)
    test.same_code("cold", test.job("cold", ranks, deadline=900).reports, reference.reports)
    before = test.groups()
    test.same_code("warm", test.job("warm", ranks).reports, reference.reports)
    test.job("plain", [gpu("inference", 0, library=False)])
    test.same_groups(before, "warm")


def threads(test):
    """Two threads of each rank compile different graphs at the same time, in another order on each rank."""
    ranks = [gpu("threads", device) for device in (0, 3)]
    test.job("cold", ranks)
    test.job("warm", ranks)


def not_stored(test):
    """A key whose entry torch never stores: nobody waits until the limit."""
    ranks = [gpu("effect", device) for device in DEVICES]
    test.job("cold", ranks)
    test.job("again", ranks)


def branch(test):
    """torch.cond: no keys at all, so only kernels are shared."""
    ranks = [gpu("branch", device) for device in (0, 3)]
    test.job("cold", ranks)
    test.job("again", ranks)


def small(test):
    """Forward and backward: two graphs."""
    ranks = [gpu("small", device) for device in DEVICES]
    test.job("cold", ranks, deadline=900)
    before = test.groups()
    test.job("warm", ranks, deadline=900)
    test.job("plain", [gpu("small", 0, library=False)])
    test.same_groups(before, "warm")


def cpu(test):
    """CPU ranks: losses to the last digit as in a job without the library."""
    losses = {}
    for name, library in (("alone", False), ("cold", True), ("warm", True)):
        meeting = test.place.root / f"meeting-{name}"
        ranks = [rig.Rank("cpu_job.py", ["--group", meeting, "--report", "{out}.json"], library)
                 for _ in range(2)]
        cache = test.place.cache("cache-alone" if name == "alone" else "cache")
        outcome = test.job(name, ranks, cache, deadline=900)
        losses[name] = [report["losses"] for report in outcome.reports]
    for name in ("cold", "warm"):
        test.expect(losses[name] == losses["alone"],
                    f"{name}: losses {losses[name]} instead of {losses['alone']}")


def mega_cache(test):
    """Artifacts saved by each rank name its own device, and warm the same device elsewhere."""
    blobs = {device: test.place.root / f"blob{device}" for device in (0, 3)}
    outcome = test.job("save", [gpu("user", device, save=blob) for device, blob in blobs.items()])
    for report in outcome.reports:
        own = report["devices"]
        test.expect(report["blob_ordinals"] == own,
                    f"save: the blob of {own} is about {report['blob_ordinals']}")
    for device, blob in blobs.items():
        test.expect(ordinals_in(blob.read_bytes()) == [device], f"{blob.name} on disk is another")
    test.job("load", [gpu("user", 3, load=blobs[3])], test.place.cache("elsewhere"))


def mega_cache_moves(test):
    """Blobs go where they were not made for: right devices everywhere, whether they help or not."""
    blob = test.place.root / "blob"
    test.job("save", [gpu("user", 3, save=blob)], test.place.cache("library"))
    test.job("other", [gpu("user", 0, load=blob)], test.place.cache("library-0"))
    test.job("plain", [gpu("user", 3, load=blob, library=False)], test.place.cache("library-plain"))
    test.job("plain-save", [gpu("user", 3, save=blob, library=False)], test.place.cache("plain"))
    test.job("from-plain-3", [gpu("user", 3, load=blob)], test.place.cache("plain-3"))
    test.job("from-plain-0", [gpu("user", 0, load=blob)], test.place.cache("plain-0"))


def coor(test):
    """torch's compile_on_one_rank: it takes the ordinal out of the code, not out of the keys."""
    switch = {"TORCH_COMPILE_ON_ONE_RANK": "1"}
    ranks = [gpu("user", device, variables=switch) for device in DEVICES]
    reference = test.reference(ranks)
    test.same_code("cold", test.job("cold", ranks).reports, reference.reports)
    before = test.groups()
    test.same_code("warm", test.job("warm", ranks).reports, reference.reports)
    test.job("plain", [gpu("user", 0, library=False, variables=switch)])
    test.same_groups(before, "plain")
    if test.mode == "shared":
        triton = test.place.cache() / "triton"
        real = [path.name for path in triton.iterdir() if not path.is_symlink()]
        test.expect(real == ["0"] and (triton / "None").is_symlink(), f"{real} are no links in {triton}")


def driver(test):
    """The pretend driver itself."""
    import selfcheck

    for sentence in selfcheck.run(test.setup, test.place.root):
        test.failures.append(sentence)


QUICK = {"driver": driver, "user": user, "adopt": adopt, "genuine": genuine, "jit": jit, "pool": pool,
         "two-devices-10": two_devices_10, "two-devices-01": two_devices_01,
         "digests-sample": digests_sample}
FULL = {**QUICK, "inference": inference, "threads": threads, "not-stored": not_stored,
        "branch": branch, "small": small, "cpu": cpu, **apart_cases.FULL, **collective_cases.FULL, **process_cases.FULL,
        **race_cases.FULL, **stage_cases.FULL, **tuning_cases.CASES, "coor": coor, "mega-cache-moves": mega_cache_moves,
        "mega-cache": mega_cache, "two-devices-pool": two_devices_pool, "pool-fork": pool_fork, "pool-spawn": pool_spawn,
        "two-devices-turned": two_devices_turned, "digests-all": digests_all,
        **gpu_cases.FULL}
ALL = {**FULL, **model_cases.ALL, **config_cases.ALL, **bad_cases.ALL}
SETS = {"quick": QUICK, "full": FULL, "all": ALL}
