# SPDX-License-Identifier: Apache-2.0
"""Builds what the digest tests need: the hook with the test rules behind it, and small programs."""
import glob
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
WARN = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-D_GNU_SOURCE"]


class Failed(Exception):
    pass


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise Failed("%s: %s" % (command[0], done.stdout.decode(errors="replace")[-800:]))
    return done.stdout.decode(errors="replace")


class Builder:
    def __init__(self, cc, directory):
        self.cc = cc
        self.directory = directory
        os.makedirs(directory, exist_ok=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def compile(self, output, *arguments):
        target = self.path(output)
        run([self.cc] + WARN + list(arguments) + ["-o", target])
        return target

    def hook(self):
        """shim/hook's own sources, with testrules.c in the place of the rest of the library."""
        sources = []
        for name in ("dlsym", "next", "musl", "python", "digest"):
            sources += glob.glob("%s/shim/hook/%s*.[cS]" % (ROOT, name))
        script = self.path("hook.map")
        with open(script, "w") as f:
            f.write("{ global: dlsym; rs_test_*; local: *; };\n")
        return self.compile(
            "libhook.so", "-shared", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec",
            "-fno-strict-aliasing", "-I" + ROOT + "/include", "-I" + ROOT + "/shim",
            "-Wl,-z,defs,-z,relro,-z,now,-z,initfirst,-z,nodelete,-Bsymbolic-functions",
            "-Wl,--version-script=" + script, *sources, ROOT + "/shim/base/arena.c",
            HERE + "/testrules.c")

    def scopes(self):
        """The program of the scope tests and its libraries."""
        plain = ["-fno-optimize-sibling-calls", "-fPIC"]
        here = ["-L" + self.directory, "-Wl,-rpath," + self.directory, "-Wl,--no-as-needed"]
        needs = {"one": [], "two": [], "private": [], "plugin": ["-lscope_private"]}
        for name, libraries in needs.items():
            self.compile("libscope_%s.so" % name, "-shared", "-DWHO=" + name, *plain,
                         HERE + "/scope.c", *here, *libraries)
        self.compile("libfake_init.so", "-shared", "-fPIC", "-Wl,-Bsymbolic", HERE + "/fakeinit.c")
        return self.compile("lookups", *plain, HERE + "/lookups.c", *here, "-lscope_one", "-lscope_two",
                            "-lpthread", "-ldl")

    def embed(self):
        return self.compile("embed", HERE + "/embed.c", "-ldl")

    def hidden(self, python):
        """A static Python that does not export its built-in table."""
        archive = os.path.join(python.config["LIBPL"], python.config["LIBRARY"])
        if not os.path.exists(archive):
            raise Failed("no %s" % python.config["LIBRARY"])
        script = self.path("hidden.map")
        with open(script, "w") as f:
            f.write("{ local: PyImport_Inittab; };\n")
        libraries = (python.config["LIBS"] + " " + python.config["SYSLIBS"]).split()
        return self.compile("hidden-python" + python.version, "-no-pie", HERE + "/hidden.c", "-rdynamic", archive,
                            "-Wl,--version-script=" + script, *libraries, "-lz", "-lexpat", "-lm")

    def static_hash(self, python, name, *options):
        """A _hashlib with libcrypto.a inside; the directory that it is in."""
        include = python.config["INCLUDEPY"]
        if not os.path.exists(include + "/Python.h"):
            raise Failed("no Python.h for this Python")
        directory = self.path("static-%s-%s" % (python.version, name))
        os.makedirs(directory, exist_ok=True)
        self.compile(directory + "/_hashlib.so", "-shared", "-fPIC", "-Wno-unused-function", "-I" + include, *options,
                     HERE + "/statichash.c", "-Wl,-Bsymbolic-functions,-z,relro,-z,now", "-l:libcrypto.a", "-ldl",
                     "-lpthread")
        return directory
