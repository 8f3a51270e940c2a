# SPDX-License-Identifier: Apache-2.0
"""One rank of a compiled inference job, whose AOTAutograd entries may be waited for.

    infer.py REPORT --device N [--kind plain|nested|threads|functional]

nested: graph breaks, and at the end a torch.cond, whose branches are graphs inside the graph (torch caches none
of these: nobody may wait for it).
threads: two threads compile a function each, at the same time.
functional: a functional collective inside the graph (needs a rank for each device).
"""
import argparse
import threading
import time

import torch

from common import WIDTH, Block, batches, take_device, write_report


def plain(device):
    model = torch.nn.Sequential(Block(), Block()).to(device).eval()
    return [torch.compile(model)]


def nested(device):
    first, second = Block().to(device).eval(), Block().to(device).eval()

    def both(x):
        x = first(x)
        torch._dynamo.graph_break()
        x = second(x)
        torch._dynamo.graph_break()
        return torch.cond(x.sum() > 0, lambda y: second(y) * 2.0, lambda y: second(y) + 1.0, (x,))

    return [torch.compile(both)]


def threads(device):
    block = Block().to(device).eval()
    return [torch.compile(block), torch.compile(lambda x: torch.softmax(x, -1) * torch.sigmoid(x) + x.mean())]


def functional(device):
    import torch.distributed._functional_collectives as collectives
    torch.distributed.init_process_group("nccl", device_id=device)
    block = Block().to(device).eval()
    return [torch.compile(lambda x: collectives.all_reduce(block(x), "sum", torch.distributed.group.WORLD) * 0.5)]


def run(functions, data, results):
    """Each function in a thread of its own; the first batch of all at the same time."""
    def one(number, function):
        torch.cuda.set_device(data.device)  # a new thread stands on cuda:0
        with torch.no_grad():
            results[number] = [function(batch).double().sum().item() for batch in data]
    workers = [threading.Thread(target=one, args=item) for item in enumerate(functions)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def main():
    kinds = {kind.__name__: kind for kind in (plain, nested, threads, functional)}
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("--device", type=int, required=True)
    parser.add_argument("--kind", default="plain", choices=kinds)
    args = parser.parse_args()
    device = take_device(args.device)
    functions = kinds[args.kind](device)
    data = batches(3, device, (4, 64, WIDTH))
    results, began = {}, time.monotonic()
    run(functions, data[:1], results)
    first = time.monotonic() - began
    run(functions, data, results)
    torch.cuda.synchronize()
    write_report(args.report, device, [value for number in sorted(results) for value in results[number]], first)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


main()
