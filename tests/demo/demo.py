# SPDX-License-Identifier: Apache-2.0
"""The main job without a GPU: eight ranks on ordinals 0 to 7 that need the same two graphs.

    demo.py [--build BUILD] [--plain-only] [--compile SECONDS] [--keep]

Runs the ranks (rank.py: ordinary programs) plainly, then under the library on a fresh directory, then
once more, and a plain rank on cuda:0 in the directory that they shared. Prints all side by side. Ends
with 1 when a rank loaded something wrong, or when sharing ranks compiled a graph more than once.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import material

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHIVE = os.path.join(HERE, "..", "data", "torch-2.11.0-h200-blocks.tar.xz")
RANKS = 8
DEADLINE = 100  # seconds for one job; the library's own patience is longer


def plain_environment():
    return {name: value for name, value in os.environ.items()
            if name != "LD_PRELOAD" and not name.startswith(("RANKSHARE", "TORCHINDUCTOR", "TRITON"))}


class Job:
    """One run of some ranks on one cache directory, or with APART on one for each rank."""

    def __init__(self, title, work, cache, ordinals, seconds, prefix=(), apart=()):
        self.title, self.cache = title, os.path.join(work, cache)
        self.caches = apart or (self.cache,)
        os.makedirs(self.cache, exist_ok=True)
        command = [*prefix, sys.executable, os.path.abspath(__file__), "launch", work, str(seconds),
                   *map(str, ordinals)]
        start = time.monotonic()
        environment = {**plain_environment(), "TORCHINDUCTOR_CACHE_DIR": self.cache, "DEMO_CACHES": ":".join(apart)}
        process = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        self.wall = time.monotonic() - start
        self.ranks = [json.loads(line) for line in process.stdout.splitlines()]
        self.problems = [("rank %d: " % rank["rank"]) + rank["error"]
                         for rank in self.ranks if "error" in rank]
        if len(self.ranks) != len(ordinals):
            self.problems.append("%d of %d ranks reported" % (len(self.ranks), len(ordinals)))
        if self.sum("left"):
            self.problems.append("%d bundles met another rank's" % self.sum("left"))
        self.files, self.bytes = self.measure()

    def measure(self):
        files = size = 0
        for cache in self.caches:
            for folder, _, names in os.walk(cache):
                for name in names:
                    stat = os.lstat(os.path.join(folder, name))
                    files, size = files + 1, size + stat.st_size
        return files, size

    def sum(self, field):
        return sum(rank[field] for rank in self.ranks)

    def compiled(self):
        """{graph: how often it was compiled}"""
        times = dict.fromkeys(material.GRAPHS, 0)
        for rank in self.ranks:
            for graph in rank["compiled"]:
                times[graph] += 1
        return times

    def expect(self, compiles, keys):
        """Notes what isn't as it must be: compilations of each graph, and names of the key directories."""
        for graph, times in self.compiled().items():
            if times != compiles:
                self.problems.append("%s was compiled %d times, not %d" % (graph, times, compiles))
        if keys is not None and any(found != keys for found in self.keys()):
            self.problems.append("the key directories aren't those of a plain cuda:0 process")

    def keys(self):
        """Of each cache directory."""
        roots = [os.path.join(cache, "fxgraph") for cache in self.caches]
        return [{key for short in os.listdir(root) for key in os.listdir(os.path.join(root, short))} for root in roots]


def launch(work, seconds, ordinals):
    """Starts the ranks of one job, as a launcher would, and passes on what they say. The last one starts
    first, so that it isn't the rank on cuda:0 that compiles for the others."""
    processes = []
    caches = [cache for cache in os.environ["DEMO_CACHES"].split(":") if cache]
    for ordinal in reversed(ordinals):
        own = {"TORCHINDUCTOR_CACHE_DIR": caches[int(ordinal)]} if caches else {}
        environment = {**os.environ, **own, "RANK": ordinal, "LOCAL_RANK": ordinal, "WORLD_SIZE": str(len(ordinals))}
        processes.append(subprocess.Popen(
            [sys.executable, os.path.join(HERE, "rank.py"), os.path.join(work, ordinal + ".json"), seconds],
            env=environment, stdout=subprocess.PIPE, text=True))
    deadline = time.monotonic() + DEADLINE
    for process in processes:
        try:
            output, _ = process.communicate(timeout=max(1, deadline - time.monotonic()))
            sys.stdout.write(output)
        except subprocess.TimeoutExpired:
            process.kill()
    return max(process.wait() for process in processes)


