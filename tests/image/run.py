#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images made here and now by the CUDA toolkit, against what its own tools say of them.

    run.py [quick|long] [WORD...]       only cases whose name holds one of the words; quick: two architectures (nvcc takes a second)

Needs nvcc; the comparison with cuobjdump needs a cuobjdump (CUOBJDUMP, or one in the PATH, in the toolkit or in an environment
of make torch-env). What is missing is skipped. Environment: BUILD (default build), NVCC.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SOURCE = os.path.join(TOP, "tests", "image", "kernels.cu")
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
PROGRAM = os.path.join(BUILD, "rankshare")
NVCC = shutil.which(os.environ.get("NVCC", "nvcc")) or shutil.which("/usr/local/cuda/bin/nvcc")
# Those that any toolkit since 12.0 knows; newer ones as far as this one does.
QUICK = ("sm_80", "sm_90a")
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_120", "sm_120f")


class Skip(Exception):
    """The case can't be run here."""


def find_cuobjdump():
    given = os.environ.get("CUOBJDUMP")
    beside = os.path.join(os.path.dirname(NVCC or "/"), "cuobjdump")
    installed = sorted(glob.glob(os.path.expanduser("~/.cache/rankshare/torch-*/lib/python*/site-packages/triton/backends/nvidia/bin/cuobjdump")),
                       key=lambda path: [int(digits) for digits in re.findall(r"torch-(\d+)\.(\d+)", path)[0]])
    for path in (given, beside, shutil.which("cuobjdump"), *reversed(installed)):
        if path and os.access(path, os.X_OK):
            return path
    raise Skip("no cuobjdump")


def call(*arguments, cwd=None):
    return subprocess.run(arguments, check=True, capture_output=True, text=True, cwd=cwd).stdout


class Maker:
    def __init__(self, work, quick):
        self.work, self.quick = work, quick
        self.known = set(call(NVCC, "--list-gpu-code").split()) if NVCC else set()

    def arches(self):
        """nvcc lists those without a suffix; one with a suffix is known when the other is."""
        found = [arch for arch in (QUICK if self.quick else ARCHES) if arch.rstrip("af") in self.known]
        assert found, self.known
        return found

    def build(self, name, *options, source=SOURCE, cwd=None):
        path = os.path.join(self.work, name)
        subprocess.run([NVCC, *options, "-o", path, source], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=cwd)
        return path


def inspect(path):
    (file,) = json.loads(call(PROGRAM, "inspect", "--json", path))["files"]
    return file


def usage(cuobjdump, path):
    """Per kernel (registers, stack, shared, constants), and the architecture, as cuobjdump has them."""
    text = call(cuobjdump, "-res-usage", path)
    found = re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) .*?CONSTANT\[0\]:(\d+)", text)
    arch = re.search(r"sm=(\d+[a-z]?), toolkit=(\d+(?:\.\d+)?)", call(cuobjdump, "-elf", path))
    return {name: tuple(map(int, numbers)) for name, *numbers in found}, "sm_" + arch[1], arch[2]


