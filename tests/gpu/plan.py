# SPDX-License-Identifier: Apache-2.0
"""The jobs, and what expected.txt says of each. Used on real GPUs (run.py) and on pretended ones
(tests/jobs/gpu_cases.py)."""
import re
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
FILE = HERE / "expected.txt"
sys.path.insert(0, str(HERE.parent / "jobs"))
import table  # noqa: E402


@dataclass(frozen=True)
class Job:
    name: str
    program: tuple
    worlds: tuple = (2,)      # numbers of ranks; empty: those of --ranks
    together: bool = False    # ranks talk to each other, so each needs a GPU of its own
    directions: bool = False  # plain after shared, shared after plain
    silent: bool = False      # in a cold job a waiter leaves its producer, which is blocked on its GPU


def model(kind):
    return Job(kind, ("model.py", "--kind", kind))


# Long ones first: what runs beside them then ends with them.
JOBS = (
    Job("pipeline", ("pipeline.py",), together=True, silent=True),
    Job("train", ("train.py",), worlds=(), directions=True),
    Job("infer", ("infer.py",), worlds=(), directions=True),
    Job("fsdp2", ("train.py", "--kind", "fsdp2"), together=True),
    Job("tp", ("train.py", "--kind", "tp"), together=True),
    Job("ddp", ("train.py", "--kind", "ddp"), together=True),
    Job("infer-functional", ("infer.py", "--kind", "functional"), together=True),
    Job("infer-nested", ("infer.py", "--kind", "nested")),
    Job("infer-threads", ("infer.py", "--kind", "threads")),
    *map(model, ("flex", "autotune", "bert", "conv", "cudagraphs", "dynamic", "dropout", "generators", "optimizer",
                 "streams", "ops", "kernels", "inference", "bag", "mlp", "loop", "scan")),
)


@dataclass(frozen=True)
class Row:
    misses: dict    # (fx or aot, cold or warm) -> text, in multiples of what one plain rank misses
    since: tuple    # the first version of torch that has what the job needs
    refused: dict   # cold or warm -> {counter: range}


def version(text):
    """ "2.11.0+cu130" -> (2, 11) """
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def read():
    """(name, first version that the row is about) -> Row"""
    lines = [line.split() for line in FILE.read_text().splitlines() if line.strip() and not line.startswith("#")]
    header, *rest = lines
    rows = {}
    for words in rest:
        if len(words) != len(header):
            raise ValueError(f"{FILE.name}: {len(words)} words instead of {len(header)}: {' '.join(words)}")
        cell = dict(zip(header, words))
        name, _, first = cell["job"].partition("@")
        rows[name, version(first)] = Row(
            {(kind, phase): cell[f"{kind}_{phase}"] for kind in ("fx", "aot") for phase in ("cold", "warm")},
            version(cell["since"]), {phase: table.parse_refusals(cell[f"refused_{phase}"]) for phase in ("cold", "warm")})
    return rows


def row_of(rows, name, torch):
    """The row of the newest version that is not newer than TORCH."""
    return rows[name, max(first for known, first in rows if known == name and first <= version(torch))]


def skipped(row, report):
    """Why this torch can't run the job, and what is wrong with that."""
    reason = report.get("skipped", "")
    wrong = reason and version(report["torch"]) >= row.since
    return reason, f"{reason}, which the table has since {'.'.join(map(str, row.since))}" if wrong else ""


def limits(text, one, world):
    """ "n" -> one plain rank's misses times the number of ranks """
    parsed = table.parse_range(re.sub(r"\bn\b", str(world), text))
    return parsed and (parsed[0] * one, parsed[1] * one)


def total(reports, counter):
    return sum(report["counters"][counter] for report in reports)


def judge(row, phase, plain, reports, counters):
    """(good, what was looked at) for each thing the table says of a PHASE (cold or warm). PLAIN: the reports of plain
    ranks in a cold directory; COUNTERS: the library's, of all ranks of this job, or None for a job without it."""
    for kind in ("fx", "aot"):
        # Plain ranks on one device may hit what another of them stored.
        one = max(report["counters"][f"{kind}_miss"] for report in plain)
        missed, hit = total(reports, f"{kind}_miss"), total(reports, f"{kind}_hit")
        allowed = limits(row.misses[kind, phase], one, len(reports))
        yield (table.inside(missed, allowed), f"{missed} {kind} misses in the whole job (hits: {hit}; allowed: "
               f"{table.text(allowed) if allowed else 'any'}; one plain rank has {one})")
        if phase == "warm":
            yield missed + hit >= one, f"no fewer {kind} graphs than in one plain rank"
        left = [[report["counters"][f"{kind}_bypass"] for report in of] for of in (reports, plain)]
        yield max(left[0]) <= max(left[1]), f"{kind} left alone by torch as in plain ranks {left}"
    if counters is not None:
        wrong = table.refusal_differences(row.refused[phase], counters)
        yield not wrong, "refusals as expected" + "".join(f"; {sentence}" for sentence in wrong)
        yield not counters.get("wait_timeouts"), "nobody waited until the limit"


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]
