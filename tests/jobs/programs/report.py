# SPDX-License-Identifier: Apache-2.0
"""What one rank tells at its end: torch's own counters, and which sources it has in memory."""

import gc
import json
import os
import re
import sys
import types

# Places where generated text names a device. "cuda:90:32" and ttg.target = "cuda:90" are architectures.
ORDINAL = re.compile(
    rb"(?:(?<!target = \")cuda:|type='cuda', index=|_DeviceGuard\(|set_device\(|get_raw_stream\(|raw_stream"
    rb"|default_generators\[)(\d+)(?![\d:])")

compiled = {"compiled": 0, "loaded": 0}


def ordinals_in(data):
    """The device numbers that a text mentions."""
    return sorted({int(number) for number in ORDINAL.findall(data)})


def listen():
    """Counts what Triton compiles in this process, and what it finds."""
    import triton

    def note(*, cache_hit, **_):
        compiled["loaded" if cache_hit else "compiled"] += 1

    if hasattr(triton, "knobs"):  # before Triton 3.4 nobody can listen
        triton.knobs.compilation.listener = note


def torch_counters():
    from torch._dynamo.utils import counters

    inductor, aot = counters["inductor"], counters["aot_autograd"]
    return {
        "fx_hit": inductor["fxgraph_cache_hit"],
        "fx_miss": inductor["fxgraph_cache_miss"],
        "fx_bypass": inductor["fxgraph_cache_bypass"],
        "aot_hit": aot["autograd_cache_hit"],
        "aot_miss": aot["autograd_cache_miss"],
        "aot_bypass": aot["autograd_cache_bypass"],
        "asked": inductor["async_compile_cache_miss"],
        "bundled": inductor["async_compile_cache_hit"],
        **compiled,
    }


def _strings(thing):
    """(where, string) for the strings that one object holds directly."""
    kind = type(thing)  # isinstance would ask the object, and lazy ones answer with warnings
    if issubclass(kind, dict):
        for key, value in list(thing.items()):
            for part in (key, value):
                if isinstance(part, str):
                    yield f"dict[{key if isinstance(key, str) else type(key).__name__}]", part
    elif issubclass(kind, (list, tuple, set)):
        for part in list(thing):
            if isinstance(part, str):
                yield kind.__name__, part
    elif kind is types.FunctionType:
        yield "code", thing.__code__.co_filename
    else:
        for name in getattr(kind, "__slots__", ()):
            part = getattr(thing, name, None) if isinstance(name, str) else None
            if isinstance(part, str):
                yield f"{kind.__name__}.{name}", part


def sources_in_memory(root):
    """path -> places that hold it, for every generated source of the cache directory."""
    found = {}
    for thing in gc.get_objects():
        try:
            for where, text in _strings(thing):
                if text.startswith(root) and text.endswith(".py"):
                    found.setdefault(text, set()).add(where[:80])
        except Exception:  # a lazy object that does not want to be looked at
            continue
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.startswith(root):
            found.setdefault(path, set()).add(f"module {name}")
    return found


def code_of(source):
    """What of a graph's source decides what it does: not where its kernels' files lie, nor which graph of its process
    it was, for threads that compile at the same time are not always in one order."""
    lines = (line for line in source.splitlines() if not line.startswith(("# kernel path: ", "# AOT ID: ")))
    return "\n".join(lines).strip()


def graph_texts():
    """The source of every compiled graph in memory, its ordinals, and the file it says it is."""
    try:
        from torch._inductor.output_code import CompiledFxGraph
    except ImportError:  # torch 2.5 and earlier
        from torch._inductor.codecache import CompiledFxGraph
    graphs = [thing for thing in gc.get_objects() if type(thing) is CompiledFxGraph]
    return [{"key": g.cache_key, "code": code_of(g.source_code or ""),
             "ordinals": ordinals_in((g.source_code or "").encode()),
             "device_idxs": sorted(i for i in g.device_idxs if i is not None)} for g in graphs]


def autotuners():
    """The device of every kernel in memory, in each of the places that hold it."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    found = []
    for tuner in (thing for thing in gc.get_objects() if type(thing) is CachingAutotuner):
        devices = {tuner.triton_meta.get("device"), getattr(tuner.device_props, "index", None)}
        devices |= {r.compile_meta.get("device") for r in getattr(tuner, "compile_results", [])}
        # Some versions keep the DeviceProperties here, others the bare number.
        devices = {getattr(device, "index", device) for device in devices}
        found.append({"path": tuner.filename, "devices": sorted(d for d in devices if d is not None)})
    return found


def write(path, **facts):
    root = os.environ.get("TORCHINDUCTOR_CACHE_DIR", "")
    sources = []
    for source, places in sorted(sources_in_memory(root).items()) if root else []:
        try:
            with open(source, "rb") as file:
                ordinals = ordinals_in(file.read())
        except OSError:
            ordinals = None  # named in memory, not on disk
        sources.append({"path": source, "ordinals": ordinals, "places": sorted(places)})
    report = {"pid": os.getpid(), "rank": int(os.environ.get("RANK", "0")), **facts,
              "counters": torch_counters(), "sources": sources, "graphs": graph_texts()}
    if report.get("gpu"):
        report["kernels"] = autotuners()
    with open(path + ".part", "w") as file:
        json.dump(report, file, indent=1)
    os.replace(path + ".part", path)
