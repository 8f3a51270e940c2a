# SPDX-License-Identifier: Apache-2.0
"""What the jobs have in common: a small transformer, torch's own cache counters, the report. Knows nothing of
rankshare."""
import importlib
import json
import os
import resource

import torch
from torch import nn

WIDTH = 256


class Block(nn.Module):
    def __init__(self, width=WIDTH, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        normed = self.norm1(x)
        # -1 for the number of heads: under tensor parallelism a rank has a part of them.
        q, k, v = (part(normed).unflatten(-1, (-1, WIDTH // self.heads)).transpose(1, 2)
                   for part in (self.q, self.k, self.v))
        mixed = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1) @ v
        x = x + self.out(mixed.transpose(1, 2).flatten(-2))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    """No embedding: its backward adds with atomics, in any order, and would blur the last digit."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))
        self.head = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def counters():
    from torch._dynamo.utils import counters as all_counters
    inductor, aot = all_counters["inductor"], all_counters["aot_autograd"]
    return {
        "fx_hit": inductor["fxgraph_cache_hit"], "fx_miss": inductor["fxgraph_cache_miss"],
        "fx_bypass": inductor["fxgraph_cache_bypass"], "aot_bypass": aot["autograd_cache_bypass"],
        "aot_hit": aot["autograd_cache_hit"], "aot_miss": aot["autograd_cache_miss"],
        "kernels_hit": inductor["async_compile_cache_hit"], "kernels_asked": inductor["async_compile_cache_miss"],
    }


def cpu_seconds():
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def take_device(number):
    """Deterministic algorithms, because they leave a kernel one configuration: ranks that tune for themselves may
    choose other block sizes, and sums then differ in the last digit without anybody's fault."""
    torch.use_deterministic_algorithms(True)
    torch.cuda.set_device(number)
    torch.manual_seed(0)
    return torch.device("cuda", number)


def batches(steps, device, shape=(2, 4, 64, WIDTH)):
    """The same numbers in every rank and run."""
    return torch.randn(steps, *shape, generator=torch.Generator().manual_seed(1)).to(device)


def random_batch(number, device, *shape):
    """Batch NUMBER, the same in every rank and run."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(100 + number)).to(device)


def trainer(model, data, loss_of=lambda y: y.square().mean(), **how):
    """One step of training: the batch is data(number), HOW goes to torch.compile."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    compiled = torch.compile(model, **how)

    def step(number):
        optimizer.zero_grad()
        loss = loss_of(compiled(*data(number)))
        loss.backward()
        optimizer.step()
        return [loss.item()]
    return step


class Missing(Exception):
    """This torch does not have it."""


def needs(name):
    """NAME: a module, or something in one."""
    try:
        importlib.import_module(name)
    except ImportError:
        module, _, last = name.rpartition(".")
        try:
            getattr(importlib.import_module(module), last)
        except (ImportError, AttributeError):
            raise Missing(name) from None


def write_skipped(path, reason):
    with open(path, "w") as out:
        json.dump({"skipped": reason, "torch": torch.__version__}, out)


def write_report(path, device, results, first_s):
    """RESULTS: numbers, kept to the last digit."""
    on_other = [i for i in range(torch.cuda.device_count())
                if i != device.index and torch.cuda.memory_allocated(i)]
    with open(path, "w") as out:
        json.dump({"losses": [repr(result) for result in results], "first_step_s": first_s, "cpu_s": cpu_seconds(),
                   "counters": counters(), "device": device.index, "memory_on_other_devices": on_other,
                   "rank": int(os.environ.get("RANK", 0)), "torch": torch.__version__}, out)
