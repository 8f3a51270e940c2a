# SPDX-License-Identifier: Apache-2.0
"""A GPU job as a user would write it. It knows nothing of cache sharing.

    gpu_job.py MODE[+MODE...] --device 3 --report FILE

Modes, one after the other: jit (a Triton kernel launched directly), user (the same kernel inside a compiled function), small
(forward and backward of a small network), and those of the other modules here.
"""

import argparse
import os
import time

import lean  # noqa: F401, first of all
import torch
import torch.distributed as dist
import triton
import triton.language as tl

import accident
import inference
import models
import newer
import race
import report
import settings
import sites
import together
import tuned


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask) * factor, mask=mask)


def scale(x, factor):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 256),)](x, y, n, factor, BLOCK=256)
    return y


def run_jit(device, options):
    for _ in range(options.steps):
        scale(torch.zeros(4096, device=device), 2.0)


def user_function(x):
    return torch.sin(scale(x, 2.0)) + 1


def run_user(device, options):
    function = torch.compile(user_function, fullgraph=True)
    with torch.no_grad():
        for _ in range(options.steps):
            result = function(torch.zeros(4096, device=device))
    assert result.device == device, (result.device, device)


def run_tried(device, options):
    """The same by a careful program, which goes on without compiled code."""
    try:
        run_user(device, options)
    except Exception:
        with torch.no_grad():
            user_function(torch.zeros(4096, device=device))


def run_small(device, options):
    together.train(torch.compile(together.Network().to(device)), device, options)


RUN = {"jit": run_jit, "user": run_user, "tried": run_tried, "small": run_small, **inference.RUN, **models.RUN,
       **settings.RUN, **sites.RUN, **together.RUN, **tuned.RUN}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modes", type=lambda text: text.split("+"))
    parser.add_argument("--device", type=int, action="append", required=True,
                        help="CUDA device; given twice, the program uses one after the other")
    parser.add_argument("--report", required=True, help="file for the report")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--pool", action="store_true", help="wait for the compile workers first")
    parser.add_argument("--group", help="file through which a gloo process group meets")
    parser.add_argument("--race", help="folder in which ranks meet before the first kernel is unpacked")
    parser.add_argument("--config", default="", help="settings of torch, as settings.py reads them")
    parser.add_argument("--pretend", help="a version of torch to be taken for")
    parser.add_argument("--place", choices=tuple(newer.PLACES), help="where that version has a new device index")
    parser.add_argument("--accident", choices=accident.HOW, help="what happens to the first compilation")
    parser.add_argument("--beside", help="folder where ranks with and beside an accident meet")
    parser.add_argument("--stopped", action="store_true", help="gets SIGTERM when it has come to rest")
    parser.add_argument("--load", help="a saved Mega-Cache to start from")
    parser.add_argument("--save", help="where to save a Mega-Cache at the end")
    return parser.parse_args()


def prepare(options):
    """What is to be as it is before the first graph. Returns what must be told at the end, or None."""
    torch.cuda.set_device(options.device[0])
    torch._inductor.config.pattern_matcher = False  # saves ten seconds for each process
    report.listen()
    settings.apply(options.config)
    if options.pretend:
        settings.pretend(options.pretend)
    if options.place:
        newer.mark(options.place)
    if options.race:
        race.meet_at_bundle(options.race)
    if options.load:
        with open(options.load, "rb") as file:
            torch.compiler.load_cache_artifacts(file.read())
    if options.accident:
        accident.prepare(options.beside, options.accident)
    elif options.beside:
        return accident.Beside(options.beside, options.stopped)
    return None


def main():
    options = parse()
    beside = prepare(options)
    if options.group:
        dist.init_process_group("gloo", init_method=f"file://{options.group}",
                                rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
    if options.pool:
        from torch._inductor.async_compile import AsyncCompile

        while not AsyncCompile().use_process_pool():
            time.sleep(0.1)
    results = [RUN[mode](torch.device("cuda", index), options)
               for index in options.device for mode in options.modes]
    blob = b""
    if options.save:
        blob, _ = torch.compiler.save_cache_artifacts()
        with open(options.save, "wb") as file:
            file.write(blob)
    if beside:
        beside.end()
    report.write(options.report, gpu=True, devices=options.device, results=results, chosen=tuned.chosen,
                 blob_ordinals=report.ordinals_in(blob))
    if options.group:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
