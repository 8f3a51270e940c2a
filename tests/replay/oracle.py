# SPDX-License-Identifier: Apache-2.0
"""What a rewrite may change, told by pickletools alone.

Knows nothing of the engine's tables: two pickles are laid side by side, opcode by opcode, and every
difference must be an integer that was the old ordinal and is the new one, a text that differs in such
numbers and in the names of generated files, or the same in a pickle inside a bytes object.
"""
import base64
import hashlib
import pickletools
import re

NAMES = {
    "BINUNICODE": "str", "SHORT_BINUNICODE": "str", "BINUNICODE8": "str",
    "BINBYTES": "bytes", "SHORT_BINBYTES": "bytes", "BINBYTES8": "bytes",
}
WORD = re.compile(r"\d+|[^\W\d]+|\W", re.ASCII)
CODE_NAME = re.compile(r"(?<![A-Za-z0-9_])c[a-z2-7]{51}(?![A-Za-z0-9_])")
DIRECTORY = re.compile(r"(?<![A-Za-z0-9_])([a-z2-7]{2})/(c[a-z2-7]{51}\.py|[0-9a-f]{64}\.best_config)")
CONFIG = re.compile(r"[0-9a-f]{64}\.best_config")


class Difference(Exception):
    pass


def opcodes(data):
    """(kind, argument, offset) of each opcode; frames are lengths, not content."""
    return [(NAMES.get(op.name, op.name), arg, pos)
            for op, arg, pos in pickletools.genops(data) if op.name != "FRAME"]


def check_frames(data):
    """Every frame ends between two opcodes and all of them lie in the pickle."""
    ends = {pos for _, _, pos in pickletools.genops(data)} | {len(data)}
    for op, arg, pos in pickletools.genops(data):
        if op.name == "FRAME" and pos + 9 + arg not in ends:
            raise Difference(f"the frame at {pos} ends inside an opcode")


def plain(text):
    """The text with the names of generated files taken out: they follow from hashes."""
    text = DIRECTORY.sub(lambda m: "??/" + m.group(2), text)
    return CONFIG.sub("CONFIG", CODE_NAME.sub("NAME", text))


def check_text(before, after, old, new):
    """Number of places where a number changed."""
    a, b = WORD.findall(plain(before)), WORD.findall(plain(after))
    if len(a) != len(b):
        raise Difference(f"text of {len(a)} words became {len(b)}")
    places = 0
    for x, y in zip(a, b):
        if x != y:
            if (x, y) != (str(old), str(new)):
                raise Difference(f"text {x!r} became {y!r}")
            places += 1
    return places


def compare(before, after, old, new):
    """Number of sites at which AFTER differs from BEFORE; Difference where it may not."""
    check_frames(after)
    a, b = opcodes(before), opcodes(after)
    if len(a) != len(b):
        raise Difference(f"{len(a)} opcodes became {len(b)}")
    sites = 0
    for (name, arg, pos), (other, changed, _) in zip(a, b):
        if name != other:
            raise Difference(f"{name} at {pos} became {other}")
        if arg == changed and type(arg) is type(changed):
            continue
        if name == "BININT1":
            if (arg, changed) != (old, new):
                raise Difference(f"integer {arg} at {pos} became {changed}")
            sites += 1
        elif name == "str":
            sites += check_text(arg, changed, old, new)
        elif name == "bytes" and arg[:1] == b"\x80":
            sites += compare(arg, changed, old, new)
        else:
            raise Difference(f"{name} at {pos} changed")
    return sites


def name51(data):
    return base64.b32encode(hashlib.sha256(data).digest()).decode()[:51].lower()


def strings_of(data):
    return [arg for name, arg, _ in opcodes(data) if name == "str"]


def field(data, key):
    """The first string behind the first occurrence of KEY."""
    strings = strings_of(data)
    return strings[strings.index(key) + 1]


LITERAL = re.compile(r"async_compile\.triton\('(\w+)', '''(.*?)'''", re.S)


def check_names(data, torch_key):
    """An entry's names are the hashes of its own text. Number of (kernels, autotuners)."""
    source = field(data, "source_code")
    if field(data, "cache_key") != "c" + name51(source.strip().encode()):
        raise Difference("the wrapper's name is not the hash of its source")
    files, keys, configs = set(), set(), set()
    for _, literal in LITERAL.findall(source):
        text = literal.encode().decode("unicode_escape") if "\\" in literal else literal
        name = "c" + name51(text.strip().encode())
        inner = hashlib.sha256(f"{name}.py:".encode()).hexdigest()
        files.add(name)
        keys.add("c" + name51(text.encode() + b"||" + torch_key))
        configs.add(f"{name[1:3]}/{hashlib.sha256(inner.encode() + torch_key).hexdigest()}.best_config")
    tuners = 0
    for string in strings_of(data):
        if string.endswith(".best_config") and "/".join(string.rsplit("/", 2)[-2:]) not in configs:
            raise Difference(f"{string} belongs to no kernel of the entry")
        for name in CODE_NAME.findall(string):
            if name in keys:
                tuners += 1
            elif name not in files and name != field(data, "cache_key"):
                raise Difference(f"{name} is no hash of the entry's text")
        for directory, name in DIRECTORY.findall(string):
            if name.endswith(".py") and directory != name[1:3]:
                raise Difference(f"{name} does not lie in {directory}")
    return len(files), tuners
