# SPDX-License-Identifier: Apache-2.0
"""Recorded torch artifacts for any device ordinal, by a route of its own.

The library under test walks pickles with an abstract machine. This module shares no code, no table
and no method with it: it unpickles for real, with stand-in classes and with integers that remember
which opcode made them, and then looks at the finished objects for the fields that hold an ordinal.
Text is rewritten by regular expressions, names are computed with hashlib. Tests compare both.

    Artifact(data)              a pickle (details or entry), its objects and sites
    rewrite(data, to, ...)      the same pickle for another ordinal
    rewrite_source(text, to)    generated Python for another ordinal
    torch_key_of(details)       torch_key(), as the details of a key hold it
"""
import ast
import base64
import functools
import hashlib
import io
import pickle
import pickletools
import re
import struct

# ---- names ---------------------------------------------------------------------------------------


def name51(data):
    """torch's spelling of a SHA-256: 51 characters of base32 in lower case."""
    return base64.b32encode(hashlib.sha256(data).digest()).decode()[:51].lower()


def code_name(text):
    """Name of a generated .py file, from its text."""
    return "c" + name51(text.strip().encode())


def autotuner_name(literal, torch_key):
    """Name of a static autotuner, from its kernel's literal in the wrapper (unstripped)."""
    return "c" + name51(literal.encode() + b"||" + torch_key)


# ---- text ----------------------------------------------------------------------------------------

# One group each: the ordinal's digits. `cuda:90:32` is an architecture.
_TOKENS = [
    r"(?<![A-Za-z0-9_])cuda:(\d+)(?![0-9A-Za-z_:])(?!:\d)",
    r"(?<![A-Za-z0-9_])cuda:(\d+)(?=:(?!\d))",
    r"(?:device|DeviceProperties)\(type='cuda', index=(\d+)(?!\d)",
    r"_DeviceGuard\((\d+)\)",
    r"\bset_device\((\d+)\)",
    r"\bget_raw_stream\((\d+)\)",
    r"\braw_stream(\d+)\b",
    r"\bdefault_generators\[(\d+)\]",
    r"/triton/(\d+)(?=')",
    r"\bsemaphores_cuda_(\d+)\b",
    r"\bdevice=(\d+)(?=\):)",
    r"\bBoxedDeviceIndex\(value=(\d+)\)",
    r"\bdefault_cuda_device_index: (\d+)",
]
# Until torch 2.11 `streamN` is the device's stream; later a bare one is the user's own.
_STREAM = r"\bstream(\d+)\b"
_DEVICE_STREAM = re.compile(r"(?<!raw_)\bstream\d+ = get_raw_stream\(")
_PATTERNS = [re.compile(token) for token in _TOKENS]


@functools.lru_cache(maxsize=1 << 15)  # one artifact is often rewritten to many ordinals
def text_sites(text):
    """(start, end) of each ordinal's digits in TEXT, in order."""
    patterns = list(_PATTERNS)
    if _DEVICE_STREAM.search(text):
        patterns.append(re.compile(_STREAM))
    return sorted({match.span(1) for pattern in patterns for match in pattern.finditer(text)})


def rewrite_text(text, to):
    """TEXT with every ordinal set to TO. Names are left alone."""
    out, at = [], 0
    for start, end in text_sites(text):
        out += [text[at:start], str(to)]
        at = end
    return "".join(out) + text[at:]


@functools.lru_cache(maxsize=64)
def kernel_literals(source):
    """(kernel's name, its literal) of a wrapper's async_compile.triton(...) calls. Up to torch 2.5 all kernels
    may have one name there."""
    literals = []
    for node in ast.walk(ast.parse(source)):
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                and node.func.attr == "triton" and len(node.args) >= 2
                and all(isinstance(arg, ast.Constant) for arg in node.args[:2])):
            literals.append((node.args[0].value, node.args[1].value))
    return literals


def kernel_names(source, to):
    """{old name: new name} of the kernel files of a wrapper that is rewritten to TO. Names that are not
    the hash of their text (templates) stay."""
    names = {}
    for _, literal in kernel_literals(source):
        names[code_name(literal)] = code_name(rewrite_text(literal, to))
    return names


