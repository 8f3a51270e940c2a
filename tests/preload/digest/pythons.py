# SPDX-License-Identifier: Apache-2.0
"""Finds the Pythons of this machine: PATH, the usual places, and RANKSHARE_TEST_PYTHONS (a list of
executables, separated by colons)."""
import glob
import json
import os
import re
import subprocess

PLACES = ["~/.pyenv/versions/*/bin/python3", "~/.pyenv/versions/2*/bin/python2", "/usr/bin/python3*",
          "/usr/local/bin/python3*", "/opt/*/bin/python3*", "~/.local/share/uv/python/*/bin/python3*",
          "~/miniconda3/bin/python3", "~/miniconda3/envs/*/bin/python3", "/opt/conda/envs/*/bin/python3"]
NAME = re.compile(r"python[23]?(\.\d+t?)?$")
ASK = """
import json, platform, sys
config = {"BUILT_IN": [n for n in sys.builtin_module_names if n in ("_sha256", "_sha2")]}
try:
    import sysconfig
    for name in ("LIBPL", "LIBRARY", "LDLIBRARY", "LIBDIR", "LIBS", "SYSLIBS", "INCLUDEPY"):
        config[name] = str(sysconfig.get_config_var(name) or "")
except Exception:
    pass
print(json.dumps([sys.executable, getattr(sys, "base_prefix", sys.prefix), list(sys.version_info[:3]),
                  platform.python_implementation(), config]))
"""


class Python:
    def __init__(self, executable, prefix, version, implementation, config):
        self.executable = executable
        self.prefix = prefix
        self.number = tuple(version)
        self.version = ".".join(map(str, version))
        self.implementation = implementation
        self.config = config

    @property
    def watched(self):
        """Whether the hook takes this Python's SHA-256; where not, it must leave it alone."""
        return self.implementation == "CPython" and self.number >= (3, 8)

    @property
    def built_in(self):
        """Whether its own hash modules are inside the executable or libpython."""
        return bool(self.config["BUILT_IN"])

    def library(self):
        """Its shared libpython, or None."""
        path = os.path.join(self.config.get("LIBDIR", ""), self.config.get("LDLIBRARY", ""))
        if path.endswith(".so") and os.path.exists(path):
            return path
        found = glob.glob("%s/*/libpython%d.%d.so.1.0" % ((os.path.dirname(path),) + self.number[:2]))
        return found[0] if found else None


def candidates():
    for path in filter(None, os.environ.get("RANKSHARE_TEST_PYTHONS", "").split(":")):
        yield path
    for directory in os.environ.get("PATH", "").split(":"):
        for path in sorted(glob.glob(directory + "/python*")):
            if NAME.match(os.path.basename(path)):
                yield path
    for place in PLACES:
        for path in sorted(glob.glob(os.path.expanduser(place))):
            if NAME.match(os.path.basename(path)):
                yield path


def find():
    found, seen = {}, set()
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    for path in candidates():
        if os.path.realpath(path) in seen or not os.access(path, os.X_OK):
            continue
        seen.add(os.path.realpath(path))
        try:
            answer = subprocess.run([path, "-c", ASK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                    timeout=20, env=environment).stdout
            python = Python(*json.loads(answer.decode()))
        except (OSError, ValueError, TypeError, subprocess.TimeoutExpired):
            continue
        found.setdefault((python.prefix, python.version), python)
    return sorted(found.values(), key=lambda p: (p.number, p.prefix))
