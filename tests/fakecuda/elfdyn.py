# SPDX-License-Identifier: Apache-2.0
"""What a 64-bit little-endian ELF file needs, imports and defines. Standard library only."""

import mmap
import struct
from typing import NamedTuple

SHT_SYMTAB, SHT_DYNAMIC, SHT_DYNSYM = 2, 6, 11
SHT_GNU_VERNEED, SHT_GNU_VERSYM = 0x6FFFFFFE, 0x6FFFFFFF
DT_NEEDED = 1


class Section(NamedTuple):
    type: int
    offset: int
    size: int
    link: int


class Import(NamedTuple):
    name: str
    version: str | None
    library: str | None  # the library its version is looked for in


class Elf:
    """Read once, by memory map: libtorch_cuda has more than 500 MB, of which this touches little."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is not a 64-bit little-endian ELF file")
        offset, = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        self.sections = []
        for i in range(count):
            kind, = struct.unpack_from("<I", self.data, offset + i * size + 4)
            at, length, link = struct.unpack_from("<QQI", self.data, offset + i * size + 24)
            self.sections.append(Section(kind, at, length, link))

    def _find(self, kind):
        return next((s for s in self.sections if s.type == kind), None)

    def _string(self, table, offset):
        start = self.sections[table].offset + offset
        return self.data[start:self.data.find(b"\0", start)].decode()

    def _symbols(self, kind):
        """(name, binding, section index) of every symbol of a table, in its order."""
        table = self._find(kind)
        if table is None:
            return
        for at in range(table.offset, table.offset + table.size, 24):
            name, info, _, section = struct.unpack_from("<IBBH", self.data, at)
            yield self._string(table.link, name), info >> 4, section

    def needed(self):
        table = self._find(SHT_DYNAMIC)
        if table is None:
            return []
        entries = struct.iter_unpack("<qQ", self.data[table.offset:table.offset + table.size])
        return [self._string(table.link, value) for tag, value in entries if tag == DT_NEEDED]

    def _versions(self):
        """Version number -> (version, library)."""
        table = self._find(SHT_GNU_VERNEED)
        found = {}
        at = table.offset if table else None
        while at is not None:
            _, _, file, aux, following = struct.unpack_from("<HHIII", self.data, at)
            library, entry = self._string(table.link, file), at + aux
            while entry is not None:
                _, _, number, name, step = struct.unpack_from("<IHHII", self.data, entry)
                found[number & 0x7FFF] = (self._string(table.link, name), library)
                entry = entry + step if step else None
            at = at + following if following else None
        return found

    def undefined(self):
        versions, table = self._versions(), self._find(SHT_GNU_VERSYM)
        for i, (name, _, section) in enumerate(self._symbols(SHT_DYNSYM)):
            if section != 0 or not name:
                continue
            number = struct.unpack_from("<H", self.data, table.offset + 2 * i)[0] if table else 0
            yield Import(name, *versions.get(number & 0x7FFF, (None, None)))

    def defined(self):
        """Global names that an object file defines."""
        return {name for name, binding, section in self._symbols(SHT_SYMTAB)
                if section != 0 and binding != 0 and name}
