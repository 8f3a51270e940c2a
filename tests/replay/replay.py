#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays the recordings through the engine. Usage: replay.py ENGINE_CLI

Ends with a line "N passed, N failed, 0 skipped".
"""
import pathlib
import subprocess
import sys
import tempfile

import genuine
import oracle
from recordings import Recordings

FEW = (0, 1, 3, 9, 10, 11, 99, 100, 127)
FEWER = (0, 3, 11, 127)
LARGE = 1 << 18


def few(path):
    """Ordinals to try: pickletools is slow on large files."""
    return FEWER if path.stat().st_size > LARGE else FEW


class Engine:
    def __init__(self, program, directory):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.out = pathlib.Path(directory) / "out"
        self.torch_key = "-"

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the engine died of {words}")
        return dict(pair.split("=", 1) for pair in line.rstrip("\n").split("\t"))

    def scan(self, path):
        return self.ask("scan", path)

    def rewrite(self, path, to):
        report = self.ask("rewrite", path, to, self.torch_key, self.out)
        return report, self.out.read_bytes() if report["reason"] == "none" else b""

    def back(self, path, first, step):
        """Rewrites to FIRST, FIRST + STEP, ... 127 and back, in memory."""
        return self.ask("back", path, self.torch_key, first, step)


class Tests:
    def __init__(self, engine, recordings):
        self.engine = engine
        self.recordings = recordings
        self.passed = self.failed = 0

    def check(self, name, run, *arguments):
        try:
            run(*arguments)
            self.passed += 1
        except (AssertionError, oracle.Difference) as error:
            self.failed += 1
            print(f"FAILED {name}: {error}")

    # -- one case ---------------------------------------------------------------------------------

    def keys_unify(self, case):
        for k0, k1 in zip(self.recordings.keys(case, 0), self.recordings.keys(case, 1)):
            assert self.engine.scan(k0)["ordinal"] == "0", k0
            assert self.engine.scan(k1)["ordinal"] == "1", k1
            _, canonical = self.engine.rewrite(k1, 0)
            assert canonical == k0.read_bytes(), f"{k1} differs from {k0}"
            for device, path in ((0, k0), (1, k1)):
                root = case / f"dev{device}_inductor"
                name = oracle.name51(path.read_bytes())
                found = [*root.glob(f"fxgraph/{name[:2]}/f{name}"), *root.glob(f"fxgraph/*/f{name}"),
                         *root.glob(f"aotautograd/a{name}")]
                assert found, f"no directory is named after {path}"

    def refused(self, case):
        for device in (0, 1):
            for path in self.recordings.keys(case, device) + self.recordings.entries(case, device):
                assert self.engine.scan(path)["reason"] == "several_ordinals", path
                report, _ = self.engine.rewrite(path, 0)
                assert report["reason"] == "several_ordinals", path

    def differs_at_sites(self, path, ordinal):
        """The rewritten artifact differs at sites only, at as many as the engine says."""
        before = path.read_bytes()
        for to in few(path):
            report, after = self.engine.rewrite(path, to)
            assert report["reason"] == "none", f"{path}: {report['reason']}"
            if to != ordinal:
                sites = oracle.compare(before, after, ordinal, to)
                assert sites == int(report["sites"]), f"{path}: {sites} places, {report['sites']} sites"

    def goes_back(self, path):
        step = 9 if path.stat().st_size > LARGE else 1
        answer = self.engine.back(path, 0, step)
        assert answer["result"] == "same", f"{path}: {answer}"

    def names_follow(self, path):
        kernels, tuners = oracle.check_names(path.read_bytes(), bytes.fromhex(self.engine.torch_key))
        for to in few(path):
            report, after = self.engine.rewrite(path, to)
            assert (kernels, tuners) == oracle.check_names(after, bytes.fromhex(self.engine.torch_key))
            if to != int(self.engine.scan(path)["ordinal"]):
                assert int(report["named"]) == tuners and report["left"] == "0", report
        return kernels, tuners

    def source_differs(self, path, ordinal):
        before = path.read_text()
        for to in FEW:
            _, after = self.engine.rewrite(path, to)
            oracle.check_text(before, after.decode(), ordinal, to)

    def wrappers_match(self, case):
        """The text inside an entry of cuda:1 made for cuda:0 is the wrapper that cuda:0 wrote, but
        for the cache directory's name and the numbering of a few kernels."""
        wrappers = {path.name for path in self.recordings.sources(case, 1)}
        for path in self.recordings.entries(case, 1):
            if "fxgraph" in path.parts:
                name = oracle.field(path.read_bytes(), "cache_key")
                assert name + ".py" in wrappers, name
                source = case / "dev1_inductor" / name[1:3] / (name + ".py")
                _, view = self.engine.rewrite(path, 5)
                _, text = self.engine.rewrite(source, 5)
                assert oracle.field(view, "source_code").encode() == text, path

    # -- all ----------------------------------------------------------------------------------------

    def run_case(self, case):
        for device in (0, 1):
            for path in self.recordings.keys(case, device) + self.recordings.entries(case, device):
                where = path.relative_to(self.recordings.root)
                self.check(f"sites {where}", self.differs_at_sites, path, device)
                self.check(f"back {where}", self.goes_back, path)
                if "fxgraph" in path.parts:
                    self.check(f"names {where}", self.names_follow, path)
            for path in self.recordings.sources(case, device):
                where = path.relative_to(self.recordings.root)
                self.check(f"text {where}", self.source_differs, path, device)
                self.check(f"back {where}", self.goes_back, path)
        self.check(f"wrappers {case.name}", self.wrappers_match, case)
        self.check(f"choices {case.name}", self.choices_were_measured, case)

    def choices_were_measured(self, case):
        """Kernels that the entries hold in several configurations are those for which the recorded job saved a
        result; one kernel in two graphs is measured once."""
        for device in (0, 1):
            entries = [path for path in self.recordings.entries(case, device) if "fxgraph" in path.parts]
            choices = sum(int(self.engine.scan(path)["choices"]) for path in entries)
            results = len(list((case / f"dev{device}_inductor").rglob("*.best_config")))
            assert choices == results, f"cuda:{device}: {choices} choices, {results} results"

    def thirty_kernels(self):
        """Forward and backward of `blocks` have 30 kernels, each with its name."""
        total = 0
        for path in self.recordings.entries(self.recordings.root / "blocks", 1):
            if "fxgraph" in path.parts:
                total += self.names_follow(path)[1]
        assert total == 30, total

    def facts(self, case):
        details = self.recordings.keys(case, 1)
        for path in details:
            report = self.engine.scan(path)
            assert report["device"] == "NVIDIA H200" and report["triton"] == "3.6.0", report
            assert report["torch_key"] == self.engine.torch_key
            collectives = b"_c10d_functional" in path.read_bytes()  # named in the graph's code alone
            assert report["comms"] == str(int(collectives)), path
            # Nothing is set that lets ranks depend on each other; a training graph's AOT details can't say
            # whether a pass changes the joint graph (16), an inference graph's (64) need not. Both are compiled with kernels running on the GPU (4).
            training = path.name.endswith("aot.pickle") and report["grad"] == "1"
            inference = path.name.endswith("aot.pickle") and report["grad"] == "0"
            assert report["flags"] == ("20" if training else "68" if inference else "0"), report
            assert report["dtensor"] == "0", report
            grad = "-1" if path.name.endswith("fx.pickle") else report["grad"]
            assert report["grad"] == grad and report["none"] == "0", report
        for path in self.recordings.entries(case, 1):
            report = self.engine.scan(path)
            if "aotautograd" in path.parts:
                assert report["kind"] == "aot_entry" and report["keys"] == str(len(details) - 1), report

    def run(self):
        blocks = self.recordings.keys(self.recordings.root / "blocks", 0)[0]
        self.engine.torch_key = self.engine.scan(blocks)["torch_key"]
        for case in self.recordings.cases():
            self.check(f"facts {case.name}", self.facts, case)
            if case.name == "twodev":
                self.check(f"refused {case.name}", self.refused, case)
            else:
                self.check(f"keys {case.name}", self.keys_unify, case)
                self.run_case(case)
        self.check("thirty kernels", self.thirty_kernels)
        for name, make in genuine.CASES.items():
            self.check(f"genuine {name}", genuine.check, self.engine, make)


def main():
    with tempfile.TemporaryDirectory(prefix="rankshare-replay-") as directory, Recordings() as recordings:
        tests = Tests(Engine(sys.argv[1], directory), recordings)
        tests.run()
    print(f"{tests.passed} passed, {tests.failed} failed, 0 skipped")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
