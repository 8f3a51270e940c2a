# SPDX-License-Identifier: Apache-2.0
"""Ranks that work together. Whatever is shared, each rank must run the code that a plain process of its own
rank and device generates: some settings bake the rank into it, and none of the keys says so."""

import re
import shutil

from case import Failed, gpu
import report


DEVICES = (0, 3)


def in_group(test, mode, phase, devices=DEVICES):
    meeting = test.place.root / f"meeting-{phase}"
    return [gpu(mode, device, group=meeting) for device in devices]


def neutral(code):
    """Without the ordinal; up to torch 2.11 it is in the name of the stream, too."""
    text = report.ORDINAL.sub(lambda place: place[0].rstrip(b"0123456789"), code.encode())
    return re.sub(rb"\bstream\d+", b"stream", text)


def holds_ranks(outcome):
    """How many of the graphs of plain ranks differ between them in more than the ordinal."""
    codes = [{neutral(graph["code"]) for graph in rank["graphs"]} for rank in outcome.reports]
    return len(codes[0] - codes[1])


def plain_ranks(test, mode, patience, deadline):
    """The same job without the library. Where plain ranks talk while they compile, they stand still now and then
    on a busy machine (twice in three long runs): they get a second try after PATIENCE seconds."""
    if patience:
        try:
            return test.reference(in_group(test, mode, "reference"), patience)
        except Failed:
            shutil.rmtree(test.place.cache("native"), ignore_errors=True)
    return test.reference(in_group(test, mode, "second-reference"), deadline)


def together(test, mode, baked=0, patience=0, deadline=900):
    """Cold and warm; BAKED: so many of the graphs depend on the rank."""
    reference = plain_ranks(test, mode, patience, deadline)
    found = holds_ranks(reference)
    test.expect(found == baked, f"plain: {found} graphs hold the rank, expected {baked}")
    for phase in ("cold", "warm"):
        outcome = test.job(phase, in_group(test, mode, phase), deadline=deadline)
        test.same_code(phase, outcome.reports, reference.reports)


def ddp(test):
    """DistributedDataParallel over gloo: its all_reduce is not in the graphs."""
    test.job("cold", in_group(test, "ddp", "cold"), deadline=900)
    before = test.groups()
    test.job("warm", in_group(test, "ddp", "warm"), deadline=900)
    test.same_groups(before, "warm")


def collective(test):
    """An all_reduce inside the graph."""
    test.job("cold", in_group(test, "coll", "cold"))
    test.job("warm", in_group(test, "coll", "warm"))


def collectives(test):
    """Collectives in graphs, DTensor inputs, FSDP2, tensor parallel, DDP inside the graph."""
    together(test, "functional+dtensor+fsdp+tensor+reducer")


def baked(test):
    """Settings that bake the rank into the code, or make ranks talk while they compile."""
    together(test, "bucketing+overlap+reorder", baked=2, patience=300)


FULL = {"ddp": ddp, "collective": collective, "collectives": collectives, "baked": baked}
