# SPDX-License-Identifier: Apache-2.0
"""One rank of a compiled training job: a small transformer, forward, backward and AdamW. Knows nothing of
rankshare. Writes a JSON report: losses to the last digit, torch's own cache counters, times.

    train.py REPORT --device N [--ddp] [--steps K] [--blocks B]
"""
import argparse
import json
import os
import resource
import time

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    """No embedding: its backward adds with atomics, in any order, and would blur the last digit."""

    def __init__(self, blocks, width=256, heads=4):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.head = nn.Linear(width, width)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def counters():
    from torch._dynamo.utils import counters as all_counters
    inductor, aot = all_counters["inductor"], all_counters["aot_autograd"]
    return {
        "fx_hit": inductor["fxgraph_cache_hit"], "fx_miss": inductor["fxgraph_cache_miss"],
        "aot_hit": aot["autograd_cache_hit"], "aot_miss": aot["autograd_cache_miss"],
        "kernels_hit": inductor["async_compile_cache_hit"], "kernels_asked": inductor["async_compile_cache_miss"],
    }


def cpu_seconds():
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("--device", type=int, required=True)
    parser.add_argument("--ddp", action="store_true")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=4)
    args = parser.parse_args()

    torch.cuda.set_device(args.device)
    device = torch.device("cuda", args.device)
    torch.manual_seed(0)
    model = Model(args.blocks).to(device)
    if args.ddp:
        torch.distributed.init_process_group("nccl", device_id=device)
        model = nn.parallel.DistributedDataParallel(model, device_ids=[args.device])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    compiled = torch.compile(model)
    generator = torch.Generator().manual_seed(1)
    data = torch.randn(args.steps, 2, 4, 64, 256, generator=generator).to(device)

    losses, began, first = [], time.monotonic(), None
    for given, wanted in data:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(compiled(given), wanted)
        loss.backward()
        optimizer.step()
        losses.append(repr(loss.item()))
        first = first or time.monotonic() - began
    on_other = [i for i in range(torch.cuda.device_count())
                if i != args.device and torch.cuda.memory_allocated(i)]
    report = {"losses": losses, "first_step_s": first, "cpu_s": cpu_seconds(), "counters": counters(),
              "device": args.device, "memory_on_other_devices": on_other,
              "rank": int(os.environ.get("RANK", 0)), "torch": torch.__version__}
    with open(args.report, "w") as out:
        json.dump(report, out)
    if args.ddp:
        torch.distributed.destroy_process_group()


main()