def rename(text, names):
    """TEXT with file names replaced, and with them the two letters that name their directory."""
    if not names:
        return text
    pattern = re.compile(r"(?:(?<=/)([a-z2-7]{2})/)?\b(c[a-z2-7]{51})\b")

    def replace(match):
        directory, old = match.groups()
        new = names.get(old, old)
        if directory is None:
            return new
        return "%s/%s" % (new[1:3] if directory == old[1:3] else directory, new)

    return pattern.sub(replace, text)


def rewrite_source(text, to):
    """Generated Python (a wrapper or a kernel) as a rank on ordinal TO would have written it."""
    return rename(rewrite_text(text, to), kernel_names(text, to))


# ---- pickles -------------------------------------------------------------------------------------


class Site(int):
    """An integer that remembers the offset of the opcode that made it."""

    def __new__(cls, value, offset):
        self = super().__new__(cls, value)
        self.offset = offset
        return self


class StandIn:
    """Takes the place of every class that a pickle names: keeps arguments, state and items."""

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self.args, self.state, self.items = args, {}, []
        return self

    def __init__(self, *args, **kwargs):
        pass

    def __setstate__(self, state):
        self.state = state

    def __setitem__(self, key, value):
        self.items.append((key, value))

    def append(self, value):
        self.items.append(value)

    def extend(self, values):
        self.items.extend(values)

    def add(self, value):
        self.items.append(value)

    def __call__(self, *args, **kwargs):
        return StandIn(*args)

    @property
    def kind(self):
        return type(self).__name__

    def fields(self):
        """The instance's dictionary, however its state was pickled (plain, or with slots)."""
        merged = {}
        for part in self.state if isinstance(self.state, tuple) else (self.state,):
            if isinstance(part, dict):
                merged.update(part)
        return merged


class _Unpickler(pickle._Unpickler):  # the one in Python: its opcodes can be watched
    """Builds stand-ins; nothing of the pickle is imported or called."""

    dispatch = dict(pickle._Unpickler.dispatch)

    def __init__(self, data):
        self._stream = io.BytesIO(data)
        super().__init__(self._stream)
        self._classes = {}

    def find_class(self, module, name):
        key = (module, name)
        if key not in self._classes:
            self._classes[key] = type(name, (StandIn,), {"__module__": module})
        return self._classes[key]

    def persistent_load(self, pid):
        return StandIn(pid)

    def _offset(self):
        """Bytes of the pickle consumed so far."""
        frame = self._unframer.current_frame
        if frame is None:
            return self._stream.tell()
        return self._stream.tell() - len(frame.getbuffer()) + frame.tell()


def _watch(code):
    original = pickle._Unpickler.dispatch[code]

    def watched(self):
        offset = self._offset() - 1  # the opcode itself has been read
        original(self)
        value = self.stack[-1]
        if type(value) is int:
            self.stack[-1] = Site(value, offset)

    _Unpickler.dispatch[code] = watched


for _code in (pickle.BININT1, pickle.BININT2, pickle.BININT):
    _watch(_code[0])


def load(data):
    """The object that DATA pickles, made of stand-ins, dictionaries, lists, strings and sites."""
    return _Unpickler(data).load()


# {class: fields that hold an ordinal}. A field of a dictionary is found by its key alone.
_FIELDS = {
    "FxGraphHashDetails": ["default_cuda_device_index"],
    "AOTAutogradCacheDetails": ["default_cuda_device_index"],
    "BoxedDeviceIndex": ["value"],
    "TritonKernelArtifacts": ["device"],
    "ViewAndMutationMeta": ["graphsafe_rng_state_index"],
}


