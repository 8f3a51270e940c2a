# SPDX-License-Identifier: Apache-2.0
"""warm: a recorded cache directory, what must not be taken, wrong usage."""
import os
import re
import shutil
import subprocess
import time

from harness import Skip

ONE = {"fx_entry": 1, "aot_entry": 1, "triton_group": 3, "best_config": 1, "bundle": 1}


def cases(context):
    def cache(name, device=0):
        target = context.path(name)
        shutil.copytree(context.recording("usertriton", "dev%d_inductor" % device), target, symlinks=True)
        return target

    def kinds(segment):
        counted = {}
        for row in context.json(0, "ls", "--json", "--segment", segment)["artifacts"]:
            assert row["warm"], row
            counted[row["kind"]] = counted.get(row["kind"], 0) + 1
        return counted

    def warmed():
        name, _ = context.segment("warmed", fill=False)
        directory = cache("warmed")
        context.expect(0, "warm", "--segment", name, directory,
                       out=r"^6 artifacts read in \(\d+\.\d kB\), 0 there already, 0 not for all ranks or not whole, 0 without room$")
        assert kinds(name) == ONE, kinds(name)
        context.expect(0, "warm", "--segment", name, directory + "//", out=r"^0 artifacts read in \(0 B\), 6 there already, ")
        assert kinds(name) == ONE, kinds(name)
        context.expect(0, "verify", "--segment", name, out=r"^7 artifacts whole, 0 damaged$")

    yield "warm: a directory, twice", warmed

    def nothing():
        name, path = context.segment("nothing", fill=False)
        context.refuse(2, "warm", "--segment", name, "/etc/passwd", error="/etc/passwd: Not a directory")
        context.refuse(2, "warm", "--segment", name, "/nowhere", error="/nowhere: No such file or directory")
        assert not os.path.exists(path)

    yield "warm: no directory", nothing

    def timings():
        """What Triton's own autotuner has measured."""
        name, _ = context.segment("timings", fill=False)
        folder = context.path("timings")
        path = os.path.join(folder, "triton", "0", "A" * 52, "kernel.autotune.json")
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write("{}")
        context.expect(0, "warm", "--segment", name, folder, out=r"^1 artifact read in")
        assert kinds(name) == {"best_config": 1}, kinds(name)

    yield "warm: Triton's own timings", timings

    def hidden():
        """Reading a directory in is no job of the user's."""
        name, _ = context.segment("hidden", fill=False)
        context.expect(0, "warm", "--segment", name, cache("hidden"), out=r"^6 artifacts read in")
        assert context.json(0, "stats", "--json", "--segment", name)["jobs"] == []

    yield "warm: is not shown among the jobs", hidden

    def bar():
        name, _ = context.segment("bar", fill=False)
        shown = context.on_terminal("warm", "--segment", name, cache("bar"))
        assert shown.endswith("[%s] 6 of 6\r\n" % ("#" * 40)) and shown.count("\r[") == 6, repr(shown)
        shown = context.on_terminal("verify", "--segment", name)
        assert shown.endswith("[%s] 7 of 7\r\n" % ("#" * 40)) and "] 3 of 7" in shown, repr(shown)

    yield "warm, verify: a bar on a terminal", bar

    def cleared():
        """What is left of a segment that is removed meanwhile is not damaged."""
        if not shutil.which("strace"):
            raise Skip("no strace")
        name, _ = context.segment("cleared", fill=False)
        context.expect(0, "warm", "--segment", name, cache("cleared"), out=r"^6 artifacts read in")
        slowly = ["strace", "-q", "-o", "/dev/null", "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=1500000:when=3"]
        verify = subprocess.Popen([*slowly, context.program, "verify", "--segment", name], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env=context.environment())
        time.sleep(0.5)
        context.expect(0, "clear", "--segment", name)
        said = verify.communicate(timeout=60)[0]
        assert verify.returncode == 2 and said == "the segment was removed while it was read\n", (verify.returncode, said)

    yield "verify: a segment that is removed meanwhile", cleared

    def inspected():
        """A key of ls, or its beginning, shows the files behind it."""
        name, _ = context.segment("inspected", fill=False)
        directory = cache("inspected")
        context.expect(0, "warm", "--segment", name, directory, out=r"^6 artifacts read in")
        rows = context.json(0, "ls", "--json", "--segment", name)["artifacts"]
        for row in rows:
            files = context.json(0, "inspect", "--json", "--segment", name, row["key"])["files"]
            assert len(files) == row["files"] and all(file["path"].startswith(row["kind"] + "/") for file in files), files
            cubins = [file for file in files if file["kind"] == "cubin"]
            if row["kind"] == "bundle":  # the entry holds what is large of its kernels
                assert len(cubins) >= 1, (row, files)
            else:
                assert len(cubins) == (row["kind"] == "triton_group"), (row, files)
            for cubin in cubins:
                assert cubin["images"][0]["kernels"], cubin
        text = context.expect(0, "inspect", "--segment", name, rows[0]["key"][:12].upper()).stdout
        assert text.decode().startswith(rows[0]["kind"] + "/"), text
        context.refuse(2, "inspect", "--segment", name, "0123456789", error="no artifact in the segment")
        context.refuse(2, "inspect", "--segment", "never-" + name, rows[0]["key"], error="never-" + name)

    yield "inspect: keys", inspected

    def kernels():
        """The same kernels, built in two directories: their machine code is stored once."""
        def objects(segment):
            text = context.expect(0, "ls", "--segment", segment).stdout.decode()
            return int(re.search(r"artifacts: \d+, (\d+) objects", text)[1])

        names = [context.segment("kernels%d" % device, fill=False)[0] for device in (0, 1)] + [
            context.segment("both", fill=False)[0]]
        for device in (0, 1):
            directory = context.path("kernels%d" % device)
            shutil.copytree(os.path.join(context.recording("usertriton", "dev%d_inductor" % device), "triton", str(device)),
                            os.path.join(directory, "triton", str(device)))
            for name in (names[device], names[2]):
                context.expect(0, "warm", "--segment", name, directory, out=r"^3 artifacts read in")
        alone, other, both = map(objects, names)
        assert alone == other, (alone, other)
        # group file and json are the same anyway; of the cubins, which differ, one of each is kept
        saved = alone + other - both
        assert saved >= 9, (alone, other, both)

    yield "warm: equal kernels of two directories", kernels

    def others():
        """Entries of another device, damaged ones, half a kernel."""
        name, _ = context.segment("others", fill=False)
        context.expect(0, "warm", "--segment", name, cache("other-device", 1), out=r"^4 artifacts read in .* 2 not for all ranks")
        assert kinds(name) == {"triton_group": 3, "best_config": 1}, kinds(name)
        directory = cache("damaged")
        for folder, _, names in os.walk(directory):
            for each in names:
                path = os.path.join(folder, each)
                if each.endswith(".cubin"):
                    os.unlink(path)
                elif "fxgraph" in folder:
                    with open(path, "r+b") as file:
                        file.truncate(1000)
        context.expect(0, "warm", "--segment", name, directory, out=r"^2 artifacts read in .* 4 not for all ranks or not whole")

    yield "warm: what is not taken", others

    def little():
        name, _ = context.segment("little", fill=False)
        context.expect(2, "warm", "--segment", name, cache("little"), env=context.environment(RANKSHARE_SIZE="0"),
                       out=r"^0 artifacts read in .* 6 without room$")

    yield "warm: no room", little

    def wrong():
        for arguments in (("warm",), ("warm", "a", "b"), ("warm", "--all", "a")):
            context.expect(1, *arguments, error=r"^rankshare warm: ")
        context.refuse(2, "warm", context.path("nowhere"), error="nowhere")

    yield "warm: wrong usage, no directory", wrong
