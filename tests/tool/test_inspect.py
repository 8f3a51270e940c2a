# SPDX-License-Identifier: Apache-2.0
"""inspect: on the committed images, on what was made of them, and on what is none."""
import os
import shutil
import struct
import subprocess

from harness import Skip, read

IMAGES = "tests/data/images"


def image(name):
    return os.path.join(IMAGES, name)


def cases(context):
    for make in (image_cases, program_cases, bad_cases):
        yield from make(context)


def only(context, *arguments):
    files = context.json(0, "inspect", "--json", *arguments)
    assert files["schema"] == 1 and len(files["files"]) == 1
    return files["files"][0]


def image_cases(context):
    def cubin():
        file = only(context, image("extra.sm_90.cubin"))
        assert (file["kind"], file["size"], file["ordinals"]) == ("cubin", 9888, []), file
        (found,) = file["images"]
        assert (found["arch"], found["toolkit"], found["abi"], found["debug"]) == ("sm_90", "13.0", 8, False)
        assert found["kernels"] == [
            {"name": "spill", "registers": 32, "shared": 0, "stack": 400, "constants": 540, "code": 3584, "max_threads": 0},
            {"name": "scale", "registers": 14, "shared": 2048, "stack": 0, "constants": 544, "code": 768, "max_threads": 256}]
        text = context.expect(0, "inspect", image("extra.sm_90.cubin")).stdout.decode()
        assert "cubin sm_90, 9.9 kB, CUDA 13.0\n" in text and found["hash"] in text, text
        assert ["spill", "32", "0", "400", "540", "3,584"] in [line.split() for line in text.splitlines()], text

    yield "inspect: a cubin, in both forms", cubin

    def hashes():
        names = ("lines-one.sm_90.cubin", "lines-two.sm_90.cubin", "plain.sm_90.cubin")
        files = context.json(0, "inspect", "--json", *map(image, names))["files"]
        one, two, plain = (file["images"][0]["hash"] for file in files)
        assert one == two != plain

    yield "inspect: the hash is that of the code", hashes

    def fatbins():
        plain, lz4, zstd = (only(context, image(name))["images"] for name in ("plain.fatbin", "lz4.fatbin", "zstd.fatbin"))
        assert [found["packing"] for found in plain + lz4 + zstd] == ["none"] * 5 + ["lz4"] + ["zstd"] * 3
        for packed in (lz4, zstd):
            for a, b in zip(plain, packed, strict=True):
                assert b["understood"] and (a["kind"], a["arch"], a["kernels"], a.get("hash")) == (
                    b["kind"], b["arch"], b["kernels"], b.get("hash"))
                assert b["unpacked"] in (None, a["size"], a["size"] - 1), (a, b)  # PTX is padded where it is not packed
        assert [found["arch"] for found in plain] == ["sm_80", "sm_90a", "sm_90"]
        assert plain[0]["hash"] == only(context, image("plain.sm_80.cubin"))["images"][0]["hash"]
        assert plain[2]["kernels"] == [{"name": "scale"}] and plain[2]["ptx"] == "9.0"

    yield "inspect: fat binaries, packed or not, hold the same", fatbins

    def standard_input():
        direct = only(context, image("plain.fatbin"))
        piped = context.json(0, "inspect", "--json", "-", stdin=read(image("plain.fatbin")))["files"][0]
        assert piped == direct | {"path": "-"}

    yield "inspect: standard input", standard_input

    def device():
        def runs(capability, name):
            return [found["runs"] for found in only(context, "--device", capability, image(name))["images"]]

        assert runs("9.0", "plain.fatbin") == ["no", "yes", "yes"]
        assert runs("8.6", "plain.fatbin") == ["yes", "no", "no"]
        assert runs("10.3", "family.fatbin") == ["yes", "yes"]
        assert runs("12.0", "family.fatbin") == ["no", "no"]
        assert runs("8.7", "plain.sm_80.cubin") == ["unknown"]
        context.expect(0, "inspect", "--device=10.0", image("plain.sm_90.cubin"), out="runs on 10.0: no$")
        for nonsense in ("9", "9.", "sm_90", "", "9.0a", "9.10", "-9.0", " 9.0"):
            context.expect(1, "inspect", "--device", nonsense, image("plain.sm_90.cubin"), error="as in 9.0")

    yield "inspect: which device runs it", device

    def artifact():
        path = context.recording("dynamic", "keys1", "2-fx.pickle")
        file = only(context, path)
        assert (file["kind"], file["ordinals"], file["images"]) == ("fx_details", [1], [])
        context.expect(0, "inspect", path, out=r": fx_details, .* kB, ordinals 1$")

    yield "inspect: other artifacts", artifact


