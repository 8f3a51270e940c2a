# SPDX-License-Identifier: Apache-2.0
"""One rank of a compiled training job: forward, backward and AdamW.

    train.py REPORT --device N [--kind plain|ddp|fsdp2|tp] [--steps K] [--blocks B]

tp: both ranks see the same batch, the linear layers are split (DTensor, functional collectives in the graph).
fsdp2: parameters are sharded, each block is compiled by itself.
"""
import argparse
import os
import time

import torch
from torch import nn

from common import Model, batches, take_device, write_report


def distribute(kind, model, device):
    from torch.distributed.device_mesh import init_device_mesh
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
    if kind == "fsdp2":
        from torch.distributed.fsdp import fully_shard
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        return fully_shard(model, mesh=mesh)
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    plan = {name: ColwiseParallel() for name in ("q", "k", "v", "up")}
    plan.update({name: RowwiseParallel() for name in ("out", "down")})
    for block in model.blocks:
        parallelize_module(block, mesh, plan)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("--device", type=int, required=True)
    parser.add_argument("--kind", default="plain", choices=("plain", "ddp", "fsdp2", "tp"))
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=4)
    args = parser.parse_args()

    device = take_device(args.device)
    model = Model(args.blocks).to(device)
    if args.kind != "plain":
        torch.distributed.init_process_group("nccl", device_id=device)
        model = distribute(args.kind, model, device)
    # Under tensor parallelism some parameters are DTensors and some are not: no update of all at once.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False if args.kind == "tp" else None)
    compiled = model
    if args.kind == "fsdp2":
        for block in model.blocks:
            block.compile()
    else:
        compiled = torch.compile(model)

    losses, began, first = [], time.monotonic(), None
    for given, wanted in batches(args.steps, device):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(compiled(given), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        first = first or time.monotonic() - began
    write_report(args.report, device, losses, first)
    if args.kind != "plain":
        torch.distributed.destroy_process_group()


main()