class Artifact:
    """A pickle, the objects in it, and the offsets of its integers that are device ordinals."""

    def __init__(self, data):
        self.data = data
        self.ops = list(pickletools.genops(data))
        self.root = load(data)
        self.sites = {}  # offset -> ordinal
        self.none_sites = 0
        self.objects = []  # every stand-in, in the order in which they are met
        self._seen = set()
        self._walk()

    def find(self, kind):
        return [item for item in self.objects if item.kind == kind]

    def _site(self, value):
        if isinstance(value, Site):
            self.sites[value.offset] = int(value)
        elif value is None:
            self.none_sites += 1

    def _walk(self):
        pending = [self.root]
        while pending:
            item = pending.pop()
            if id(item) in self._seen or isinstance(item, (str, bytes, int, float, type(None))):
                continue
            self._seen.add(id(item))
            if isinstance(item, dict):
                self._look_at_dict(item)
                pending += [*item.keys(), *item.values()]
            elif isinstance(item, (list, tuple, set, frozenset)):
                pending += list(item)
            elif isinstance(item, StandIn):
                self.objects.append(item)
                self._look_at(item)
                pending += [item.args, item.state, item.items]

    def _look_at_dict(self, item):
        # triton_meta and compile_meta: only Triton's own dictionaries have these keys together.
        if isinstance(item.get("device"), Site) and ("signature" in item or "constants" in item):
            self._site(item["device"])

    def _look_at(self, item):
        fields = item.fields()
        for name in _FIELDS.get(item.kind, ()):
            if name in fields:
                self._site(fields[name])
        if item.kind == "device" and type(item).__module__ == "torch":
            if len(item.args) == 2 and item.args[0] == "cuda":
                self._site(item.args[1])
        elif item.kind == "DeviceProperties" and item.args and item.args[0] == "cuda":
            self._site(item.args[1])
        elif item.kind == "CompiledFxGraph" and "device_idxs" in fields:
            self._look_at_set(fields["device_idxs"])

    def _look_at_set(self, indices):
        members = indices
        if isinstance(indices, StandIn):  # OrderedSet: its state is {'_dict': {index: None}}
            members = indices.fields().get("_dict", {})
            if not members and indices.args:
                members = indices.args[0]
        for index in members:
            self._site(index)

    def strings(self):
        """(opcode's name, text) of every string in the pickle, in order."""
        return [(op.name, arg) for op, arg, _ in self.ops if "UNICODE" in op.name]

    def ordinals(self):
        """Every ordinal that the pickle holds, typed or in text."""
        found = set(self.sites.values())
        for _, text in self.strings():
            found |= {int(text[start:end]) for start, end in text_sites(text)}
        return found


def torch_key_of(details):
    """torch_key(): field torch_version of the details that were hashed for a key."""
    return load(details).fields()["torch_version"]


# ---- writing pickles again -------------------------------------------------------------------------

_FRAME = 1 << 16  # CPython closes a frame of this size before it saves the next object
_BATCHES = ("SETITEMS", "APPENDS", "ADDITEMS")
# What never begins an object: it only works on what has been pushed.
_FOLLOW = {"PROTO", "FRAME", "STOP", "POP", "POP_MARK", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT",
           "STACK_GLOBAL", "REDUCE", "NEWOBJ", "NEWOBJ_EX", "BUILD", "SETITEM", "APPEND", "TUPLE1",
           "TUPLE2", "TUPLE3", "TUPLE", "FROZENSET", "BINPERSID", *_BATCHES}
_CLOSES_MARK = {"TUPLE", "FROZENSET", "POP_MARK", "LIST", "DICT", "OBJ", *_BATCHES}


def _begins_object(ops):
    """For each opcode, whether CPython's pickler starts to save an object there."""
    begins, marks = [], []
    for number, (op, _, _) in enumerate(ops):
        begins.append(op.name not in _FOLLOW)
        if op.name == "MARK":
            marks.append(number)
        elif op.name in _CLOSES_MARK:
            mark = marks.pop()
            begins[mark] = op.name not in _BATCHES  # a tuple's mark is its start, a batch's isn't
    return begins


def _int_op(value):
    return b"K" + bytes([value])


def _text_op(name, text):
    raw = text.encode("utf-8", "surrogatepass")
    if name == "UNICODE":
        return b"V" + text.encode("raw-unicode-escape") + b"\n"
    if name == "SHORT_BINUNICODE" and len(raw) < 256:
        return b"\x8c" + bytes([len(raw)]) + raw
    if name == "BINUNICODE" or name == "SHORT_BINUNICODE":
        return b"X" + struct.pack("<I", len(raw)) + raw
    return b"\x8d" + struct.pack("<Q", len(raw)) + raw


def _payload(op, code):
    """Bytes of a string's or bytes object's content."""
    header = {"BINUNICODE": 5, "BINBYTES": 5, "BINUNICODE8": 9, "BINBYTES8": 9, "BYTEARRAY8": 9}
    return len(code) - header.get(op.name, 2)


