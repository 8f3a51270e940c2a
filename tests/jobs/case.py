# SPDX-License-Identifier: Apache-2.0
"""What all cases have in common: run a phase, compare with the table, look for what must never be."""

import dataclasses

import look
import rig
import table

DEVICES = (0, 3, 11)  # the smallest, another one, and one of two digits
LEAN = "inductor.triton.autotune_pointwise=False"  # one configuration for most kernels: half as many to compile


class Failed(Exception):
    """Nothing more can be learned from this case."""


class Skipped(Exception):
    """What this case needs is not here."""


def gpu(mode, *devices, library=True, variables=None, **options):
    """A rank that runs gpu_job.py; the keyword options become options of that program."""
    arguments = [mode, "--report", "{out}.json"]
    for device in devices:
        arguments += ["--device", device]
    for name, value in options.items():
        arguments += [f"--{name}"] if value is True else [f"--{name}", value]
    return rig.Rank("gpu_job.py", arguments, library, variables or {})


def environment_of(test, version):
    """Another version's environment."""
    environment = test.setup.environment.with_name(f"torch-{version}")
    if not (environment / "complete").exists():
        raise Skipped(f"no torch in {environment}: make it with 'make torch-env TORCH_VERSION={version}'")
    return environment


class Test:
    def __init__(self, name, place, rows):
        self.name, self.place, self.rows = name, place, rows
        self.setup = place.setup
        self.minor = self.setup.minor
        self.mode = self.setup.mode
        self.failures, self.notes = [], []
        self.stats = look.Stats(place) if self.setup.tool and self.setup.library else None
        self.loads_seen = 0

    def expect(self, condition, sentence):
        if not condition:
            self.failures.append(sentence)

    def job(self, phase, ranks, cache=None, deadline=400, even=True, helpers=False, compare=None):
        """One job, with every check that holds for any job. even: all devices load and launch equally much; helpers:
        other processes than ranks may use a device, each its own one; compare: what is asked instead of the table."""
        cache = cache or self.place.cache()
        outcome = self.place.run(ranks, cache, deadline)
        if outcome.problem:
            raise Failed(f"{phase}: {outcome.problem}")
        self.inspect(phase, ranks, outcome, cache, even, helpers, compare)
        return outcome

    def inspect(self, phase, ranks, outcome, cache, even=True, helpers=False, compare=None):
        """What ranks that came to their end have told."""
        log = look.read_driver_log(outcome.folder / "cuda")
        numbers = self.measure(outcome, cache)
        self.note(phase, outcome, numbers)
        if compare:
            compare(numbers, outcome)
        else:
            self.compare(phase, numbers, any(r.library for r in ranks))
        for report in outcome.reports:
            self.check_rank(phase, report, log, even)
        strangers = {pid for pid, *_ in log.loads} - {report["pid"] for report in outcome.reports}
        self.expect(helpers or not strangers, f"{phase}: processes that are no ranks loaded modules")
        for pid in strangers:
            self.expect(len(log.devices(pid)) == 1, f"{phase}: a helper used {sorted(log.devices(pid))}")
        self.expect(not log.errors, f"{phase}: driver errors: {log.errors[:3]}")
        left = look.leftovers(cache) if self.mode == "shared" else []
        self.expect(not left, f"{phase}: left behind: {left[:3]}")

    def explained(self, verb, *sentences, variables=None):
        """What the user reads who asks the tool."""
        if not self.stats:
            return
        result = self.place.tool(verb, variables=variables)
        for sentence in sentences:
            self.expect(sentence in result.stdout + result.stderr,
                        f"`rankshare {verb}' does not say `{sentence}':\n{result.stdout}{result.stderr}")

    def note(self, phase, outcome, numbers):
        self.notes.append(f"{self.name}/{phase} {outcome.seconds:.1f} s "
                          + " ".join(f"{k}={v}" for k, v in numbers.items()))

    def measure(self, outcome, cache):
        names = ("fx_miss", "fx_hit", "aot_miss", "aot_hit", "asked", "bundled", "compiled")
        numbers = {n: sum(r["counters"][n] for r in outcome.reports) for n in names}
        numbers["fx_keys"] = len(look.keys(cache, "fx"))
        numbers["aot_keys"] = len(look.keys(cache, "aot"))
        numbers["groups"] = len(look.groups(cache, self.place.root / "home"))
        numbers["loads"] = len(look.read_driver_log(outcome.folder / "cuda").loads)
        return numbers

    def compare(self, phase, numbers, with_library):
        """With the table, and that no wait ran into its limit."""
        key = self.mode, self.name, phase
        if key not in self.rows:
            raise Failed(f"{phase}: the table has no row for {' '.join(key)}")
        row, refusals = self.rows[key]
        counters = self.stats.read() if self.stats and with_library else None
        if counters and counters["configs_left"] and row["loads"]:
            # On a busy machine a rank may leave who measures for it, and loads all configurations itself.
            row = row | {"loads": (row["loads"][0], float("inf"))}
        for sentence in table.differences(row, numbers):
            self.failures.append(f"{phase}: {sentence}")
        if counters is not None:
            for sentence in table.refusal_differences(refusals, counters):
                self.failures.append(f"{phase}: {sentence}")
            self.expect(not counters["wait_timeouts"], f"{phase}: somebody waited until the limit")
            self.notes.append(f"{self.name}/{phase} waits={counters['fx_waited']}+{counters['triton_waited']}, "
                              f"{counters['wait_ns'] / 1e9:.1f} s, results " + " ".join(
                                  f"{name[8:]}={counters[name]}" for name in counters if name.startswith("configs_")))

    def check_rank(self, phase, report, log, even):
        """Every load, launch, source and graph of a rank is about its own devices."""
        if not report.get("gpu"):
            return
        own, who = set(report["devices"]), f"{phase}: rank {report['rank']}"
        used = log.devices(report["pid"])
        self.expect(used == own, f"{who} is on {sorted(own)}, the driver saw it on {sorted(used)}")
        if len(own) > 1:
            loads = log.count_by_device(log.loads, report["pid"])
            launches = log.count_by_device(log.launches, report["pid"])
            self.expect(not even or len(set(loads.values())) == 1, f"{who}: loads by device {dict(loads)}")
            self.expect(not even or len(set(launches.values())) == 1,
                        f"{who}: launches by device {dict(launches)}")
        for source in report["sources"]:
            self.expect(set(source["ordinals"] or ()) <= own,
                        f"{who} holds {source['path']}, which is about {source['ordinals']}, "
                        f"in {source['places']}")
        for graph in report["graphs"]:
            devices = set(graph["ordinals"]) | set(graph["device_idxs"])
            self.expect(devices <= own and len(devices) < 2,
                        f"{who}: graph {graph['key']} is about {sorted(devices)}")
        self.check_kernels(who, own, report)

    def check_kernels(self, who, own, report):
        about = {source["path"]: set(source["ordinals"] or ()) for source in report["sources"]}
        for kernel in report.get("kernels", []):
            devices = set(kernel["devices"])
            self.expect(devices <= own and len(devices) < 2,
                        f"{who}: kernel {kernel['path']} is for {sorted(devices)}")
            self.expect(about.get(kernel["path"], devices) <= devices,
                        f"{who}: kernel for {sorted(devices)} names {kernel['path']}, "
                        f"which is about {sorted(about.get(kernel['path'], ()))}")

    def reference(self, ranks, deadline=400):
        """The same ranks as plain processes on a cache directory of their own."""
        plain = [dataclasses.replace(rank, library=False) for rank in ranks]
        outcome = self.place.run(plain, self.place.cache("native"), deadline)
        if outcome.problem:
            raise Failed(f"reference: {outcome.problem}")
        self.note("reference", outcome, self.measure(outcome, self.place.cache("native")))
        return outcome

    def cold_and_warm(self, ranks_of, deadline=400):
        """The job RANKS_OF(phase), twice. Each rank runs the graphs that a plain process of its own generates; in
        a plain run the cold job is that process. Returns the warm outcome."""
        reference = self.reference(ranks_of("reference"), deadline) if self.mode == "shared" else None
        for phase in ("cold", "warm"):
            outcome = self.job(phase, ranks_of(phase), deadline=deadline)
            reference = reference or outcome
            self.same_code(phase, outcome.reports, reference.reports)
        return outcome

    def same_code(self, phase, reports, references, results=True):
        """Each rank holds the graphs that torch generates for it without the library, letter for letter."""
        for mine, plain in zip(reports, references, strict=True):
            texts = [{graph["code"] for graph in report["graphs"]} for report in (mine, plain)]
            self.expect(texts[1] and texts[0] == texts[1],
                        f"{phase}: rank {mine['rank']} runs other code than a plain process: "
                        f"{len(texts[0] - texts[1])} of {len(texts[0])} graphs are none of its {len(texts[1])}")
            self.expect(not results or mine["results"] == plain["results"],
                        f"{phase}: rank {mine['rank']}: {mine['results']} instead of {plain['results']}")

    def same_loads(self, phase, outcome):
        """The library has counted the loads that the driver has logged, no more and no less, and knows what they were."""
        if not self.stats:
            return
        log, total = look.read_driver_log(outcome.folder / "cuda"), self.stats.total()
        counted = total["loads_linked"] + total["loads_dlsym"] + total["loads_query"]
        self.expect(log.asked > 0 and counted - self.loads_seen == log.asked,
                    f"{phase}: {log.asked} loads in the driver's log, {counted - self.loads_seen} counted")
        self.expect(not total["loads_unknown"], f"{phase}: {total['loads_unknown']} loads of something unknown")
        self.loads_seen = counted
        self.notes.append(f"{self.name}/{phase} loads: linked={total['loads_linked']} dlsym={total['loads_dlsym']} "
                          f"query={total['loads_query']} file={total['loads_file']}")

    def groups(self, cache=None):
        return look.groups(cache or self.place.cache(), self.place.root / "home")

    def same_groups(self, before, phase, cache=None):
        new = self.groups(cache) - before
        self.expect(not new, f"{phase}: compiled again: {sorted(map(str, new))[:3]}")
