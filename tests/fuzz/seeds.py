#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fuzzers' seeds from the recordings. Usage: seeds.py OUTPUT_DIRECTORY

Entries are far too long to mutate, so the seeds are genuine details, small pickles by CPython's own
pickler, short stretches of generated Python, and autotuning results. GPU images are short enough, some as torch left them.
"""
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "replay"))

import genuine
import oracle
from recordings import Recordings


def pickles(recordings):
    yield (recordings.root / "noinput/keys1/2-fx.pickle").read_bytes()
    yield (recordings.root / "noinput/keys1/1-aot.pickle").read_bytes()
    for name in ("small", "nested", "short and long"):
        make, _ = genuine.CASES[name]
        for seed in range(4):
            for cls, protocol in ((genuine.Details, 4), (genuine.AotEntry, 5), (genuine.AotEntry, 2)):
                yield genuine.dump(cls, make(3, seed), protocol, protocol == 4)
    yield small_entry()


def small_entry():
    """An FX entry with one kernel, whose names are right."""
    kernel = "\nimport triton\nDeviceProperties(type='cuda', index=3)\n"
    name = "c" + oracle.name51(kernel.strip().encode())
    source = (f"# AOT ID: ['0']\n# kernel path: /t/{name[1:3]}/{name}.py\n"
              f"k = async_compile.triton('k', '''{kernel}''', device_str='cuda')\n"
              "with torch.cuda._DeviceGuard(3):\n    stream3 = get_raw_stream(3)\n    k.run(stream=stream3)\n")
    graph = genuine.stub("torch._inductor.output_code", "CompiledFxGraph")
    state = {"cache_key": "c" + oracle.name51(source.strip().encode()), "source_code": source,
             "device_idxs": {3}, "filename": f"/t/{name[1:3]}/{name}.py"}
    return genuine.dump(graph, state, 4, False)


def texts(recordings):
    for case in ("rng", "cudagraph", "stream", "usertriton"):
        for path in recordings.sources(recordings.root / case, 1):
            text = path.read_text()
            yield text.encode()
            lines = [line for line in text.splitlines() if "1" in line and len(line) < 300]
            yield "\n".join(lines[:30]).encode()
    yield b"raw_stream3 = get_raw_stream(3)\nstream7 = 1\nx.run(stream=raw_stream3)\n"
    yield b"os.environ['TRITON_CACHE_DIR'] = '/c/triton/3'\nx = f(device='cuda:3', y=semaphores_cuda_3)\n"
    yield b"torch.cuda.default_generators[3]; use_mem_pool(a(1), device=3) cuda:90:32 w_cuda3\n"


def configs():
    plain = {"XBLOCK": 1024, "num_warps": 4, "num_stages": 1, "configs_hash": "0ff3", "found_by_coordesc": False,
             "time_taken_ms": 37, "triton_cache_hash": None}
    yield json.dumps(plain).encode()
    yield json.dumps(plain | {"extra_options": {"a": [1, -2.5e3, []], "b\"\\": {"configs_hash": "\u00e4"}}}, indent=1).encode()


def images(recordings):
    for path in sorted((pathlib.Path(__file__).resolve().parent.parent / "data/images").iterdir()):
        yield path.read_bytes() + b"\0" * (path.suffix == ".ptx")
    for suffix in ("cubin", "ptx"):
        for path in sorted(recordings.root.glob(f"*/dev1_inductor/triton/**/*.{suffix}"), key=lambda path: path.stat().st_size)[:2]:
            yield path.read_bytes() + b"\0" * (suffix == "ptx")


def manifests():
    """As shim/store/manifest.c writes them."""
    for names in ((b"a",), (b"k.cubin", b"k.json", b"sub/k.so"), tuple(b"%d" % i for i in range(27))):
        at = 88 + 64 * len(names)
        parts, tail = b"", b""
        for i, name in enumerate(names):
            parts += struct.pack("<6QI2H2I", i, 1, 2, 3, 4, 5, 100, 0o644, i % 2, 0, at + len(tail))
            tail += name + b"\0"
        yield struct.pack("<3Q32s2Q4I", 0x3174737667737372, 7, 3, b"key", 1, 2, 0, 9, len(names), at + len(tail)) + parts + tail


def recipes():
    """As shim/store/recipe.c writes them."""
    for runs in (((0, 8),), ((4, 8), (12, 4)), tuple((100 * i, 60) for i in range(40))):
        size = runs[-1][0] + runs[-1][1] + 5
        table = b"".join(struct.pack("<2IQ", *run, 7) for run in runs)
        yield struct.pack("<3Q2I", 0x3165706963657273, 1, 2, size, len(runs)) + table + b"x" * (size - sum(run[1] for run in runs))


def changes():
    """Rows of: where (2 bytes), which area and how long (1), what (8)."""
    for area in range(8):
        for what in (0, 1, 2**32 - 1, 2**64 - 1, 2**40):
            yield struct.pack("<HBQ", 24 * area, area << 2 | 3, what) * 3


def main():
    out = pathlib.Path(sys.argv[1])
    with Recordings() as recordings:
        for kind, seeds in (("pickle", pickles(recordings)), ("text", texts(recordings)), ("config", configs()),
                            ("image", images(recordings)), ("manifest", manifests()), ("recipe", recipes()), ("store", changes())):
            directory = out / kind
            directory.mkdir(parents=True, exist_ok=True)
            for i, seed in enumerate(seeds):
                (directory / f"seed{i:03}").write_bytes(seed)


if __name__ == "__main__":
    main()
