# SPDX-License-Identifier: Apache-2.0
"""Tests of the demo and of its generator.

The generator (ordinals.py) must give back what was recorded, and agree with the engine byte for byte; a
rank must notice what isn't its own; both halves of the demo must pass. Prints a line per case.
"""
import json
import os
import shutil
import subprocess
import sys
import time
import threading
import tarfile
import tempfile
import traceback

import demo
import material
import ordinals

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
PROGRAM = os.path.join(BUILD, "rankshare")
DATA = os.path.join(demo.HERE, "..", "data")
REFUSED = "twodev"  # one graph on two devices
SOME = (0, 1, 2, 3, 4, 5, 6, 7, 10, 99, 100, 127)


class Skip(Exception):
    pass


class Recordings:
    """All cases, unpacked."""

    def __init__(self, folder):
        for name in sorted(name for name in os.listdir(DATA) if name.endswith(".tar.xz")):
            with tarfile.open(os.path.join(DATA, name)) as tar:
                tar.extractall(folder)
        self.folder = folder
        self.names = sorted(name for name in os.listdir(folder) if name != REFUSED)

    def files(self, case, device, kind):
        """Paths of one kind: keys, fxgraph, aotautograd, or python."""
        if kind == "keys":
            root = os.path.join(self.folder, case, "keys%d" % device)
            return [os.path.join(root, name) for name in sorted(os.listdir(root))]
        root = os.path.join(self.folder, case, "dev%d_inductor" % device)
        found = []
        for folder, _, names in os.walk(root if kind == "python" else os.path.join(root, kind)):
            found += [os.path.join(folder, name) for name in sorted(names)
                      if kind != "python" or name.endswith(".py")]
        return sorted(found)

    def pickles(self, case, device):
        return [path for kind in ("keys", "fxgraph", "aotautograd") for path in self.files(case, device, kind)]

    def torch_key_file(self, case, device):
        return self.files(case, device, "keys")[-1]

    def torch_key(self, case, device):
        return ordinals.torch_key_of(material.read(self.torch_key_file(case, device)))


