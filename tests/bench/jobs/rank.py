# SPDX-License-Identifier: Apache-2.0
"""One rank of the measured job: training steps of the small transformer of tests/gpu, compiled, or its forward pass alone
without gradients. It knows nothing of rankshare.

    rank.py REPORT --device cuda:3|cpu --meet FOLDER [--steps K] [--blocks B] [--untuned] [--infer]

Ranks meet before the first step, as ranks of a real job do in init_process_group. On the CPU they also add up their
gradients (gloo); on GPUs they don't, so that there may be more ranks than GPUs.
"""
import argparse
import json
import os
import sys
import time

import torch
import torch._inductor.config
import torch.distributed as dist

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "gpu", "programs"))
from common import Model, batches, counters  # noqa: E402


def meet(folder, rank, world):
    open(os.path.join(folder, f"rank{rank}"), "w").close()
    while sum(name.startswith("rank") for name in os.listdir(folder)) < world:
        time.sleep(0.02)


class Step:
    """One training step, its parts timed."""

    def __init__(self, args, device):
        self.device, self.infer = device, args.infer
        self.model = Model(args.blocks).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.compiled = torch.compile(self.model)

    def now(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.monotonic()

    def run(self, given, wanted):
        """Seconds of forward, backward and optimizer, and the loss."""
        times = [self.now()]
        if self.infer:
            with torch.no_grad():
                result = torch.nn.functional.mse_loss(self.compiled(given), wanted).item()
            return [self.now() - times[0], 0, 0], result
        self.optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(self.compiled(given), wanted)
        times.append(self.now())
        loss.backward()
        times.append(self.now())
        if dist.is_initialized():
            for parameter in self.model.parameters():
                dist.all_reduce(parameter.grad)
        self.optimizer.step()
        result = loss.item()
        times.append(self.now())
        return [after - before for before, after in zip(times, times[1:])], result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("--device", type=torch.device, required=True)
    parser.add_argument("--meet", required=True)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--untuned", action="store_true", help="one configuration for each kernel: nothing is measured")
    parser.add_argument("--infer", action="store_true", help="without gradients")
    args = parser.parse_args()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

    if args.untuned:
        torch.use_deterministic_algorithms(True)
        torch._inductor.config.triton.autotune_pointwise = False
    torch.manual_seed(0)
    if args.device.type == "cuda":
        torch.cuda.set_device(args.device)
    else:
        dist.init_process_group("gloo", init_method=f"file://{args.meet}/gloo", rank=rank, world_size=world)
    step = Step(args, args.device)
    data = batches(args.steps, args.device)
    meet(args.meet, rank, world)
    began = time.monotonic()
    results = [step.run(*batch) for batch in data]
    forward, backward, optimizer = results[0][0]
    report = {"began": began, "forward_s": forward, "backward_s": backward, "optimizer_s": optimizer,
              "ended": began + forward + backward + optimizer, "losses": [loss for _, loss in results],
              "counters": counters(), "torch": torch.__version__}
    with open(args.report, "w") as out:
        json.dump(report, out)
    if dist.is_initialized():
        dist.destroy_process_group()


main()
