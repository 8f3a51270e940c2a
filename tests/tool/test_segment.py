# SPDX-License-Identifier: Apache-2.0
"""stats and clear: on a segment with two jobs (fill.c), and on what isn't a segment."""
import os
import re
import struct
import subprocess

from harness import Skip, read

HEADER_TABLES = 64 + 40 + 24  # where struct rs_segment says where its tables are


def cases(context):
    for make in (stats_cases, module_cases, clear_cases, bad_segment_cases):
        yield from make(context)


def table_names(context, table):
    """Names in one of the .def tables."""
    text = read(os.path.join(context.top, "include", "rankshare", table)).decode()
    return re.findall(r"^RS_(?:COUNTER|REASON)\((\w+),", text, re.M)


def counter_names(context):
    return set(table_names(context, "counters.def")) | {
        "refused_" + name for name in table_names(context, "reasons.def")}


def stats_cases(context):
    def shape():
        name, _ = context.segment("shape")
        document = context.json(0, "stats", "--json", "--segment", name)
        names = counter_names(context)
        assert set(document) == {"schema", "jobs", "total", "artifacts"} and document["schema"] == 1
        assert document["artifacts"] == {"place": "none", "size": 0, "reserved": 0, "used": 0, "artifacts": 0,
                                         "objects": 0, "bytes": 0}
        assert set(document["total"]) == names, set(document["total"]) ^ names
        assert [job["id"] for job in document["jobs"]] == ["train", "idle"]
        for job in document["jobs"]:
            assert set(job) == {"id", "versions", "world", "flags", "ranks"}, job
            for rank in job["ranks"]:
                assert set(rank) == {"rank", "pid", "ordinal", "counters"}, rank
                assert set(rank["counters"]) == names

    yield "stats: JSON has the promised shape", shape

    def values():
        name, _ = context.segment("values")
        document = context.json(0, "stats", "--json", env=context.environment(RANKSHARE_SEGMENT=name))
        train, idle = document["jobs"]
        assert train["versions"] == {"torch": "2.11.0", "triton": "3.6.0", "device": "NVIDIA H200"}, train
        assert train["world"] == 2 and idle["world"] is None
        assert idle["versions"] == {"torch": None, "triton": None, "device": None}
        assert [rank["rank"] for rank in train["ranks"]] == [0, 1, 1]
        assert sorted((rank["ordinal"] for rank in train["ranks"]), key=str) == [11, 3, None]
        assert train["flags"] == {"inference": 1, "benchmarks": 2} and idle["flags"] == {}, (train, idle)
        assert idle["ranks"][0]["rank"] is None
        assert all(rank["pid"] > 0 for job in document["jobs"] for rank in job["ranks"])
        sums = {}
        for job in document["jobs"]:
            for rank in job["ranks"]:
                for counter, value in rank["counters"].items():
                    sums[counter] = sums.get(counter, 0) + value
        assert sums == document["total"]
        assert sums["fx_misses"] == 2 and sums["refused_rank_specific"] == 1 and sums["wait_ns"] == 4200000000

    yield "stats: JSON has the counters", values

    def table():
        name, _ = context.segment("table")
        text = context.expect(0, "stats", "--segment", name).stdout.decode()
        lines = text.splitlines()
        assert lines[0] == "job train: torch 2.11.0, triton 3.6.0, device NVIDIA H200, world size 2, with inference, benchmarks"
        rows = [line.split() for line in lines[3:6]]
        assert rows[0][0] == "0" and rows[0][2:5] == ["cuda:3", "2", "0"], rows
        assert rows[1][0] == "1" and rows[1][2:6] == ["cuda:11", "0", "1", "1"], rows
        assert rows[1][7] == "5", "the worker's Triton kernels are its rank's: %s" % rows
        assert rows[2][0] == "all" and "4.2 s" in lines[5], rows
        assert "refused 1 time (rank_specific): a setting writes rank numbers into code with collectives after the key" in lines
        assert "wait_timeouts 1: waits ended by RANKSHARE_WAIT" in lines
        assert not any(line.endswith(" ") for line in lines)
        assert len({len(line) for line in lines[2:6]}) == 1, "ragged:\n" + text

    yield "stats: the table by rank", table

    def one_job():
        name, _ = context.segment("one")
        document = context.json(0, "stats", "--json", "--job", "idle", "--segment", name)
        assert [job["id"] for job in document["jobs"]] == ["idle"]
        assert document["total"]["fx_misses"] == 0
        text = context.expect(0, "stats", "-j", "idle", "-s", name).stdout.decode()
        assert "train" not in text
        context.refuse(2, "stats", "--job", "nobody", "--segment", name, error=r"no job `nobody'")

    yield "stats: one job", one_job

    def absent():
        name, _ = context.segment("absent", fill=False)
        for arguments in (("stats",), ("stats", "--json"), ("clear",)):
            context.refuse(2, *arguments, "--segment", name, error=name)

    yield "stats, clear: no segment", absent


