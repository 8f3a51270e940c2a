# SPDX-License-Identifier: Apache-2.0
"""A job of CPU ranks as a user would write it: real numbers, so losses can be compared.

    cpu_job.py --group FILE --report FILE
"""

import argparse
import os

import torch
import torch.distributed as dist

import report


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(32, 64)
        self.norm = torch.nn.LayerNorm(64)
        self.second = torch.nn.Linear(64, 16)

    def forward(self, x):
        return torch.softmax(self.second(self.norm(torch.relu(self.first(x)))), dim=-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", required=True, help="file through which the ranks meet")
    parser.add_argument("--report", required=True, help="file for the report")
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    torch._inductor.config.pattern_matcher = False
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=f"file://{options.group}", rank=rank,
                            world_size=world)
    torch.manual_seed(1)
    model = Network()
    data = torch.randn(world, 64, 32)[rank]
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = []
    for _ in range(options.steps):
        optimizer.zero_grad()
        loss = compiled(data).square().sum(dim=-1).mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        losses.append(repr(loss.item()))
    report.write(options.report, losses=losses)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
