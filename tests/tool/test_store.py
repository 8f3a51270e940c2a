# SPDX-License-Identifier: Apache-2.0
"""ls, verify, evict, and what stats says of artifacts, on a segment with three of them (fill.c)."""
import os
import re
import struct
import subprocess
import tempfile

from harness import Skip, read

KEYS = ("ab" + "00" * 31, "ab01" + "00" * 30)


def cases(context):
    for make in (ls_cases, verify_cases, evict_cases, place_cases):
        yield from make(context)


def ls_cases(context):
    def listed():
        name, _ = context.segment("ls", how="artifacts")
        document = context.json(0, "ls", "--json", "--segment", name)
        assert set(document) == {"schema", "artifacts"} and document["schema"] == 1
        rows = document["artifacts"]
        assert [(row["kind"], row["key"], row["files"], row["bytes"]) for row in rows] == [
            ("triton_group", KEYS[0], 2, 20002), ("triton_group", KEYS[0], 2, 20002), ("fx_entry", KEYS[1], 1, 2)], rows
        assert all(0 < row["stored"] < 21000 and row["producer"]["rank"] == 0 and row["producer"]["pid"] > 0
                   and not row["read"] and row["unused_ms"] < 60000 for row in rows), rows
        assert [row["warm"] for row in rows] == [False, False, True]

    yield "ls: JSON", listed

    def table():
        name, _ = context.segment("table", how="artifacts")
        lines = context.expect(0, "ls", env=context.environment(RANKSHARE_SEGMENT=name)).stdout.decode().splitlines()
        assert lines[0].split() == ["KIND", "KEY", "FILES", "SIZE", "STORED", "USED", "PRODUCER"], lines
        assert lines[1].split()[:5] == ["triton_group", "ab0000000000", "2", "20.0", "kB"], lines
        assert lines[3].split()[-3:] == ["rank", "0", "warm"], lines
        assert re.match(r"artifacts: 3, 5 objects in [\d.]+ kB of at most [\d.]+ MB \([\d.]+ MB reserved in memory\); "
                        r"40.0 kB of files, stored in \d+ % of that$", lines[4]), lines[4]
        assert not any(line.endswith(" ") for line in lines)

    yield "ls: the table", table

    def empty():
        name, _ = context.segment("none")
        context.expect(0, "ls", "--segment", name, out=r"\Athe segment holds no artifacts\n\Z")
        assert context.json(0, "ls", "--json", "--segment", name) == {"schema": 1, "artifacts": []}
        context.expect(0, "verify", "--segment", name, out=r"\A0 artifacts whole, 0 damaged\n\Z")
        context.expect(0, "evict", "--to", "0", "--segment", name, out=r"\A0 artifacts removed; 0 B in use\n\Z")

    yield "ls, verify, evict: a segment without artifacts", empty

    def absent():
        name, _ = context.segment("absent", fill=False)
        for arguments in (("ls",), ("verify",), ("evict", "--to", "1M")):
            context.refuse(2, *arguments, "--segment", name, error=name)

    yield "ls, verify, evict: no segment", absent

    def stats():
        name, _ = context.segment("stats", how="artifacts")
        context.expect(0, "stats", "--segment", name, out=r"^artifacts: 3, 5 objects in ")
        document = context.json(0, "stats", "--json", "--segment", name)["artifacts"]
        assert (document["place"], document["artifacts"], document["objects"], document["bytes"]) == ("shm", 3, 5, 40006)
        assert 0 < document["used"] < document["reserved"] <= document["size"], document

    yield "stats: artifacts", stats