def module_cases(context):
    def values():
        name, _ = context.segment("modules")
        document = context.json(0, "stats", "--modules", "--json", "--segment", name)
        assert set(document) == {"schema", "modules", "total"} and document["schema"] == 1
        assert [module["kernel"] for module in document["modules"]] == ["mul", None, "add"], document
        mul, library, add = document["modules"]
        assert add == {"hash": "000000000000abcd" + "0" * 16, "kind": "cubin", "arch": "sm_90a", "kernel": "add",
                       "library": False, "size": 17952, "kernels": 2, "loads": 2, "failed": 1, "ranks": 2,
                       "driver_ns": 2000005, "refused_by": 120}, add
        assert (mul["arch"], mul["loads"], mul["ranks"], mul["refused_by"]) == ("sm_80", 2, 2, None), mul
        assert (library["library"], library["arch"], library["kernels"], library["ranks"]) == (True, None, None, 1), library
        assert document["total"] == {"modules": 3, "bytes": 1018852, "loads": 5, "failed": 1, "ranks": 2, "copies": 2, "ptx_compiled": 0, "ptx_taken": 0, "ptx_saved_ns": 0,
                                     "copied_bytes": 18852, "driver_ns": 9000005}, document["total"]

    yield "stats --modules: values as JSON", values

    def text():
        name, _ = context.segment("modules-text")
        lines = context.expect(0, "stats", "--modules", "--segment", name).stdout.decode().splitlines()
        heads = ["FIRST", "KERNEL", "KIND", "FOR", "KERNELS", "SIZE", "LOADS", "RANKS", "FAILED", "DRIVER", "HASH"]
        assert lines[0].split() == heads, lines
        assert lines[1].startswith("mul ") and " fatbin (library) " in lines[2], lines
        assert lines[3].split()[:4] == ["add", "cubin", "sm_90a", "2"] and lines[3].endswith(" 000000000000"), lines
        assert lines[4].startswith("3 modules, 1.0 MB; loaded 5 times by 2 ranks; copies in further ranks: 2, 18.9 kB"), lines

    yield "stats --modules: text", text

    def refused():
        name, _ = context.segment("modules-refused")
        sentence = "the driver refused add: a cubin for sm_90a, which devices of compute capability 12.0 do not run"
        assert sentence in context.expect(0, "stats", "--segment", name).stdout.decode()
        assert sentence in context.call("doctor", "--segment", name).stdout.decode()
        text = context.expect(0, "stats", "--job", "train", "--segment", name).stdout.decode()
        assert sentence not in text
        loads = "modules loaded onto GPUs: 5, 1 refused by the driver; 9 ms in the driver for loads, 250 us for kernels\n"
        assert loads in text, text
        assert "modules loaded" not in context.expect(0, "stats", "--job", "idle", "--segment", name).stdout.decode()

    yield "stats and doctor name what a driver refused", refused

    def wrong():
        name, _ = context.segment("modules-wrong")
        context.refuse(1, "stats", "--modules", "--job", "train", "--segment", name, error="no --job")

    yield "stats --modules takes no job", wrong

    def none():
        name, _ = context.segment("modules-none", how="odd")
        document = context.json(0, "stats", "--modules", "--json", "--segment", name)
        assert document["modules"] == [] and document["total"]["modules"] == 0, document
        text = context.expect(0, "stats", "--modules", "--segment", name).stdout.decode()
        assert text.startswith("0 modules, 0 B; loaded 0 times"), text

    yield "stats --modules: none", none


def clear_cases(context):
    def clear():
        name, path = context.segment("clear")
        context.expect(0, "clear", "--segment", name, out=r"\A\Z", error=r"\A\Z")
        assert not os.path.exists(path)
        context.refuse(2, "clear", "--segment", name, error=name)

    yield "clear: removes the segment", clear