def print_table(jobs):
    rows = [("", *(job.title for job in jobs)),
            ("ranks", *(len(job.ranks) for job in jobs)),
            ("graphs compiled (misses)", *(job.sum("fx_misses") for job in jobs)),
            ("graphs loaded (hits)", *(job.sum("fx_hits") for job in jobs)),
            ("AOT entries found", *(job.sum("aot_hits") for job in jobs)),
            ("compiling, all ranks", *("%.1f s" % job.sum("compiling") for job in jobs)),
            ("looking up and waiting", *("%.1f s" % job.sum("looking") for job in jobs)),
            ("files in the cache", *(job.files for job in jobs)),
            ("bytes in the cache", *("%.1f MB" % (job.bytes / 1e6) for job in jobs)),
            ("wall time", *("%.1f s" % job.wall for job in jobs))]
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [str(row[0]).ljust(widths[0])]
        cells += [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())


def run_apart(options, work, ordinals, prefix, recorded):
    """Each rank has a directory of its own. Their paths are as long as the recorded one, see rank.py."""
    caches = [tempfile.mkdtemp(prefix="rsd", dir="/tmp") for _ in ordinals]
    try:
        job = Job("8 directories", work, "apart", ordinals, options.compile, prefix, caches)
        job.expect(1, recorded)
        return job
    finally:
        for cache in caches:
            shutil.rmtree(cache, ignore_errors=True)


def expect_small(job, program, segment):
    """What the segment holds of the job is at most a quarter of what its directories hold."""
    stats = subprocess.run([program, "stats", "--segment", segment, "--json"], stdout=subprocess.PIPE, check=False).stdout
    jobs = json.loads(stats)["jobs"] if stats else []
    stored = sum(rank["counters"]["artifact_put_bytes"] for found in jobs if found["id"] == "apart"
                 for rank in found["ranks"])
    print("8 directories hold %.1f MB, the segment %.1f MB of them (%.0f %%)"
          % (job.bytes / 1e6, stored / 1e6, 100 * stored / job.bytes))
    if not 0 < stored <= job.bytes / 4:
        job.problems.append("the segment holds %d bytes" % stored)


def run_shared(options, work, recorded):
    """The jobs under the library, and the plain one after them. Returns them and the stats table."""
    program = os.path.join(options.build, "rankshare")
    segment = "demo%d" % os.getpid()
    prefix = (program, "run", "--segment", segment, "--library",
              os.path.join(options.build, "librankshare.so"), "--wait", "60")
    everyone = range(RANKS)
    try:
        cold = Job("library, cold", work, "shared", everyone, options.compile, (*prefix, "--job", "cold", "--"))
        cold.expect(1, recorded)
        warm = Job("library, warm", work, "shared", everyone, options.compile, (*prefix, "--job", "warm", "--"))
        warm.expect(0, recorded)
        after = Job("plain after, cuda:0", work, "shared", [0], options.compile)
        after.expect(0, recorded)
        apart = run_apart(options, work, everyone, (*prefix, "--job", "apart", "--"), recorded)
        expect_small(apart, program, segment)
        stats = subprocess.run([program, "stats", "--segment", segment], capture_output=True, text=True, check=False)
        text = stats.stdout + stats.stderr
    finally:
        subprocess.run([program, "clear", "--segment", segment], capture_output=True, check=False)
    return [cold, warm, after, apart], text


def demo(options, work):
    print("%d ranks, ordinals 0 to %d; a transformer's forward and backward graph, recorded with torch 2.11;\n"
          "a compilation is a sleep of %g s that ends in the recorded result." % (RANKS, RANKS - 1, options.compile),
          flush=True)
    recorded = material.recorded_keys(material.make(ARCHIVE, range(RANKS), work), 0)
    plain = Job("plain", work, "plain", range(RANKS), options.compile)
    plain.expect(RANKS, None)
    jobs, stats = [plain], ""
    if not options.plain_only:
        shared, stats = run_shared(options, work, recorded)
        jobs += shared
    print()
    print_table(jobs)
    if stats:
        print("\n$ rankshare stats\n" + stats.rstrip())
    problems = ["%s: %s" % (job.title, problem) for job in jobs for problem in job.problems]
    for problem in problems:
        print("demo: " + problem, file=sys.stderr)
    if stats and not problems:
        print("\nPassed: %d graphs compiled in the place of %d, and what each rank has loaded was compared with what a plain\n"
              "process of its own device has. (A rank that finds an AOT entry loads its graphs through that.)"
              % (sum(jobs[1].compiled().values()), sum(plain.compiled().values())))
    return 1 if problems else 0


def main():
    if sys.argv[1:2] == ["launch"]:
        return launch(sys.argv[2], sys.argv[3], sys.argv[4:])
    parser = argparse.ArgumentParser(description="one producer, many loaders, on recorded artifacts")
    parser.add_argument("--build", default="build", help="where librankshare.so and rankshare are")
    parser.add_argument("--plain-only", action="store_true", help="without the library")
    parser.add_argument("--compile", type=float, default=4, help="seconds that a compilation takes")
    parser.add_argument("--keep", action="store_true", help="leave the working directory")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    work = tempfile.mkdtemp(prefix="rankshare-demo-")
    try:
        return demo(options, work)
    finally:
        if options.keep:
            print("\nleft in " + work)
        else:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
