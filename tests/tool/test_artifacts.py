# SPDX-License-Identifier: Apache-2.0
"""key, ordinals, rewrite: on recordings, and on what isn't one."""
import hashlib
import base64
import os
import random
import shutil
import subprocess
import threading

from harness import Skip, read

# Kinds are told apart by content; each is the content of a file whose name says nothing.
SMALL_FILES = [
    ("empty", b"", "other"),
    ("text", b"cuda:3 is not an artifact\n", "other"),
    ("cubin", b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7) + b"\x02\x00\xbe\x00" + bytes(44), "cubin"),
    ("best_config", b'{"XBLOCK": 1024, "num_warps": 4, "num_stages": 1, "configs_hash": "3c", '
                    b'"found_by_coordesc": false, "time_taken_ms": 13}', "best_config"),
    ("zeros", bytes(4096), "other"),
]
PICKLE = b"\x80\x04\x95"
HOSTILE = [
    ("frame of 2^63 bytes", PICKLE + b"\xff" * 7 + b"\x7f" + b"\x8c\x19torch._inductor.codecache"),
    ("string of 2^62 bytes", b"\x80\x04\x8d" + b"\xff" * 7 + b"\x3f" + b"x."),
    ("a million marks", b"\x80\x04" + b"(" * 1000000 + b"."),
    ("a million nested lists", b"\x80\x04" + b"]" * 1000000 + b"a" * 999999 + b"."),
    ("pops an empty stack", b"\x80\x04" + b"0" * 10 + b"."),
    ("memo that isn't there", b"\x80\x04h\xffj\xff\xff\xff\xff."),
    ("doubling tuples", b"\x80\x04)" + b"2\x86" * 5000 + b"."),
    ("only a header", PICKLE),
    ("unknown opcodes", b"\x80\x04" + bytes(range(0xa0, 0x100)) + b"."),
]


def name51(data):
    return base64.b32encode(hashlib.sha256(data).digest()).decode()[:51].lower()


def cases(context):
    for make in (key_cases, ordinals_cases, rewrite_cases, bad_file_cases, hostile_cases):
        yield from make(context)


def key_cases(context):
    def keys():
        for device in (0, 1):
            for number, letter in (("1-aot", "a"), ("2-fx", "f"), ("3-fx", "f")):
                path = context.recording("dynamic", "keys%d" % device, number + ".pickle")
                other = context.recording("dynamic", "keys0", number + ".pickle")
                text = context.expect(0, "key", path).stdout.decode().split()
                assert text == ["native", letter + name51(read(path)), "canonical", letter + name51(read(other))]
                assert context.expect(0, "key", "-", stdin=read(path)).stdout.decode().split() == text

    yield "key: names of the recorded directories", keys

    def refused():
        path = context.recording("twodev", "keys0", "2-fx.pickle")
        result = context.refuse(3, "key", path, error=r"refused \(several_ordinals\): .*one artifact")
        assert result.stdout.decode().split() == ["native", "f" + name51(read(path))]

    yield "key: two devices are refused", refused

    def collectives():
        path = context.recording("tp", "keys0", "1-fx.pickle")
        context.refuse(3, "key", path, error=r"refused \(torch_unknown\)")
        context.refuse(3, "key", "--torch", "2.11.0a0+git1", path, error=r"refused \(torch_unknown\)")
        context.refuse(3, "key", "--torch", "2.16.0", path, error=r"refused \(torch_unknown\)")
        first, second = (context.expect(0, "key", "--torch", "2.11.0+cu130", context.recording("tp", keys, "1-fx.pickle"))
                         .stdout.decode().split() for keys in ("keys0", "keys1"))
        assert first[3] == second[3] != second[1], (first, second)

    yield "key: collectives are judged by torch's version", collectives

    def no_details():
        context.refuse(2, "key", context.entry("rng", 0), error=r"not details.*kind fx_entry")
        context.refuse(2, "key", context.path("no-details", b"x"), error=r"not details.*kind other")

    yield "key: not details", no_details