def bad_segment_cases(context):
    def damaged(change):
        """A good segment with CHANGE made to its bytes."""
        name, path = context.segment("damaged")
        content = bytearray(read(path))
        os.unlink(path)
        changed = change(content)
        content = content if changed is None else changed
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, 0o600)
        return name, path

    def put(offset, form, value):
        def change(content):
            struct.pack_into(form, content, offset, value)
        return change

    changes = [
        ("wrong magic", put(0, "<Q", 42)), ("wrong layout", put(8, "<I", 9999)),
        ("wrong header size", put(12, "<I", 1)), ("wrong total size", put(16, "<Q", 1 << 60)),
        ("all zeros", lambda content: bytes(len(content))), ("empty", lambda content: b""),
        ("one byte", lambda content: b"r"), ("half a header", lambda content: content[:100]),
        ("cut short", lambda content: content[:8192]), ("random", lambda content: os.urandom(1 << 20)),
    ]

    def change_case(change):
        def case():
            name, path = damaged(change)
            context.refuse(2, "stats", "--segment", name, error=r"^rankshare: /rankshare")
            context.refuse(2, "stats", "--json", "--segment", name, error=r"^rankshare: /rankshare")
            assert os.path.exists(path)
        return case

    for name, change in changes:
        yield "bad segment: " + name, change_case(change)

    def others_may_write():
        name, path = context.segment("mode")
        os.chmod(path, 0o666)
        context.refuse(2, "stats", "--segment", name, error=r"^rankshare: /rankshare")

    yield "bad segment: others may write it", others_may_write

    def symlink():
        name, path = context.segment("link")
        os.rename(path, path + ".real")
        os.symlink(path + ".real", path)
        try:
            context.refuse(2, "stats", "--segment", name, error=r"^rankshare: /rankshare")
        finally:
            os.unlink(path + ".real")

    yield "bad segment: a symbolic link", symlink

    def directory():
        name, path = context.segment("directory", fill=False)
        os.mkdir(path)
        context.refuse(2, "stats", "--segment", name, error=r"^rankshare: /rankshare")
        context.refuse(2, "clear", "--segment", name, error=r"^rankshare: /rankshare")
        assert os.path.isdir(path)

    yield "bad segment: a directory", directory

    def other_owner():
        if context.uid != 0:
            raise Skip("needs root to give a file away")
        name, path = context.segment("owner")
        os.chown(path, 65534, 65534)
        context.refuse(2, "stats", "--segment", name, error=r"^rankshare: /rankshare")
        context.refuse(2, "clear", "--segment", name, error=r"^rankshare: /rankshare")
        assert os.path.exists(path)

    yield "bad segment: somebody else's", other_owner

    def damaged_tables():
        """Whatever stands behind a good header, the tool ends in an orderly way, and prints no nonsense."""
        name, path = context.segment("tables")
        good = read(path)
        # Jobs and slots are the first two tables; their places stand in the header.
        tables = [struct.unpack_from("<QII", good, HEADER_TABLES + 16 * i) for i in range(2)]
        read_by_stats = [range(offset, offset + count * stride) for offset, count, stride in tables]
        seen = set()
        for seed in range(20):
            content = bytearray(good)
            noise = range(4096 + seed * 65536, 4096 + (seed + 1) * 65536)
            content[noise.start:noise.stop] = os.urandom(len(noise))
            with open(path, "r+b") as file:
                file.write(content)
            hit = any(noise.start < table.stop and table.start < noise.stop for table in read_by_stats)
            seen.add(hit)
            for arguments in (("stats",), ("stats", "--json")):
                if hit:
                    context.refuse(2, *arguments, "--segment", name, error=r"^rankshare: /rankshare.*damaged")
                else:
                    context.expect(0, *arguments, "--segment", name)
        assert True in seen

    yield "bad segment: random tables behind a good header", damaged_tables

    def run_goes_on():
        name, path = damaged(put(0, "<Q", 42))
        context.expect(7, "run", "--library", context.empty_library(), "--segment", name, "--", "sh", "-c", "exit 7",
                       error=r"^rankshare: /rankshare")

    yield "bad segment: run goes on", run_goes_on

    def no_name():
        """What the library takes for the default, since it can't ask, is an error here: clear would remove that one."""
        name, path = context.segment("unnamed")
        nonsense = context.environment(RANKSHARE_SEGMENT="a/" + name)
        for verb in (("clear",), ("evict", "--to", "0"), ("ls",), ("verify",), ("stats",), ("run", "true")):
            context.refuse(1, *verb, error=r"a segment's name holds no slash", env=nonsense)
        assert os.path.exists(path)

    yield "RANKSHARE_SEGMENT: nonsense is refused", no_name

    def cut():
        """Cut in the index of the artifacts, behind the tables."""
        name, path = context.segment("cut", how="artifacts")
        os.truncate(path, 20000000)
        for verb in ("verify", "ls", "stats"):
            context.refuse(2, verb, "--segment", name, error="cut short")
        context.expect(4, "doctor", "--library", context.empty_library(), "--segment", name, out=r"^WRONG  segment")
        context.expect(0, "clear", "--segment", name)

    yield "bad segment: cut short behind its tables", cut

    def live_warning():
        """Someone who still uses the segment when it is cleared is named."""
        name, _ = context.segment("live", fill=False)
        holder = subprocess.Popen([context.fill_program, name, "wait"], stdout=subprocess.PIPE,
                                  stdin=subprocess.PIPE)
        try:
            assert holder.stdout.readline() == b"ready\n"
            context.expect(0, "clear", "--segment", name, error=r"1 process still uses it")
        finally:
            holder.stdin.close()
            assert holder.wait() == 0

    yield "clear: a process still uses the segment", live_warning