def patch(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def tables(path):
    """Offset and stride of groups and objects, and where the arena begins."""
    header = read(path)[:256]
    groups, _, group = struct.unpack_from("<QII", header, 192)
    objects, _, size = struct.unpack_from("<QII", header, 208)
    return groups, group, objects, size, struct.unpack_from("<Q", header, 248)[0]


def verify_cases(context):
    def whole():
        name, _ = context.segment("whole", how="artifacts")
        context.expect(0, "verify", "--segment", name, out=r"\A3 artifacts whole, 0 damaged\n\Z", error=r"\A\Z")

    yield "verify: all is whole", whole

    def payload():
        name, path = context.segment("payload", how="artifacts")
        *_, arena = tables(path)
        patch(path, arena, b"?" * 8)  # the first object: kernel.json
        context.expect(4, "verify", "--segment", name,
                       out=r"^WRONG  triton_group %s: these are not the bytes that were put: kernel\.json$" % KEYS[0])
        context.expect(4, "verify", "--segment", name, out=r"^0 artifacts whole, 3 damaged$")

    yield "verify: other bytes", payload

    def manifest():
        name, path = context.segment("manifest", how="artifacts")
        groups, *_ = tables(path)
        patch(path, groups + 72, b"\1\2\3")  # the seal
        context.expect(4, "verify", "--segment", name, out=r"^WRONG  triton_group %s: its list of files is not" % KEYS[0])
        context.expect(4, "verify", "--segment", name, out=r"^2 artifacts whole, 1 damaged$")

    yield "verify: another manifest", manifest

    def references():
        name, path = context.segment("references", how="artifacts")
        *_, objects, _, _ = tables(path)
        patch(path, objects + 48, struct.pack("<I", 77))
        context.expect(4, "verify", "--segment", name, out=r"^WRONG  an object's references are not those of the artifacts \(1\)$")

    yield "verify: references", references


def evict_cases(context):
    def evict():
        name, path = context.segment("evict", how="artifacts")
        before = os.stat(path).st_blocks
        # Five objects of 256 bytes each: two manifests and two files are left, or fewer.
        context.expect(0, "evict", "--to", "1K", "--segment", name, out=r"^[12] artifacts? removed; 1\.0 kB in use$|^2 artifacts removed; [57]\d\d B in use$")
        left = context.json(0, "ls", "--json", "--segment", name)["artifacts"]
        assert 1 <= len(left) < 3
        context.expect(0, "evict", "--to=0", "--segment", name, out=r"removed; 0 B in use$")
        assert context.json(0, "ls", "--json", "--segment", name)["artifacts"] == []
        assert (before - os.stat(path).st_blocks) * 512 > 15 << 20, "the memory goes back"
        context.expect(0, "verify", "--segment", name)

    yield "evict: to a size, and all", evict

    def wrong():
        for arguments in (("evict",), ("evict", "--to", "much"), ("evict", "--to", ""), ("evict", "--to", "1", "x"),
                          ("ls", "x"), ("verify", "x")):
            context.expect(1, *arguments, error=r"^rankshare (evict|ls|verify): ")

    yield "ls, verify, evict: wrong usage", wrong


def place_cases(context):
    def file():
        """A /dev/shm as small as Docker's: the arena is a file, and goes with `clear'."""
        if context.uid != 0:
            raise Skip("needs root to mount a small /dev/shm")
        with tempfile.TemporaryDirectory(dir=context.work) as folder:
            script = """
mount -t tmpfs -o size=64m none /dev/shm || exit 99
"$FILL" small artifacts && ls "$RANKSHARE_DIR" && "$TOOL" stats -s small && "$TOOL" verify -s small && "$TOOL" clear -s small && ls "$RANKSHARE_DIR" | wc -l
"""
            result = subprocess.run(
                ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False, timeout=60,
                env=context.environment(RANKSHARE_DIR=folder, FILL=context.fill_program, TOOL=context.program))
            if result.returncode == 99 or "unshare" in result.stderr:
                raise Skip("can't mount a small /dev/shm")
            assert result.returncode == 0, result
            lines = result.stdout.splitlines()
            assert lines[0].endswith(".small.arena"), lines
            assert "reserved in a file" in result.stdout and "3 artifacts whole" in result.stdout, lines
            assert lines[-1] == "0", lines

    yield "a small /dev/shm: a file, removed by clear", file
