# SPDX-License-Identifier: Apache-2.0
"""Plain Triton, without torch and without a device: processes that start at one moment compile the same kernels
to machine code.

    stampede.py --meeting FOLDER --report FILE
"""

import argparse
import json
import os
import time
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

compiled = []


@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0))


def make(kernel, signature):
    source = ASTSource(kernel, {**signature, "BLOCK": "constexpr"}, {"BLOCK": 256})
    image = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]
    assert image.startswith(b"\x7fELF"), image[:8]
    return image


def meet(folder):
    folder.mkdir(exist_ok=True)
    (folder / os.environ["RANK"]).touch()
    while len(list(folder.iterdir())) < int(os.environ["WORLD_SIZE"]):
        time.sleep(0.005)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--meeting", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True)
    options = parser.parse_args()
    triton.knobs.compilation.listener = lambda *, cache_hit, **_: compiled.append(not cache_hit)
    meet(options.meeting)
    images = [make(double, {"x_ptr": "*fp32", "n": "i32"}), make(total, {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"})]
    counters = dict.fromkeys(("fx_miss", "fx_hit", "aot_miss", "aot_hit", "asked", "bundled"), 0)
    report = {"pid": os.getpid(), "rank": int(os.environ["RANK"]), "sources": [], "graphs": [],
              "counters": {**counters, "compiled": sum(compiled)}, "results": [len(image) for image in images]}
    options.report.write_text(json.dumps(report))


if __name__ == "__main__":
    main()