class _Framer:
    """Cuts a stream of opcodes into frames as CPython's C pickler does."""

    def __init__(self, framed):
        self.out, self.frame, self.framed = bytearray(), bytearray(), framed

    def close(self):
        if self.framed and len(self.frame) >= 4:
            self.out += b"\x95" + struct.pack("<Q", len(self.frame))
        self.out += self.frame
        self.frame.clear()

    def add(self, code, begins_object, payload):
        if payload >= _FRAME:  # long strings and bytes stand between frames
            self.close()
            self.out += code
            return
        if begins_object and len(self.frame) >= _FRAME:
            self.close()
        self.frame += code


def splice(artifact, integers, strings):
    """The pickle with other integers ({offset: value}) and other strings ({offset: text}). What stands
    after STOP stays."""
    data, ops = artifact.data, artifact.ops
    framer = _Framer(any(op.name == "FRAME" for op, _, _ in ops))
    stop = ops[-1][2] + 1
    ends = [at for _, _, at in ops[1:]] + [stop]

    for (op, arg, at), end, begins in zip(ops, ends, _begins_object(ops)):
        code = data[at:end]
        if at in integers:
            code = _int_op(integers[at])
        elif at in strings:
            code = _text_op(op.name, strings[at])
        if op.name == "PROTO":
            framer.out += code
        elif op.name != "FRAME":
            framer.add(code, begins, _payload(op, code) if isinstance(arg, (str, bytes)) else 0)
    framer.close()
    return bytes(framer.out + data[stop:])


def _autotuner_names(artifact, source, to, torch_key):
    """{old name: new name} of the static autotuners whose old name is the hash of their kernel."""
    names = {}
    literals = dict(kernel_literals(source))
    for tuner in artifact.find("StaticallyLaunchedAutotuner"):
        fields = tuner.fields()
        literal = literals.get(fields.get("kernel_name"))
        if literal is None:
            continue
        if autotuner_name(literal, torch_key) == fields["cache_key"]:
            names[fields["cache_key"]] = autotuner_name(rewrite_text(literal, to), torch_key)
    return names


def best_config_path(directory, kernel, torch_key):
    """Where torch 2.8 and later keep the winner of a kernel file, below a cache directory."""
    inner = hashlib.sha256((kernel + ".py:").encode()).hexdigest()
    name = hashlib.sha256(inner.encode() + torch_key).hexdigest()
    return "%s/%s/%s.best_config" % (directory, kernel[1:3], name)


_BEST_CONFIG = re.compile(r"(.*)/[a-z2-7]{2}/[0-9a-f]{64}\.best_config")


def _best_configs(artifact, kernels, torch_key):
    """{old path: new path} of the autotuner results whose old path is that of one of the KERNELS."""
    paths = {}
    for _, text in artifact.strings():
        match = _BEST_CONFIG.fullmatch(text)
        for old, new in kernels.items() if match else ():
            if best_config_path(match.group(1), old, torch_key) == text:
                paths[text] = best_config_path(match.group(1), new, torch_key)
    return paths


def rewrite(data, to, torch_key=None):
    """A pickle (details or an entry; bytes or an Artifact) as a rank on ordinal TO would have made it.
    Names follow: the wrapper's, its kernels' files, and with TORCH_KEY those of static autotuners and of
    autotuning results."""
    artifact = data if isinstance(data, Artifact) else Artifact(data)
    names, paths = {}, {}
    for graph in artifact.find("CompiledFxGraph"):
        fields = graph.fields()
        source = fields.get("source_code")
        if not source:
            continue
        if code_name(source) != fields["cache_key"]:
            raise ValueError("the wrapper's name is not the hash of its source")
        kernels = kernel_names(source, to)
        names.update(kernels)
        names[fields["cache_key"]] = code_name(rewrite_source(source, to))
        if torch_key is not None:
            names.update(_autotuner_names(artifact, source, to, torch_key))
            paths.update(_best_configs(artifact, kernels, torch_key))
    strings = {}
    for op, arg, at in artifact.ops:
        if "UNICODE" in op.name:
            text = paths.get(arg) or rename(rewrite_text(arg, to), names)
            if text != arg:
                strings[at] = text
    return splice(artifact, dict.fromkeys(artifact.sites, to), strings)