def check_shape(document):
    assert set(document) == {"schema", "files"} and document["schema"] == 1, document
    for row in document["files"]:
        assert set(row) == {"path", "kind", "ordinals", "sites", "verdict", "reason"}, row
        assert row["verdict"] in ("none", "shareable", "refused"), row
        assert (row["reason"] is None) == (row["verdict"] != "refused"), row
        assert row["ordinals"] == sorted(set(row["ordinals"])), row


def ordinals_cases(context):
    def recorded():
        files = {context.recording("rng", "keys1", "1-aot.pickle"): "aot_details",
                 context.recording("rng", "keys1", "2-fx.pickle"): "fx_details",
                 context.entry("rng", 1): "fx_entry", context.entry("rng", 1, "aotautograd"): "aot_entry",
                 context.wrapper("rng", 1): "python"}
        document = context.json(0, "ordinals", "--json", *files)
        check_shape(document)
        assert [row["path"] for row in document["files"]] == list(files)
        for row in document["files"]:
            assert row["kind"] == files[row["path"]], row
            assert row["ordinals"] == [1] and row["sites"] > 0 and row["verdict"] == "shareable", row

    yield "ordinals: each kind of recording", recorded

    def table():
        path = context.entry("rng", 1)
        text = context.expect(0, "ordinals", path).stdout.decode()
        head, row = text.splitlines()
        assert head.split() == ["KIND", "ORDINALS", "SITES", "VERDICT", "REASON", "FILE"], text
        assert row.split()[0] == "fx_entry" and row.split()[-1] == path, text
        assert head.index("FILE") == row.index(path), text

    yield "ordinals: the table is aligned", table

    def two_devices():
        document = context.json(3, "ordinals", "--json", context.entry("twodev", 0))
        check_shape(document)
        (row,) = document["files"]
        assert row["ordinals"] == [0, 1] and row["reason"] == "several_ordinals", row

    yield "ordinals: two devices are refused", two_devices

    def small(name, content, kind):
        def case():
            path = context.path("small-" + name, content)
            document = context.json(0, "ordinals", "--json", path)
            check_shape(document)
            (row,) = document["files"]
            assert row["kind"] == kind and row["verdict"] == "none" and row["sites"] == 0, row
            piped = context.json(0, "ordinals", "-J", "-", stdin=content)["files"][0]
            assert piped["path"] == "-" and piped["kind"] == kind
        return case

    for name, content, kind in SMALL_FILES:
        yield "ordinals: %s is %s" % (name, kind), small(name, content, kind)

    def unreadable_before_refused():
        refused, good = context.entry("twodev", 0), context.entry("rng", 0)
        absent = context.path("absent")
        document = context.json(2, "ordinals", "--json", refused, absent, good, error=r"rankshare: .*absent: No such")
        check_shape(document)
        assert [row["path"] for row in document["files"]] == [refused, good]
        context.expect(3, "ordinals", good, refused)

    yield "ordinals: 2 comes before 3", unreadable_before_refused

    def strange_name():
        path = os.fsencode(context.work) + b"/n\xe4me \n x"
        shutil.copy(context.entry("rng", 0), path)
        document = context.json(0, "ordinals", "--json", path)
        assert document["files"][0]["path"].endswith("/n\xe4me \n x"), document

    yield "ordinals: a name that is no UTF-8", strange_name


