# SPDX-License-Identifier: Apache-2.0
"""doctor: what stands against sharing, and a Python under the library."""
import os
import shutil
import subprocess
import sys

from harness import Skip


def cases(context):
    library = context.empty_library()
    doctor = ("doctor", "--library", library)

    def well():
        context.expect(0, *doctor, out=r"^Nothing stands against sharing here")

    yield "doctor: nothing wrong", well

    wrong = [({"RANKSHARE_WAIT": "soon"}, r"^WRONG  RANKSHARE_WAIT=soon makes no sense; 300 is used"),
             ({"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}, r"^WRONG  TORCHINDUCTOR_FORCE_DISABLE_CACHES=1: "),
             ({"TORCH_COMPILE_FORCE_DISABLE_CACHES": "1"}, r"^WRONG  TORCH_COMPILE_FORCE_DISABLE_CACHES=1: "),
             ({"TORCH_CACHING_PRECOMPILE": "1"}, r"^WRONG  TORCH_CACHING_PRECOMPILE=1: AOTAutograd entries "),
             ({"TORCHINDUCTOR_FX_GRAPH_CACHE": "0"}, r"^WRONG  TORCHINDUCTOR_FX_GRAPH_CACHE=0: "),
             ({"TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1"}, r"^WRONG  TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE=1: ")]

    wrong += [({"RANKSHARE": "yes"}, r"^WRONG  RANKSHARE=yes makes no sense; 0 is used"),
              ({"RANKSHARE_WAIT": "-1"}, r"^WRONG  RANKSHARE_WAIT=-1 makes no sense; 300 is used"),
              ({"RANKSHARE_READS": "disk"}, r"^WRONG  RANKSHARE_READS=disk makes no sense; auto is used"),
              ({"RANKSHARE_SIZE": "much"}, r"^WRONG  RANKSHARE_SIZE=much makes no sense; the default is used"),
              ({"RANKSHARE_WAIT": "1e9"}, r"^WRONG  RANKSHARE_WAIT=1e9 makes no sense; 300 is used"),
              ({"RANKSHARE_SEGMENT": "a/b"}, r"^WRONG  RANKSHARE_SEGMENT=a/b makes no sense; the default is used"),
              ({"RANKSHARE_SEGMENT": "n" * 96}, r"^WRONG  RANKSHARE_SEGMENT=n{60}... \(96 bytes\) makes no sense"),
              ({"RANKSHARE_LOG": "x" * 5000}, r"^WRONG  RANKSHARE_LOG=x{60}\.\.\. \(5000 bytes\) makes no sense; the default is used$"),
              ({"RANKSHARE_ROOTS": ":".join("/r%d" % i for i in range(10000))}, r"^WRONG  RANKSHARE_ROOTS=/r0:.* bytes\) makes no sense"),
              ({"RANKSHARE_JOB": "j" * 10240}, r"^WRONG  RANKSHARE_JOB=j{60}\.\.\. \(10240 bytes\) makes no sense"),
              ({"RANKSHARE_WAIT": "\udcff\33[1m"}, r"^WRONG  RANKSHARE_WAIT=\\xff\\x1b\[1m makes no sense")]

    wrong += [({"LD_PRELOAD": "/nowhere/librankshare.so"}, r"^WRONG  LD_PRELOAD: /nowhere/librankshare.so is not there"),
              ({"LD_PRELOAD": "/nowhere/x.so /etc/librankshare.so"}, r"^WRONG  LD_PRELOAD: /etc/librankshare.so is not there")]

    def wrong_case(changes, pattern):
        return lambda: context.expect(4, *doctor, out=pattern, env=context.environment(**changes))

    for changes, pattern in wrong:
        yield "doctor: " + ascii(" ".join("=".join(pair)[:60] for pair in changes.items())), wrong_case(changes, pattern)

    fifo = context.path("doctor-fifo")
    odd = [({"RANKSHARE_ROOTS": "::cache:"}, r"^note   RANKSHARE_ROOTS: cache is relative"),
           ({"RANKSHARE_ROOTS": "/tmp:/nowhere/at/all"}, r"^note   RANKSHARE_ROOTS: /nowhere/at/all is no directory"),
           ({"RANKSHARE_JOB": "j" * 200}, r"^note   RANKSHARE_JOB: the statistics keep the first 95 of 200 bytes"),
           ({"RANKSHARE_LOG": "/nowhere/log"}, r"^note   RANKSHARE_LOG=/nowhere/log: nothing will be logged: No such"),
           ({"RANKSHARE_LOG": "/dev/null"}, r"^note   RANKSHARE_LOG=/dev/null: .* neither a file nor a directory"),
           ({"RANKSHARE_SIZE": "0"}, r"^note   RANKSHARE_SIZE=0: no artifacts are kept"),
           ({"RANKSHARE_SIZE": "5G"}, r"^note   RANKSHARE_SIZE: no more than 4G are used"),
           ({"RANKSHARE_SIZE": "1M"}, r"^note   RANKSHARE_SIZE: in less than 16M few artifacts have room"),
           ({"RANKSHARE_DIR": "/nowhere/at/all"}, r"^note   RANKSHARE_DIR=/nowhere/at/all: nothing will be kept there: No such"),
           ({"RANKSHARE_DIR": "/tmp"}, r"^note   RANKSHARE_DIR=/tmp: nothing will be kept there: others may write there"),
           ({"RANKSHARE_DIR": "/etc/passwd"}, r"^note   RANKSHARE_DIR=/etc/passwd: nothing will be kept there: it is no directory"),
           ({"RANKSHARE_LOG": fifo}, r"^note   RANKSHARE_LOG=.*: .* neither a file nor a directory")]

    def odd_case(changes, pattern):
        def run():
            if not os.path.exists(fifo):
                os.mkfifo(fifo)
            result = context.expect(0, *doctor, out=pattern, env=context.environment(**changes))
            sentences = [line for line in result.stdout.splitlines() if next(iter(changes)).encode() in line]
            assert len(sentences) == 1 and b"every RANKSHARE_ variable" not in result.stdout, result.stdout
        return run

    for changes, pattern in odd:
        yield "doctor: an odd " + "=".join(next(iter(changes.items())))[:40], odd_case(changes, pattern)

    def fine():
        changes = dict(RANKSHARE="1", RANKSHARE_WAIT="0", RANKSHARE_ROOTS="/tmp:/usr", RANKSHARE_LOG=context.path("doctor-log"),
                       RANKSHARE_JOB="name")
        context.expect(0, *doctor, out=r"^ok     options: every RANKSHARE_ variable is understood", env=context.environment(**changes))

    yield "doctor: options that make sense", fine

    def notes():
        context.expect(0, *doctor, out=r"^note   RANKSHARE_WAITS is no option",
                       env=context.environment(RANKSHARE_WAITS="1", TORCHINDUCTOR_FX_GRAPH_CACHE="1"))

    yield "doctor: an option that there isn't", notes

    def disk_case(path, pattern):
        return lambda: context.expect(0, *doctor, out=pattern, env=context.environment(TORCHINDUCTOR_CACHE_DIR=path))

    yield "doctor: a cache on this machine's own disk", disk_case(
        "/dev/shm", r"^ok     TORCHINDUCTOR_CACHE_DIR is on tmpfs: each rank reads the files$")
    yield "doctor: a cache on a file system that is not known", disk_case(
        "/proc", r"^ok     TORCHINDUCTOR_CACHE_DIR is on a file system of type 0x9fa0: each artifact is read once for all ranks")

    def read_only():
        folder = context.path("read-only")
        os.mkdir(folder)
        script = 'mount -t tmpfs -o ro nothing "$1" && shift && exec "$@"'
        inside = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", folder)
        if subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            raise Skip("no mount namespace")
        place = context.path("place")
        closed = f"TORCHINDUCTOR_CACHE_DIR={folder}/: nothing can be written there (Read-only file system)"
        for more, said in (({"RANKSHARE_DIR": place}, f"ok     {closed}; Python programs work in {place}/cache-"),
                           ({"RANKSHARE_DIR": place, "RANKSHARE_REDIRECT": "0"}, f"note   {closed}, and PyTorch fails"),
                           ({"RANKSHARE_DIR": "/proc/nothing/x"}, f"note   {closed}, and PyTorch fails")):
            result = subprocess.run([*inside, context.program, *doctor], stdout=subprocess.PIPE, check=False, text=True,
                                    env=context.environment(TORCHINDUCTOR_CACHE_DIR=folder + "/", **more))
            assert result.returncode == 0 and said in result.stdout, (said, result)

    yield "doctor: a cache that is read-only", read_only

    def no_library():
        context.expect(4, "doctor", "--library", context.path("no.so"), out=r"^WRONG  library: none")
        context.expect(4, "doctor", "--library", context.path("text.so", b"text"), out=r"^WRONG  library: .* no shared")

    yield "doctor: no library", no_library

    def bad_segment():
        name, path = context.segment("doctor")
        with open(path, "r+b") as file:
            file.write(b"nonsense")
        context.expect(4, *doctor, "--segment", name, out=r"^WRONG  segment: ")

    yield "doctor: a damaged segment", bad_segment

    def blind():
        """A library that does nothing: the keys come out native, and doctor says so."""
        result = context.expect(4, *doctor, "--python", sys.executable, out=r"^WRONG  constructor: .* as it is")
        assert b"left no trace" in result.stdout, result.stdout

    yield "doctor: a library that sees nothing", blind

    def no_python():
        for python in ("/bin/true", "/nonexistent/python"):
            context.expect(4, *doctor, "--python", python, out=r"does not run a Python script")

    yield "doctor: what is no Python", no_python

    def setuid():
        if context.uid != 0:
            raise Skip("needs root")
        python = context.path("setuid-python")
        shutil.copy("/bin/true", python)
        os.chmod(python, 0o4755)
        context.expect(4, *doctor, "--python", python, out=r"^WRONG  .*set-user-ID")

    yield "doctor: a setuid Python", setuid

    def real():
        if not os.path.exists(context.library):
            raise Skip("librankshare.so isn't built")
        before = set(os.listdir("/dev/shm"))
        result = context.expect(0, "doctor", "--library", context.library, "--python", sys.executable,
                                out=r"^Sharing can work with")
        text = result.stdout.decode()
        for road in ("constructor", "update", "new"):
            assert "ok     %s: a key on cuda:1 is hashed in canonical form" % road in text, text
        left = {name for name in set(os.listdir("/dev/shm")) - before if ".doctor" in name}
        assert not left, left

    yield "doctor: a Python under the library", real
