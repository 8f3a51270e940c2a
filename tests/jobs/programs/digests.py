# SPDX-License-Identifier: Apache-2.0
"""Prints what Python's hashes say of the files that matter to caches: torch, Triton, standard library.

    digests.py OUT [--every N]

Caches are keyed by such digests (torch_key is one), so none of them may ever change.
"""

import argparse
import hashlib
import json
import os
import sysconfig


def files_of(folder):
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in ("__pycache__", "site-packages"))
        for name in sorted(names):
            if os.path.isfile(os.path.join(path, name)):
                yield os.path.join(path, name)


def digest(path, how):
    """One file in one of the ways in which programs hash."""
    with open(path, "rb") as file:
        data = file.read()
    if how == 0:
        return hashlib.sha256(data).hexdigest()
    if how == 1:
        hasher = hashlib.sha256()
        hasher.update(data)
        return hasher.hexdigest()
    return hashlib.blake2b(data).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--every", type=int, default=1, help="only each Nth file; large ones too")
    options = parser.parse_args()
    import torch
    import triton
    from torch._inductor.codecache import torch_key

    folders = [sysconfig.get_paths()["stdlib"], os.path.dirname(torch.__file__),
               os.path.dirname(triton.__file__)]
    paths = [path for folder in folders for path in files_of(folder)]
    if options.every > 1:
        paths = [path for path in paths[::options.every] if os.path.getsize(path) < 1 << 24]
    result = {path: digest(path, number % 3) for number, path in enumerate(paths)}
    result["torch_key"] = torch_key().hex()
    with open(options.out, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