def rewrite_cases(context):
    def details():
        one, zero = (context.recording("dynamic", "keys%d" % device, "2-fx.pickle") for device in (1, 0))
        out = context.path("rewritten")
        context.expect(0, "rewrite", "--to", "0", one, out)
        assert read(out) == read(zero)
        piped = context.expect(0, "rewrite", "--to=1", "-", "-", stdin=read(zero)).stdout
        assert piped == read(one)

        os.chmod(out, 0o640)
        context.expect(0, "rewrite", "--to", "1", one, out)
        assert os.stat(out).st_mode & 0o777 == 0o640, "the mode of a file that was there"

    yield "rewrite: details, files and pipes", details

    def there_and_back():
        keys = context.recording("rng", "keys1", "2-fx.pickle")
        entry = context.entry("rng", 1)
        for to in ("0", "10", "127"):
            there = context.expect(0, "rewrite", "-t", to, "-d", keys, entry, "-").stdout
            assert there != read(entry)
            back = context.expect(0, "rewrite", "-t", "1", "-d", keys, "-", "-", stdin=there).stdout
            assert back == read(entry)

    yield "rewrite: an entry there and back", there_and_back

    def without_details():
        keys = context.recording("rng", "keys1", "2-fx.pickle")
        entry = context.entry("rng", 1)
        alone = context.expect(0, "rewrite", "--to", "0", entry, "-").stdout
        named = context.expect(0, "rewrite", "--to", "0", "--details", keys, entry, "-").stdout
        assert len(alone) == len(named) and alone != named

    yield "rewrite: names of static autotuners need the details", without_details

    def copies():
        for name, content, _ in SMALL_FILES:
            assert context.expect(0, "rewrite", "--to", "3", "-", "-", stdin=content).stdout == content, name

    yield "rewrite: a file without ordinals is copied", copies

    def refused():
        out = context.path("kept", b"what was here")
        context.refuse(3, "rewrite", "--to", "0", context.entry("twodev", 0), out, error=r"several_ordinals")
        assert read(out) == b"what was here"
        assert not [name for name in os.listdir(context.work) if name.startswith("kept.")]

    yield "rewrite: a refusal leaves OUT alone", refused

    def bad_details():
        entry = context.entry("rng", 1)
        context.refuse(2, "rewrite", "--to", "0", "-d", entry, entry, "-", error=r"no torch_key in here")
        context.refuse(2, "rewrite", "--to", "0", "-d", context.path("none"), entry, "-", error=r"No such file")

    yield "rewrite: details that are none", bad_details

    def bad_output():
        entry = context.entry("rng", 0)
        context.refuse(2, "rewrite", "--to", "0", entry, context.path("no/such/folder"), error=r"No such file")
        context.refuse(2, "rewrite", "--to", "0", entry, "/dev/full", error=r"/dev/full: No space left")
        context.refuse(2, "rewrite", "--to", "0", entry, context.work, error=r"directory")
        context.expect(0, "rewrite", "--to", "0", entry, "/dev/null")
        assert not os.path.isfile("/dev/null")

    yield "rewrite: OUT can't be written", bad_output

    def in_place():
        path = context.path("in-place", read(context.entry("rng", 1)))
        os.chmod(path, 0o600)
        context.expect(0, "rewrite", "--to", "0", path, path)
        assert context.json(0, "ordinals", "-J", path)["files"][0]["ordinals"] == [0]

    yield "rewrite: onto itself", in_place

    def closed_output():
        with open("/dev/full", "wb") as full:
            result = subprocess.run([context.program, "rewrite", "--to", "0", context.entry("rng", 1), "-"],
                                    stdout=full, stderr=subprocess.PIPE, env=context.environment(), check=False)
        assert result.returncode == 2 and b"No space left" in result.stderr, result

    yield "rewrite: standard output is full", closed_output


