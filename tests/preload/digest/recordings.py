# SPDX-License-Identifier: Apache-2.0
"""An ordinary Python that hashes the recorded key material of cuda:1, as torch does, and compares with
the directory names of the cuda:0 recording: recordings.py DIRECTORY. Exit status 1 when a name differs
(which it does without the library). Each case runs in a process of its own, as each had its own device."""
import base64
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import types

# `twodev` must be refused.
NOT_SHARED = {"twodev"}


def pretend(name, version):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__version__ = version


def name_of(kind, digest):
    return kind + base64.b32encode(digest)[:51].decode().lower()


def one(directory):
    pretend("torch", "2.11.0+cu130")
    pretend("triton", "3.6.0")
    names = set()
    for _, directories, _ in os.walk(directory + "/dev0_inductor"):
        names.update(directories)
    wrong = 0
    for file in sorted(os.listdir(directory + "/keys1")):
        with open(directory + "/keys1/" + file, "rb") as f:
            data = f.read()
        kind = "a" if "-aot" in file else "f"
        updated = hashlib.sha256()
        updated.update(data)
        for how, digest in (("constructor", hashlib.sha256(data).digest()), ("update", updated.digest())):
            if name_of(kind, digest) not in names:
                print("%s %s differs (%s)" % (os.path.basename(directory), file, how))
                wrong += 1
    return wrong


def main():
    if len(sys.argv) == 3:
        return min(one(sys.argv[2]), 1)
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        for archive in ("torch-2.11.0-h200-blocks.tar.xz", "torch-2.11.0-h200-cases.tar.xz"):
            with tarfile.open(os.path.join(sys.argv[1], archive)) as tar:
                tar.extractall(place)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = place + "/cache"
        for case in sorted(set(os.listdir(place)) - NOT_SHARED):
            wrong += subprocess.call([sys.executable, __file__, "one", os.path.join(place, case)])
    print("%d cases with other names" % wrong)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