def by_engine(path, to, details):
    result = subprocess.run([PROGRAM, "rewrite", "--to", str(to), "--details", details, path, "-"],
                            capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def recording_cases(recordings):
    def identity(case):
        for device in (0, 1):
            for path in recordings.pickles(case, device):
                data = material.read(path)
                key = recordings.torch_key(case, device)
                assert ordinals.rewrite(data, device, key) == data, "not itself on its own ordinal: " + path
                for to in (0, 127) if device else (12,):
                    there = ordinals.rewrite(data, to, key)
                    assert ordinals.Artifact(there).ordinals() == {to}, path
                    assert ordinals.rewrite(there, device, key) == data, "not there and back: " + path

    def details(case):
        for zero, one in zip(recordings.files(case, 0, "keys"), recordings.files(case, 1, "keys")):
            assert ordinals.rewrite(material.read(one), 0) == material.read(zero), one

    def engine_pickles(case):
        for device in (0, 1):
            details_file, key = recordings.torch_key_file(case, device), recordings.torch_key(case, device)
            for path in recordings.pickles(case, device):
                artifact = ordinals.Artifact(material.read(path))
                for to in SOME if device else (0, 5):
                    expected = ordinals.rewrite(artifact, to, key)
                    assert by_engine(path, to, details_file) == expected, "cuda:%d of %s" % (to, path)

    def engine_sources(case):
        details_file = recordings.torch_key_file(case, 1)
        for path in recordings.files(case, 1, "python"):
            text = material.read(path).decode()
            for to in (0, 12):
                expected = ordinals.rewrite_source(text, to).encode()
                assert by_engine(path, to, details_file) == expected, "cuda:%d of %s" % (to, path)

    for case in recordings.names:
        yield "generator: %s, there and back" % case, lambda case=case: identity(case)
        yield "generator: %s, details of cuda:1 become those of cuda:0" % case, lambda case=case: details(case)
        yield "engine: %s, entries and details as the generator's" % case, lambda case=case: engine_pickles(case)
        yield "engine: %s, sources as the generator's" % case, lambda case=case: engine_sources(case)


def rank_cases(work):
    material.make(demo.ARCHIVE, [0, 3], work)
    plans = {to: json.loads(material.read(work, "%d.json" % to)) for to in (0, 3)}

    def entry(job, plan, graph="forward"):
        key = plan["keys"][graph]
        return material.only_file(os.path.join(job.cache, "fxgraph", key[1:3], key))

    def plain(cache, ranks=(3,)):
        return demo.Job("plain", work, cache, list(ranks), 0.1)

    def cold_and_warm():
        cold, warm = plain("warm", (0, 3)), plain("warm", (0, 3))
        assert not cold.problems + warm.problems, cold.problems + warm.problems
        assert cold.compiled() == {"forward": 2, "backward": 2} and warm.sum("fx_hits") == 4
        assert warm.compiled() == {"forward": 0, "backward": 0} and warm.files == cold.files

    def wrong(change, pattern):
        """CHANGE spoils rank 3's cache; the rank must say so and the job must have a problem."""
        name = "wrong%d" % len(os.listdir(work))
        first = plain(name, (0, 3))
        assert not first.problems, first.problems
        change(first)
        second = plain(name)
        assert len(second.problems) == 1 and pattern in second.problems[0], second.problems

    def foreign_entry(job):
        shutil.copy(entry(job, plans[0]), entry(job, plans[3]))

    def one_byte(job):
        path = entry(job, plans[3])
        data = bytearray(material.read(path))
        data[len(data) // 2] ^= 1
        material.write(bytes(data), path)

    def foreign_source(job):
        text = material.read(plans[3]["families"]["1"]["forward"]["folder"], "wrapper.py")
        name = ordinals.code_name(text.decode())
        material.write(text.replace(b"cuda:3", b"cuda:0"), job.cache, name[1:3], name + ".py")

    def lost_kernel(job):
        group = plans[3]["families"]["1"]["forward"]["groups"][0]
        folder = os.path.join(job.cache, "triton", "3", group)
        for name in os.listdir(folder):
            if name.endswith(".cubin"):
                os.unlink(os.path.join(folder, name))

    def listed_while_waiting():
        """One rank compiles, the other waits; find and cp -r of the cache, under the library, do neither."""
        library = os.path.join(os.path.abspath(BUILD), "librankshare.so")
        if not os.path.exists(library):
            raise Skip("librankshare.so isn't built")
        segment, seconds, runs = "check%d" % os.getpid(), 3, []
        cache = os.path.join(work, "listed")
        environment = {**demo.plain_environment(), "LD_PRELOAD": library, "RANKSHARE": "1",
                       "RANKSHARE_SEGMENT": segment, "TORCHINDUCTOR_CACHE_DIR": cache}
        prefix = (PROGRAM, "run", "--quiet", "--segment", segment, "--library", library, "--wait", "60", "--")
        job = threading.Thread(target=lambda: runs.append(demo.Job("listed", work, "listed", [0, 3], seconds, prefix)))
        times = []
        try:
            job.start()
            while job.is_alive():
                start = time.monotonic()
                copy = tempfile.mkdtemp(dir=work)
                subprocess.run(["find", cache, "-ls"], env=environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=20, check=False)
                subprocess.run(["cp", "-r", cache, copy], env=environment, stderr=subprocess.DEVNULL, timeout=20,
                               check=False)  # files come and go under it, as they would without us
                times.append(time.monotonic() - start)
                shutil.rmtree(copy)
                time.sleep(0.1)
        finally:
            job.join()
            subprocess.run([PROGRAM, "clear", "--segment", segment], capture_output=True, check=False)
        (cold,) = runs
        assert not cold.problems, cold.problems
        assert cold.compiled() == {"forward": 1, "backward": 1}, cold.compiled()
        assert len(times) > 3 and min(times) < seconds / 2, times

    yield "rank: cold, then warm", cold_and_warm
    yield "rank: waits while others list and copy the cache", listed_while_waiting
    yield "rank: notices another device's entry", lambda: wrong(foreign_entry, "isn't this rank's")
    yield "rank: notices one changed byte", lambda: wrong(one_byte, "isn't this rank's")
    yield "rank: notices another device's source", lambda: wrong(foreign_source, "another device's source")
    yield "rank: notices a lost kernel", lambda: wrong(lost_kernel, "which isn't there")


def demo_cases(work):
    def run(*options, status=0, build=BUILD):
        result = subprocess.run([sys.executable, os.path.join(demo.HERE, "demo.py"), "--build", build, *options],
                                capture_output=True, text=True, check=False)
        assert result.returncode == status, result.stdout + result.stderr
        return result.stderr if status else result.stdout

    def row(text, name):
        (line,) = [line for line in text.splitlines() if line.startswith(name)]
        return line[len(name):].split()

    def plain_half():
        text = run("--plain-only", "--compile", "0.2", build="/nonexistent")
        assert row(text, "graphs compiled (misses)") == ["16"], text

    def both_halves():
        if not os.path.exists(os.path.join(BUILD, "librankshare.so")):
            raise Skip("librankshare.so isn't built")
        text = run("--compile", "1")
        assert row(text, "graphs compiled (misses)") == ["16", "2", "0", "0", "2"], text
        assert row(text, "graphs loaded (hits)") == ["0", "14", "16", "2", "14"], text

    def idle_library():
        """A library that does nothing: the demo must not be content."""
        build = os.path.join(work, "idle")
        os.mkdir(build)
        shutil.copy(PROGRAM, build)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-o", os.path.join(build, "librankshare.so"),
                        "-x", "c", "/dev/null"], check=True)
        text = run("--compile", "0.2", status=1, build=build)
        assert "library, cold: forward was compiled 8 times, not 1" in text, text
        assert "aren't those of a plain cuda:0 process" in text, text

    yield "demo: fails when nothing is shared", idle_library
    yield "demo: the plain half passes without the library", plain_half
    yield "demo: one compilation per graph under the library", both_halves


def all_cases(work):
    yield from demo_cases(work)
    yield from rank_cases(os.path.join(work, "ranks"))
    yield from recording_cases(Recordings(os.path.join(work, "recordings")))


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="rankshare-demo-") as work:
        os.mkdir(os.path.join(work, "ranks"))
        for name, case in all_cases(work):
            if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
                continue
            try:
                case()
                outcome, text = "passed", ""
            except Skip as why:
                outcome, text = "skipped", ": %s" % why
            except Exception:  # a failed case must not end the others
                outcome, text = "failed", "\n" + traceback.format_exc()
            counts[outcome] += 1
            print("%s %s%s" % (outcome, name, text), flush=True)
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