def cases(make):
    cuobjdump = None

    def against_cuobjdump(options):
        def case():
            nonlocal cuobjdump
            cuobjdump = cuobjdump or find_cuobjdump()
            for arch in make.arches():
                path = make.build("usage.cubin", "-cubin", "-DEXTRA", "-arch=" + arch, *options)
                kernels, name, toolkit = usage(cuobjdump, path)
                (found,) = inspect(path)["images"]
                ours = {kernel["name"]: (kernel["registers"], kernel["stack"], kernel["shared"], kernel["constants"])
                        for kernel in found["kernels"]}
                if "-rdc=true" in options:  # cuobjdump leaves it to the linker, which knows all callees
                    kernels = {name: (of[0], ours[name][1], *of[2:]) for name, of in kernels.items()}
                assert len(ours) == 2 and ours == kernels, (arch, ours, kernels)
                assert (found["arch"], found["toolkit"]) == (name, toolkit), (arch, found["arch"], name, toolkit)
        return case

    yield "cuobjdump: kernels, architecture, toolkit", against_cuobjdump(())
    yield "cuobjdump: relocatable", against_cuobjdump(("-rdc=true",))
    yield "cuobjdump: with line numbers", against_cuobjdump(("-lineinfo",))
    yield "cuobjdump: with debug information", against_cuobjdump(("-G",))

    def whole_and_cut():
        """The end that the parser finds is the end of the file: of each image, and of no shorter one."""
        for arch in make.arches():
            for options in ((), ("-lineinfo",), ("-rdc=true",)):
                path = make.build("whole.cubin", "-cubin", "-arch=" + arch, *options)
                with open(path, "rb") as file:
                    content = file.read()
                (found,) = inspect(path)["images"]
                assert found["size"] == len(content), (arch, options)
                cut = os.path.join(make.work, "cut.cubin")
                with open(cut, "wb") as file:
                    file.write(content[:-1])
                assert subprocess.run([PROGRAM, "inspect", cut], capture_output=True, check=False).returncode == 2

    yield "size: the end of the file", whole_and_cut

    def directories():
        for arch in make.arches():
            for options in (("-lineinfo",), ("-G",)):
                hashes, contents = set(), set()
                for place in ("one", "another/deeper/place"):
                    where = os.path.join(make.work, place)
                    os.makedirs(where, exist_ok=True)
                    source = shutil.copy(SOURCE, where)
                    path = make.build("placed.cubin", "-cubin", "-arch=" + arch, *options, source=source, cwd=where)
                    hashes.add(inspect(path)["images"][0]["hash"])
                    with open(path, "rb") as file:
                        contents.add(file.read())
                assert len(contents) == 2 and len(hashes) == 1, (arch, options, len(contents), hashes)

    yield "hash: equal from two build directories", directories

    def different():
        builds = [(), ("-DFACTOR=4",), ("-DEXTRA",), ("-DWIDE",), ("-lineinfo",), ("-rdc=true",)]
        hashes = [inspect(make.build("other.cubin", "-cubin", "-arch=" + arch, *options))["images"][0]["hash"]
                  for arch in make.arches() for options in builds]
        alike = len(hashes) - len(set(hashes))
        # sm_100f without anything of the family's own is sm_100, byte for byte; so is sm_120f.
        families = sum(arch.endswith("f") for arch in make.arches())
        assert alike == families * len(builds), (alike, families)

    yield "hash: another kernel, architecture, limit of registers", different

    def registers():
        """The same kernel held to fewer registers."""
        free, held = (inspect(make.build("held.cubin", "-cubin", "-arch=sm_90", "-DWIDE", *options))["images"][0]
                      for options in ((), ("-maxrregcount=32",)))
        free_kernel, held_kernel = (next(kernel for kernel in found["kernels"] if kernel["name"] == "wide") for found in (free, held))
        assert free_kernel["registers"] > 32 >= held_kernel["registers"], (free_kernel, held_kernel)
        assert free["hash"] != held["hash"]

    yield "hash: fewer registers", registers

    def packings():
        codes = [word for arch in ("80", "90a") for word in ("-gencode", f"arch=compute_{arch},code=[sm_{arch},compute_{arch}]")]
        plain = inspect(make.build("plain.fatbin", "-fatbin", "-DEXTRA", *codes, "-no-compress"))["images"]
        assert sorted((found["arch"], found["kind"], found["packing"]) for found in plain) == [
            ("sm_80", "cubin", "none"), ("sm_80", "ptx", "none"), ("sm_90a", "cubin", "none"), ("sm_90a", "ptx", "none")]
        seen = set()
        for mode in ("default", "size", "speed", "balance"):
            packed = inspect(make.build("packed.fatbin", "-fatbin", "-DEXTRA", *codes, "--compress-mode=" + mode))["images"]
            for a, b in zip(plain, packed, strict=True):
                assert b["understood"] and (a["kind"], a["arch"], a["kernels"], a.get("hash")) == (
                    b["kind"], b["arch"], b["kernels"], b.get("hash")), (mode, a, b)
                seen.add(b["packing"])
        assert seen == {"none", "lz4", "zstd"}, seen

    yield "fatbin: every way of packing", packings

    def program():
        main = os.path.join(make.work, "main.cu")
        with open(main, "w", encoding="ascii") as file:
            file.write('#include "%s"\nint main() { scale<<<1, 1>>>(0, 1, 1); return 0; }\n' % SOURCE)
        for options in (("-arch=sm_80",), ("-arch=sm_90", "-rdc=true"), ("-arch=sm_90", "-c"), ("-arch=sm_80", "-rdc=true", "-c")):
            file = inspect(make.build("program", *options, source=main))
            names = {kernel["name"] for found in file["images"] for kernel in found["kernels"]}
            assert file["kind"] == "program" and names == {"scale"}, (options, names)

    yield "program: executables and objects", program


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    words = [word for word in sys.argv[1:] if word not in ("quick", "long")]
    with tempfile.TemporaryDirectory(prefix="rankshare-image-") as work:
        for name, case in cases(Maker(work, "long" not in sys.argv[1:])):
            if words and not any(word in name for word in words):
                continue
            outcome, text = "passed", ""
            try:
                if not NVCC:
                    raise Skip("no nvcc")
                case()
            except Skip as reason:
                outcome, text = "skipped", ": %s" % reason
            except (AssertionError, subprocess.CalledProcessError) as error:
                outcome, text = "failed", ": %s %s" % (error, getattr(error, "stderr", None) or "")
            counts[outcome] += 1
            print("%s %s%s" % (outcome, name, text), flush=True)
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
