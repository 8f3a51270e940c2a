# SPDX-License-Identifier: Apache-2.0
"""Reads a table and compares: what a phase of a test must give, number by number."""

from pathlib import Path

HERE = Path(__file__).resolve().parent
FILE = HERE / "expected.txt"
MATRIX = HERE / "matrix-expected.txt"


def parse_range(text):
    """ "3" -> (3, 3), "1-3" -> (1, 3), "1+" -> (1, no limit), "." -> None: not looked at """
    if text == ".":
        return None
    if text.endswith("+"):
        return int(text[:-1]), float("inf")
    low, _, high = text.partition("-")
    return int(low), int(high or low)


def parse_refusals(text):
    if text == "-":
        return {}
    return {name: parse_range(value) for name, value in (p.split("=") for p in text.split(","))}


def _rows(file):
    """Each row as {column: word}."""
    header = None
    for line in file.read_text().splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if header is None:
            header = words
            continue
        if len(words) != len(header):
            raise ValueError(f"{file.name}: {len(words)} words instead of {len(header)}: {line}")
        yield dict(zip(header, words))


def read(file, minor):
    """(mode, case, phase) -> {column: range}; the column "refused" holds the refusals by name. A column "torch"
    says which minor versions a row is for; only the rows for MINOR count."""
    rows = {}
    for row in _rows(file):
        if not inside(minor, parse_range(row.pop("torch", "."))):
            continue
        key = tuple(row.pop(name) for name in ("mode", "case", "phase"))
        if key in rows:
            raise ValueError(f"{file.name}: two rows for torch 2.{minor} {' '.join(key)}")
        refusals = parse_refusals(row.pop("refused"))
        rows[key] = {name: parse_range(value) for name, value in row.items()}, refusals
    return rows


def missing(file, rows):
    """Cases that the table has rows for, but none among ROWS: nobody has seen them under this version."""
    return {row["case"] for row in _rows(file)} - {case for _, case, _ in rows}


def inside(value, limits):
    return limits is None or limits[0] <= value <= limits[1]


def text(limits):
    low, high = limits
    return str(low) if low == high else f"{low}+" if high == float("inf") else f"{low}-{high}"


def differences(row, numbers):
    """One sentence for each number that is not as expected."""
    return [f"{name} is {numbers[name]}, expected {text(limits)}"
            for name, limits in row.items() if not inside(numbers[name], limits)]


def refusal_differences(expected, counters):
    """A refusal more than expected is a failure, and so is one that did not happen."""
    found = {name: count for name, count in counters.items()
             if name.startswith("refused_") and count}
    wrong = [f"{name} is {count}, expected {text(expected.get(name, (0, 0)))}"
             for name, count in found.items() if not inside(count, expected.get(name, (0, 0)))]
    return wrong + [f"{name} is 0, expected {text(limits)}" for name, limits in expected.items()
                    if name not in found and limits[0] > 0]
