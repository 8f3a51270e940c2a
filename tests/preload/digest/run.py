#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the digest tests: one line per case, and at the end "N passed, N failed, N skipped".

    run.py [--long] [--build DIRECTORY] [--library LIBRANKSHARE]

Needs a C compiler (CC) and at least one CPython; the quick set takes less than a minute. BUILD is the
build directory of the tree, where the library is looked for and what is built here goes.
"""
import argparse
import concurrent.futures
import glob
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build  # noqa: E402
import pythons  # noqa: E402

CANARY = build.HERE + "/canary.py"
SHORT = ["constructor", "update", "new", "copy", "errors", "counters"]
CORE = ["constructor", "update", "new", "keywords", "copy", "hotloop", "threads", "errors", "types",
        "unrelated", "leaks", "facts", "digests", "counters"]
WHOLE = CORE + ["fork", "processes", "subinterpreters"]
REFUSED = ["constructor", "update", "new", "copy", "errors", "types", "unrelated"]
FLAGS = [("-I", ["-I"], {}), ("-S", ["-S"], {}), ("-E", ["-E"], {}), ("-X dev", ["-X", "dev"], {}),
         ("PYTHONMALLOC=debug", [], {"PYTHONMALLOC": "debug"})]


class Results:
    def __init__(self):
        self.lock = threading.Lock()
        self.count = {"ok": 0, "FAIL": 0, "skip": 0}

    def add(self, verdict, what, why=""):
        with self.lock:
            self.count[verdict] += 1
            print("%-4s %s%s" % (verdict, what, ": " + why if why else ""), flush=True)

    def check(self, what, right, why=""):
        self.add("ok" if right else "FAIL", what, "" if right else why)


class Suite:
    def __init__(self, options, results):
        self.results = results
        self.long = options.long
        self.builder = build.Builder(os.environ.get("CC", "cc"), options.build)
        self.hook = self.builder.hook()
        self.library = options.library
        self.jobs = []

    def start(self, command, on=True, preload=None, timeout=240, **more):
        """on: True, False (library loaded, switched off) or None (not loaded)."""
        environment = dict(os.environ)
        for name in ("LD_PRELOAD", "RANKSHARE", "PYTHONPATH", "PYTHONHOME", "PYTHONMALLOC"):
            environment.pop(name, None)
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if on is not None:
            environment["LD_PRELOAD"] = preload or self.hook
        if on:
            environment["RANKSHARE"] = "1"
        environment.update(more)
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
                                  env=environment)
        except subprocess.TimeoutExpired:
            return None, "no end after %d s" % timeout
        return done.returncode, done.stdout.decode(errors="replace")

    def canary(self, what, command, cases, **more):
        """Runs the canary and gives each of its cases a line."""
        status, output = self.start(command + cases, **more)
        verdicts = {}
        for line in output.splitlines():
            verdict, _, rest = line.partition(" ")
            name, _, why = rest.partition(": ")
            if verdict in self.results.count and name in cases:
                verdicts[name] = (verdict, why)
        for name in cases:
            verdict, why = verdicts.get(name, ("FAIL", "no verdict: " + output[-200:]))
            self.results.add(verdict, "%s, %s" % (what, name), why)
        self.results.check("%s, exit" % what, status == (any(v[0] == "FAIL" for v in verdicts.values())),
                           "status %s: %s" % (status, output[-300:]))

    # ---- on each Python

    def python(self, python):
        name = "%s %s" % (python.implementation, python.version)
        base = [python.executable, CANARY]
        if python.number < (3, 6):
            return self.untouched(name, python)
        if not python.watched:
            self.canary(name + " (refused)", base + ["--native"], REFUSED)
            return
        self.canary(name, base, WHOLE)
        self.canary(name + " fallback", base + ["--fallback"], CORE)
        self.canary(name + " off", base + ["--native"], SHORT[:-1], on=False)
        for flag, arguments, environment in FLAGS:
            self.canary("%s %s" % (name, flag), [python.executable] + arguments + [CANARY], SHORT, **environment)
            if self.long:
                self.canary("%s %s fallback" % (name, flag),
                            [python.executable] + arguments + [CANARY, "--fallback"], SHORT, **environment)
        self.identity(name, python)
        self.racing(name, python)

    def untouched(self, name, python):
        code = "import hashlib; print(hashlib.sha256(b'RSCANARY x').hexdigest())"
        plain, under = (self.start([python.executable, "-c", code], on=on) for on in (None, True))
        self.results.check(name + " (untouched)", plain == under, "%r %r" % (plain, under))

    def identity(self, name, python):
        for extra in ([], ["--fallback"]):
            plain, under = (self.start([python.executable, CANARY] + extra + ["identity"], on=on)[1]
                            for on in (None, True))
            self.results.check("%s%s, identity" % (name, "".join(" " + e[2:] for e in extra)),
                               plain == under and "ok identity" in plain, "%s\n%s" % (plain, under))

    def racing(self, name, python):
        code = ("import sys, threading\n"
                "wrong = []\nb = threading.Barrier(8)\n"
                "def f():\n    b.wait(); import hashlib; d = b'RSCANARY race'; h = hashlib.sha256(); h.update(d)\n"
                "    w = hashlib.sha256(b'canary: race').digest()\n"
                "    if not w == h.digest() == hashlib.sha256(d).digest(): wrong.append(1)\n"
                "t = [threading.Thread(target=f) for i in range(8)]\n"
                "[x.start() for x in t]; [x.join() for x in t]\nsys.exit(len(wrong))")
        starts = 60 if self.long else 5
        bad = [r for r in (self.start([python.executable, "-S", "-c", code]) for _ in range(starts)) if r[0]]
        self.results.check("%s, %d cold starts with 8 racing threads" % (name, starts), not bad, repr(bad[:1]))

    # ---- special builds

    def attempt(self, what, function, *arguments):
        """Something that cannot be built here is skipped, with the reason."""
        try:
            return function(*arguments)
        except build.Failed as e:
            self.results.add("skip", what, " ".join(str(e).split())[:200])

    def static(self, python):
        for name, options in (("hidden", ["-Wl,--exclude-libs,ALL"]), ("exported", [])):
            what = "CPython %s, own _hashlib with static libcrypto, %s" % (python.version, name)
            directory = self.attempt(what, self.builder.static_hash, python, name, *options)
            if directory is None:
                continue
            status, output = self.start([python.executable, "-c", "import _hashlib; print(_hashlib.built)"],
                                        PYTHONPATH=directory)
            self.results.check(what + ", it is that one", (status, output) == (0, "with libcrypto.a\n"), output)
            cases = [c for c in CORE if c not in ("keywords", "leaks")]
            self.canary(what, [python.executable, CANARY], cases, PYTHONPATH=directory)

    def refused(self, python):
        """What does not look as it should is left alone, and counted."""
        code = ("import sys, ctypes, _hashlib; l = ctypes.CDLL(None); h = _hashlib.openssl_sha256\n"
                "assert h(b'RSCANARY x').digest() == h(bytearray(b'RSCANARY x')).digest(), 'replaced'\n"
                "print(_hashlib.built, l.rs_test_counter(b'digest_refused'), l.rs_test_counter(b'digest_modules'))")
        for option in ("READ_ONLY", "ODD_FLAGS"):
            what = "CPython %s, _hashlib with %s" % (python.version, option)
            directory = self.attempt(what, self.builder.static_hash, python, option, "-D" + option)
            if directory is not None:
                status, output = self.start([python.executable, "-c", code], PYTHONPATH=directory)
                self.results.check(what + " is refused", (status, output) == (0, "with libcrypto.a 1 0\n"), output)
        what = "CPython %s, a second _hashlib in the process" % python.version
        directory = self.attempt(what, self.builder.static_hash, python, "second")
        if directory is None:
            return
        code = ("import _hashlib, sys, importlib.machinery as m, importlib.util as u, ctypes\n"
                "p = %r; s = u.spec_from_file_location('_hashlib', p, loader=m.ExtensionFileLoader('_hashlib', p))\n"
                "second = u.module_from_spec(s); s.loader.exec_module(second); d = b'RSCANARY x'\n"
                "print(_hashlib.openssl_sha256(d).digest() == second.openssl_sha256(b'canary: x').digest(),\n"
                "      second.openssl_sha256(d).digest() == _hashlib.openssl_sha256(bytearray(d)).digest(),\n"
                "      second.built, ctypes.CDLL(None).rs_test_counter(b'digest_refused'))") % (directory + "/_hashlib.so")
        status, output = self.start([python.executable, "-c", code])
        self.results.check(what + " is refused", (status, output) == (0, "True True with libcrypto.a 1\n"), output)

    def late(self, python):
        what = "CPython %s, late libpython" % python.version
        if python.library() is None:
            return self.results.add("skip", what, "it has no shared libpython")
        program = self.builder.path("embed")
        # Modules in files of their own need a global libpython.
        local = [("local", "--fallback")] if python.built_in else []
        for scope, extra in [("global", ""), ("global", "--fallback")] + local:
            code = ("import sys; sys.argv = ['canary', %r]; space = {'__name__': 'inside', '__file__': %r}\n"
                    "exec(open(%r).read(), space)\n"
                    "for n in %r: space['CASES'][n]()\nprint('round')"
                    % (extra, CANARY, CANARY, SHORT[:-1]))
            command, home = [program, python.library(), scope], {"PYTHONHOME": python.prefix}
            # Some Pythons crash in a second round by themselves (3.12.1).
            idle = self.start(command + ["3", "import hashlib"], on=None, **home)[0]
            rounds = 3 if idle == 0 else 1
            status, output = self.start(command + [str(rounds), code], **home)
            name = "%s, %s, %d rounds" % (what, (scope + " " + extra[2:]).strip(), rounds)
            self.results.check(name, status == 0 and output.count("round") == rounds,
                               "status %s: %s" % (status, output[-300:]))

    def hidden(self, python):
        what = "CPython %s with a hidden built-in table" % python.version
        program = self.attempt(what, self.builder.hidden, python)
        if program is None:
            return
        code = ("import sys\nif %r: sys.modules['_hashlib'] = None\n"
                "import hashlib, ctypes\n"
                "print(bool({'_sha256', '_sha2'} & set(sys.builtin_module_names)), hasattr(ctypes.CDLL(None), 'PyImport_Inittab'))\n"
                "sys.argv = ['canary', %r]; space = {'__name__': 'inside', '__file__': %r}\n"
                "exec(open(%r).read(), space)\nfor n in %r: space['CASES'][n]()\nprint('fine')")
        for extra in ("", "--fallback"):
            status, output = self.start([program, "-c", code % (extra, extra, CANARY, CANARY, SHORT[:-1])],
                                        PYTHONHOME=python.prefix)
            self.results.check((what + " " + extra[2:]).strip(), status == 0 and output == "True False\nfine\n", output[-300:])

    def psycopg2(self, python):
        what = "CPython %s, psycopg2-binary (bundles its own libcrypto)" % python.version
        directory = self.builder.path("psycopg2-" + python.version)
        if not os.path.isdir(directory):
            status, output = self.start([python.executable, "-m", "pip", "install", "-q", "--target", directory,
                                         "--only-binary", ":all:", "psycopg2-binary"], on=None)
            if status != 0:
                return self.results.add("skip", what, "pip cannot install it: " + output[-150:].strip())
        code = ("import psycopg2, hashlib, glob, os; from psycopg2.extensions import encrypt_password as e\n"
                "w = 'md5' + hashlib.md5(b'secretuser').hexdigest()\n"
                "assert all(e('secret', 'user', None, 'md5') == w for i in range(100))\n"
                "try: psycopg2.connect(host='127.0.0.1', port=1, sslmode='require')\n"
                "except psycopg2.OperationalError: pass\n"
                "h = hashlib.sha256(); h.update(b'RSCANARY p')\n"
                "assert h.hexdigest() == hashlib.sha256(b'canary: p').hexdigest()\n"
                "print(sum('libcrypto' in l and 'psycopg2' in l for l in open('/proc/self/maps')) > 0)")
        status, output = self.start([python.executable, "-c", code], PYTHONPATH=directory)
        self.results.check(what, (status, output) == (0, "True\n"), "status %s: %s" % (status, output[-300:]))

    # ---- dlsym itself

    def lookups(self):
        program = self.builder.scopes()
        for case in ("scopes", "errors", "threads"):
            plain, off, on = (self.start([program, self.builder.directory, case], on=on)
                              for on in (None, False, True))
            self.results.check("dlsym %s, library off" % case, plain == off and plain[0] == 0,
                               "%r\n%r" % (plain, off))
            self.results.check("dlsym %s, library on" % case, plain == on and plain[0] == 0, "%r\n%r" % (plain, on))
        plain = self.start([program, self.builder.directory, "threads"])[1]
        self.results.check("dlsym threads, no wrong answer", plain == "wrong answers: 0\n", plain)

    def structure(self):
        relocations = build.run(["readelf", "-rW", self.hook])
        self.results.check("no relocation against our own dlsym", " dlsym" not in relocations, relocations)
        symbols = build.run(["nm", "-D", "--defined-only", self.hook]).split("\n")
        exported = sorted(s.split()[-1] for s in symbols if s and "rs_test_" not in s)
        self.results.check("exports dlsym alone, without a version", exported == ["dlsym"], repr(exported))
        headers = build.run(["readelf", "-lW", self.hook])
        self.results.check("no executable stack", "GNU_STACK" in headers and "RWE" not in headers, headers)

    def recordings(self, python):
        what = "recorded details under the real library"
        if not os.path.exists(self.library):
            return self.results.add("skip", what, "no %s" % self.library)
        status, output = self.start([python.executable, build.HERE + "/recordings.py", build.ROOT + "/tests/data"],
                                    preload=self.library, on=None)
        self.results.check(what + ", without it", status == 1 and "differs" in output, output[-300:])
        segment = "digest-%d" % os.getpid()  # the user's own is none of a test's business
        status, output = self.start([python.executable, build.HERE + "/recordings.py", build.ROOT + "/tests/data"],
                                    preload=self.library, RANKSHARE_SEGMENT=segment)
        self.results.check(what, status == 0, output[-600:])
        made = glob.glob("/dev/shm/rankshare.*." + segment)
        self.results.check(what + ", one segment", len(made) == 1, repr(made))
        for path in made:
            os.remove(path)

    def run(self):
        found = pythons.find()
        watched = [p for p in found if p.watched]
        if not watched:
            self.results.add("skip", "the canary", "no CPython from 3.8 on was found")
        self.builder.embed()
        here = [p for p in watched if p.number == tuple(sys.version_info[:3])] or watched[-1:]
        jobs = [(self.structure,), (self.lookups,)] + [(self.python, p) for p in found]
        jobs += [(self.static, p) for p in (watched if self.long else here)]
        jobs += [(self.refused, p) for p in (watched if self.long else here)]
        jobs += [(self.late, p) for p in watched]
        jobs += [(self.hidden, p) for p in watched if p.built_in]
        jobs += [(self.psycopg2, p) for p in (watched if self.long else here)]
        jobs += [(self.recordings, p) for p in here]
        with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
            running = [pool.submit(*job) for job in jobs]
            for job, future in zip(jobs, running):
                if future.exception() is not None:
                    self.results.add("FAIL", job[0].__name__, repr(future.exception())[:600])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    directory = os.path.join(build.ROOT, os.environ.get("BUILD", "build"))
    parser.add_argument("--build", default=os.path.join(directory, "tests", "digest"))
    parser.add_argument("--library", default=os.path.join(directory, "librankshare.so"))
    results = Results()
    try:
        Suite(parser.parse_args(), results).run()
    except build.Failed as e:
        results.add("FAIL", "build", str(e))
    print("%(ok)d passed, %(FAIL)d failed, %(skip)d skipped" % results.count)
    return 1 if results.count["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