def bad_file_cases(context):
    bad = [("absent", lambda: context.path("absent"), r"No such file"),
           ("a directory", lambda: context.work, r"directory"),
           ("a path of 4096 bytes", lambda: "/" + "x/" * 2047 + "y", r"too long"),
           ("a name of 300 bytes", lambda: context.path("x" * 300), r"too long"),
           ("a loop of links", lambda: link_loop(context), r"symbolic links")]

    def bad_case(make, pattern):
        def case():
            path = make()
            for arguments in (("key", path), ("ordinals", path), ("rewrite", "--to", "0", path, "-")):
                context.refuse(2, *arguments, error=r"^rankshare: .*" + pattern)
        return case

    for name, make, pattern in bad:
        yield "bad file: " + name, bad_case(make, pattern)

    yield "bad file: endless", lambda: context.refuse(2, "ordinals", "/dev/zero", error=r"larger than 1 GiB")

    def no_permission():
        path = context.path("secret", b"secret")
        os.chmod(path, 0)
        options = {}
        if context.uid == 0:
            # Root may read everything, so somebody else runs a copy of the program that he can reach.
            copy = context.path("rankshare")
            shutil.copy(context.program, copy)
            os.chmod(context.work, 0o755)
            options = {"program": copy, "user": 65534, "group": 65534, "extra_groups": []}
            probe = subprocess.run([copy, "--version"], capture_output=True, check=False, user=65534)
            if probe.returncode != 0:
                raise Skip("nobody can't run programs here")
        context.refuse(2, "ordinals", path, error=r"secret: Permission denied", **options)

    yield "bad file: no permission", no_permission


def link_loop(context):
    path = context.path("loop")
    if not os.path.islink(path):
        os.symlink("loop", path)
    return path


def hostile_cases(context):
    def hostile(content):
        def case():
            path = context.path("hostile", content)
            for arguments in (("ordinals", path), ("key", path), ("rewrite", "--to", "5", path, "/dev/null")):
                result = context.call(*arguments)
                assert result.returncode in (0, 2, 3), (arguments, result)
                assert len(result.stderr.splitlines()) <= 1, result
        return case

    for name, content in HOSTILE:
        yield "hostile: " + name, hostile(content)

    def pipes():
        """Nobody need ever write to it; one that is written to is as good as a file."""
        path, entry = context.path("pipe"), read(context.entry("noinput", 1))
        os.mkfifo(path)
        for arguments in (("ordinals", path), ("key", path), ("rewrite", "--to", "1", path, "-"),
                          ("rewrite", "--to", "1", "--details", path, "-", "-")):
            context.refuse(2, *arguments, error="pipe that nobody writes to", stdin=entry)
        document = context.json(0, "ordinals", "--json", context.entry("noinput", 1))

        def slow():
            with open(path, "wb", buffering=0) as out:  # waits for the reader
                out.write(entry[:100])
                opened.set()
                out.write(entry[100:])
        for _ in range(3):
            # A writer stands ready before the reader comes, as behind /dev/fd of a shell.
            held = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            opened = threading.Event()
            writer = threading.Thread(target=slow, daemon=True)
            writer.start()
            assert opened.wait(60)
            result = context.json(0, "ordinals", "--json", path)
            os.close(held)
            writer.join(60)
            assert result["files"][0]["sites"] == document["files"][0]["sites"], result

    yield "hostile: pipes", pipes

    def truncated(path, step):
        def case():
            whole = read(path)
            for size in range(0, len(whole), max(1, len(whole) // step)):
                result = context.call("ordinals", "-", stdin=whole[:size])
                assert result.returncode in (0, 3), (size, result)
                if size > 100:
                    assert result.returncode == 3, "cut at %d of %d and still good" % (size, len(whole))
        return case

    yield "hostile: truncated details", truncated(context.recording("noinput", "keys1", "2-fx.pickle"), 60)
    yield "hostile: truncated entry", truncated(context.entry("noinput", 1), 60)

    def damaged(path, rounds):
        def case():
            chance = random.Random(20)
            whole = read(path)
            for _ in range(rounds):
                copy = bytearray(whole)
                for _ in range(chance.choice((1, 3, 20))):
                    copy[chance.randrange(len(copy))] = chance.randrange(256)
                context.call("rewrite", "--to", str(chance.randrange(128)), "-", "-", stdin=bytes(copy))
        return case

    yield "hostile: damaged details", damaged(context.recording("noinput", "keys1", "2-fx.pickle"), 80)
    yield "hostile: damaged entry", damaged(context.entry("noinput", 1), 80)
