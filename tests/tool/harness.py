# SPDX-License-Identifier: Apache-2.0
"""What the cases share: running the program, checking what came out, recordings, segments."""
import json
import os
import pty
import re
import subprocess
import tarfile

DEADLINE = 60


class Skip(Exception):
    """The case can't be run here."""


class Context:
    def __init__(self, build, top, work):
        self.build, self.top, self.work = build, top, work
        self.program = os.path.join(build, "rankshare")
        self.fill_program = os.path.join(build, "tool-fill")
        self.library = os.path.join(build, "librankshare.so")
        self.uid = os.getuid()
        self.segments = []
        self._recordings = None
        self._empty = None

    def environment(self, **changes):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("RANKSHARE", "TORCHINDUCTOR", "TRITON", "LD_PRELOAD"))}
        kept.update(RANKSHARE_SEGMENT="tool-test-%d" % os.getpid())
        kept.update({name: value for name, value in changes.items() if value is not None})
        for name, value in changes.items():
            if value is None:
                kept.pop(name, None)
        return kept

    def call(self, *arguments, stdin=b"", env=None, program=None, **options):
        """Runs the program; standard output and error come back as bytes."""
        result = subprocess.run([program or self.program, *arguments], input=stdin, capture_output=True,
                                env=env or self.environment(), timeout=DEADLINE, check=False, **options)
        if result.returncode < 0:
            raise AssertionError("%s died of signal %d" % (arguments, -result.returncode))
        return result

    def expect(self, status, *arguments, out=None, error=None, **options):
        """Runs the program and checks its exit status, and patterns in its output. Any message must be one
        clear line."""
        result = self.call(*arguments, **options)
        text = result.stderr.decode("utf-8", "replace")
        if result.returncode != status:
            raise AssertionError("%s: status %d, not %d\n%s%s" % (
                arguments, result.returncode, status, result.stdout.decode("utf-8", "replace"), text))
        for pattern, found in ((out, result.stdout.decode("utf-8", "replace")), (error, text)):
            if pattern is not None and not re.search(pattern, found, re.M):
                raise AssertionError("%s: /%s/ isn't in:\n%s" % (arguments, pattern, found))
        binary = "rewrite" in arguments  # puts an artifact there
        assert "\033" not in text and (binary or b"\033" not in result.stdout), "escape sequences"
        return result

    def on_terminal(self, *arguments):
        """What the program says on a standard error that is a terminal."""
        ours, its = pty.openpty()
        process = subprocess.Popen([self.program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its,
                                   env=self.environment())
        os.close(its)
        said = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:  # nobody has the other end any more
                break
            if not more:
                break
            said += more
        os.close(ours)
        assert process.wait(DEADLINE) == 0
        return said.decode()

    def refuse(self, status, *arguments, error, **options):
        """Like expect, for bad input: one sentence on standard error that begins with the program's name."""
        result = self.expect(status, *arguments, error=error, **options)
        lines = result.stderr.decode("utf-8", "replace").splitlines()
        assert len(lines) == 1 and lines[0].startswith("rankshare: "), lines
        return result

    def json(self, status, *arguments, **options):
        return json.loads(self.expect(status, *arguments, **options).stdout)

    def path(self, name, content=None):
        """A file of the test's own."""
        path = os.path.join(self.work, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def recording(self, *parts):
        """A path in the unpacked recordings of the small cases."""
        if self._recordings is None:
            self._recordings = os.path.join(self.work, "recordings")
            archive = os.path.join(self.top, "tests", "data", "torch-2.11.0-h200-cases.tar.xz")
            with tarfile.open(archive) as tar:
                tar.extractall(self._recordings)
        return os.path.join(self._recordings, *parts)

    def entry(self, case, device, kind="fxgraph"):
        """The first FX (or AOT) entry of a recording."""
        for folder, _, names in sorted(os.walk(self.recording(case, "dev%d_inductor" % device, kind))):
            if names:
                return os.path.join(folder, sorted(names)[0])
        raise AssertionError("no entry in " + case)

    def wrapper(self, case, device):
        root = self.recording(case, "dev%d_inductor" % device)
        for folder, _, names in sorted(os.walk(root)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith(".py") and b"AOT ID" in read(path)[:20]:
                    return path
        raise AssertionError("no wrapper in " + case)

    def empty_library(self):
        """A shared object that does nothing."""
        if self._empty is None:
            self._empty = self.path("empty.so")
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-o", self._empty, "-x", "c", "/dev/null"],
                           check=True)
        return self._empty

    def segment(self, name, fill=True, how=None):
        """A segment of the test's own, removed at the end. HOW fill.c fills it. Returns its path."""
        full = "tool-test-%d-%s%d" % (os.getpid(), name, len(self.segments))
        path = "/dev/shm/rankshare.%d.%d.%s" % (self.uid, self.layout(), full)
        self.segments.append(path)
        if fill:
            subprocess.run([self.fill_program, full, *([how] if how else [])], check=True)
            assert os.path.exists(path), path
        return full, path

    def layout(self):
        return int(re.search(rb"layout (\d+)", self.call("--version").stdout).group(1))

    def close(self):
        for path in self.segments:
            if os.path.islink(path) or os.path.isfile(path):
                os.unlink(path)
            elif os.path.isdir(path):
                os.rmdir(path)


def read(path):
    with open(path, "rb") as file:
        return file.read()
