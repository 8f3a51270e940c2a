# SPDX-License-Identifier: Apache-2.0
"""What stats and doctor say of jobs in which something went otherwise than it should (fill.c, odd)."""
import re


def cases(context):
    def sentences(job):
        """What stands below the table of JOB: the lines after that of the sums."""
        name, _ = context.segment("odd", how="odd")
        lines = context.expect(0, "stats", "--job", job, "--segment", name).stdout.decode().splitlines()
        sums = next(number for number, line in enumerate(lines) if re.match(r" *all ", line))
        return lines[0], lines[sums + 1:]

    def disagree():
        head, said = sentences("disagree")
        assert "torch 2.15.0 / 2.7.1, triton 3.6.0, " in head, head
        assert said == [
            "not all processes run the same torch (2.15.0 / 2.7.1): its version is part of every key, so only equals share",
            "not all ranks compile with the same settings: benchmarks (rank 1): FX details that permit measurements on "
            "the GPU while compiling (max-autotune and its kin)",
            "graphs that no other rank looked for: rank 0: 1, rank 1: 1; where they should be the same, ranks differ in "
            "settings, versions, shapes or code"], said

    yield "explain: versions, settings and graphs of ranks that disagree", disagree

    def in_json():
        name, _ = context.segment("oddjson", how="odd")
        document = context.json(0, "stats", "--json", "--segment", name)
        assert document["jobs"][0]["versions"]["torch"] == "2.15.0 / 2.7.1", document["jobs"][0]["versions"]

    yield "explain: JSON names both versions", in_json

    def nothing():
        for job in ("agree", "inference", "single"):
            assert sentences(job)[1] == [], (job, sentences(job))

    yield "explain: nothing to say of ranks that agree, hit AOT keys, or are alone", nothing

    def tired():
        said = sentences("tired")[1]
        assert said == ["wait_timeouts 1: waits ended by RANKSHARE_WAIT"], said

    yield "explain: who waits no more is not taken for a rank with other graphs", tired

    def kernels():
        said = sentences("kernels")[1]
        assert len(said) == 1 and "only Triton kernels were seen, no graph" in said[0] and "switched off" in said[0], said

    yield "explain: caches that are switched off", kernels

    def doctor():
        name, _ = context.segment("odddoctor", how="odd")
        text = context.call("doctor", "--library", context.library, "--segment", name).stdout.decode()
        assert "note   job last: takeovers 1: leases taken over from a dead producer\n" in text, text
        assert "disagree" not in text, text

    yield "explain: doctor tells of the latest job", doctor

    def absent():
        name, _ = context.segment("oddabsent", fill=False)
        context.refuse(2, "stats", "--segment", name, error=r"no process has hashed .*rankshare doctor' says")

    yield "explain: no job at all", absent