def program_cases(context):
    def made(source):
        """An object for the processor with this content in .nv_fatbin, as nvcc embeds it."""
        if not shutil.which("objcopy") or not shutil.which("cc"):
            raise Skip("no objcopy or cc")
        data, code, path = context.path("fatbins.bin", source), context.path("empty.c", b"int none;\n"), context.path("with.o")
        subprocess.run(["cc", "-c", "-o", path, code], check=True)
        subprocess.run(["objcopy", "--add-section", ".nv_fatbin=" + data, path], check=True)
        return path

    def programs():
        content = read(image("plain.fatbin")) + bytes(24) + read(image("zstd.fatbin"))
        path = made(content)
        file = only(context, path)
        assert file["kind"] == "program" and [found["fatbin"] for found in file["images"]] == [0, 0, 0, 1, 1, 1]
        for found in file["images"]:
            assert found["understood"]
            if found["packing"] == "none" and found["kind"] == "cubin":
                assert read(path)[found["offset"]:found["offset"] + 4] == b"\x7fELF"

    yield "inspect: the fat binaries of a program", programs

    def damaged():
        content = bytearray(read(image("plain.fatbin")))
        content[20:24] = b"\xff" * 4  # the first entry's size of its header
        context.refuse(2, "inspect", made(bytes(content)), error="a program with a damaged fat binary")
        context.refuse(2, "inspect", made(read(image("plain.fatbin"))[:-64]), error="a program with a damaged fat binary")

    yield "inspect: a program with a damaged fat binary", damaged


def bad_cases(context):
    def refuse(content, error):
        path = context.path("bad-image", content)
        context.refuse(2, "inspect", path, error=error)
        result = context.call("inspect", "--json", path, image("plain.sm_80.cubin"))
        assert result.returncode == 2 and b"plain.sm_80" in result.stdout, "the other file is still shown"

    def bad():
        cubin, fatbin = read(image("plain.sm_80.cubin")), read(image("plain.fatbin"))
        refuse(b"", "no GPU image, and no artifact of a cache")
        refuse(b"hello\n", "no GPU image, and no artifact of a cache")
        refuse(cubin[:-1], "a damaged or truncated image")
        refuse(fatbin[:-1], "a damaged or truncated image")
        refuse(cubin[:40], "neither a whole cubin nor")
        refuse(b"\x7fELF", "neither a whole cubin nor")
        refuse(struct.pack("<IIQQ", 0x466243b1, 1, 4096, 0), "a fat binary's wrapper")
        refuse(fatbin[:24] + b"\xff" * 8 + fatbin[32:], "a damaged fat binary")
        refuse(read(context.program)[:-1], "neither a whole cubin nor|a program without fat binaries")
        context.refuse(2, "inspect", context.program, error="a program without fat binaries")
        context.refuse(2, "inspect", context.path("not-there"), error="No such file")
        context.refuse(2, "inspect", context.work, error="Is a directory")
        context.expect(1, "inspect", error="which files")

    yield "inspect: bad files", bad

    def cut():
        for name in ("plain.sm_90a.cubin", "zstd.fatbin"):
            whole = read(image(name))
            for size in list(range(0, 100)) + list(range(100, len(whole), 97)):
                context.refuse(2, "inspect", context.path("cut-image", whole[:size]), error="rankshare: ")

    yield "inspect: images cut short", cut

    def escapes():
        ptx = b".version 8.4\n.target sm_90\n.entry $\x1b[31mred() { }\n.entry ok() { }\n"
        text = context.expect(0, "inspect", context.path("red.ptx", ptx)).stdout.decode()
        cubin = bytearray(read(image("plain.sm_80.cubin")))
        at = cubin.index(b"\0scale\0") + 1
        cubin[at:at + 5] = b"\x1b[31m"
        text += context.expect(0, "inspect", context.path("red.cubin", bytes(cubin))).stdout.decode()
        assert "ok" in text and "?[31m" in text and "\x1b" not in text, text

    yield "inspect: names that are escape sequences", escapes
