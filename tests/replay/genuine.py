# SPDX-License-Identifier: Apache-2.0
"""Pickles by CPython's own pickler, of the same object for different ordinals.

Stub classes carry the names of torch's; what the engine makes of the pickle for one ordinal must be,
byte for byte, what the pickler writes for the other: opcodes, lengths and frames.
"""
import io
import pickle
import random
import sys
import types

ORDINALS = (0, 3, 9, 10, 11, 99, 100, 127)


def stub(module, name):
    cls = type(name, (), {"__module__": module})
    if module not in sys.modules:
        sys.modules[module] = types.ModuleType(module)
    setattr(sys.modules[module], name, cls)
    return cls


class Device:
    """Pickles like torch.device: a call with the type and the index."""

    def __init__(self, index):
        self.index = index

    def __reduce__(self):
        return _device, ("cuda", self.index)


_device = stub("torch", "device")
Details = stub("torch._inductor.codecache", "FxGraphHashDetails")
AotEntry = stub("torch._functorch._aot_autograd.aot_autograd_result", "AOTAutogradResult")


def text(random_, ordinal, size):
    """Graph text of about SIZE characters; the same for each ordinal but for the ordinal."""
    lines = []
    while size > 0:
        filler = "".join(random_.choices("abcdefgh ijklm", k=random_.randrange(60)))
        lines.append(random_.choice((
            f"    {filler} = torch.ops.aten.full.default([8, 3], 1, device = device(type='cuda', index={ordinal}))\n",
            f"#   %{filler} : Tensor \"f32[4, 4][4, 1]cuda:{ordinal}\" = PlaceHolder\n",
            f"    select_{filler}(1, index=3); index={filler}\n")))
        size -= 80
    return "".join(lines)


def graph(seed, ordinal, fields, sizes):
    random_ = random.Random(seed)
    state = {}
    for i in range(fields):
        choice = random_.randrange(7)
        if choice == 0:
            value = Device(ordinal)
        elif choice == 1:
            value = text(random_, ordinal, random_.choice(sizes))
        elif choice == 2:
            value = {"device": Device(ordinal), "cc": 90, f"k{i}": (ordinal < 0, 3, 3.0)}
        elif choice == 3:
            value = tuple(random_.choices((None, True, 0, 1, 3, 11, 70000, "cuda", b"x" * 40), k=random_.randrange(9)))
        elif choice == 4:
            value = random_.randbytes(random_.choice((3, 200, 255, 256, 300, *sizes)))
            value = b"\x7f" + value
        elif choice == 5:
            value = [f"cuda:{ordinal}"] * random_.randrange(4) + [Device(ordinal)]
        else:
            value = frozenset(random_.choices(range(30), k=3))
        state[f"field_{i}"] = value
    return state


def exactly(size, ordinal):
    """Texts of SIZE - 2 to SIZE + 2 characters, each naming the ordinal once or twice."""
    token = f" cuda:{ordinal}"
    return [("x" * (size + more - 7) + token) * 1 for more in range(-2, 3)] + \
           ["x" * (size - 14) + token + token]


def short_and_long(ordinal):
    return {f"s{i}": s for i, s in enumerate(exactly(256, ordinal))}


def around_frames(ordinal):
    """Strings that cross 64 KiB, and frames that fill up at different objects."""
    state = {"device": Device(ordinal)}
    for i, s in enumerate(exactly(65536, ordinal)):
        state[f"bulk{i}"] = s
        state[f"between{i}"] = [Device(ordinal), (1, 2, 3, Device(ordinal)), {1: None}]
    for i in range(3000):
        state[f"fill{i}"] = (f"cuda:{ordinal}", i, None, (1, 2, 3, 4))
    return state


def small_frames(ordinal):
    """Next to nothing between two objects too large for frames."""
    big = ["y" * 65536 + f" cuda:{ordinal}"] * 2 + [b"z" * 70000]
    return {"a": [big[0], None, big[2], "y" * 65530 + f" cuda:{ordinal}"]}


def nested(ordinal):
    inner = pickle.dumps({"gm": Device(ordinal), "text": exactly(256, ordinal)}, 4)
    deeper = pickle.dumps({"inner": inner, "pad": b"p" * 250}, 3)
    return {"_serialized_original_gm": pickle.dumps({"d": deeper, "x": [Device(ordinal)] * 3}, 5),
            "small": pickle.dumps(Device(ordinal), 3), "torch_version": b"\x80\x04" + b"\x01" * 30}


def random_case(fields, sizes):
    return lambda ordinal, seed: graph(seed, ordinal, fields, sizes)


CASES = {
    "small": (random_case(12, (30, 240, 250, 260)), 40),
    "medium": (random_case(150, (100, 2000, 20000)), 4),
    "large": (random_case(400, (2000, 60000, 66000, 140000)), 1),
    "short and long": (lambda ordinal, _: short_and_long(ordinal), 1),
    "around frames": (lambda ordinal, _: around_frames(ordinal), 1),
    "small frames": (lambda ordinal, _: small_frames(ordinal), 1),
    "nested": (lambda ordinal, _: nested(ordinal), 1),
}


def dump(cls, state, protocol, fast):
    if fast:  # CPython's pickler counts frozensets as open nesting in this mode, and dies of many
        state = {k: tuple(sorted(v)) if isinstance(v, frozenset) else v for k, v in state.items()}
    obj = cls()
    obj.__dict__.update(state)
    out = io.BytesIO()
    pickler = pickle.Pickler(out, protocol)
    pickler.fast = fast
    pickler.dump(obj)
    return out.getvalue()


def check(engine, case):
    make, seeds = case
    path = engine.out.with_name("genuine")
    for seed in range(seeds):
        for cls, protocol, fast in ((Details, 4, True), (Details, 5, False), (AotEntry, 4, False),
                                    (AotEntry, 2, False), (AotEntry, 3, False)):
            dumps = {n: dump(cls, make(n, seed), protocol, fast) for n in ORDINALS}
            for old in ORDINALS[seed % 2::2]:
                path.write_bytes(dumps[old])
                for new in ORDINALS:
                    report, got = engine.rewrite(path, new)
                    if protocol == 2 and report["reason"] == "nested_pickle":
                        continue  # bytes are text there, and what is in it stays unknown
                    assert report["reason"] == "none", (seed, protocol, old, report)
                    assert got == dumps[new], (seed, cls.__name__, protocol, fast, old, new)
