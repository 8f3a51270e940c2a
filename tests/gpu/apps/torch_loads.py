# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a compiled function, what the profiler (CUPTI) saw of it, and the function in a CUDA graph. No sum is left to the
compiled kernel: its configuration, measured anew in each run, decides in which order one is made."""
import sys

import torch
from torch.profiler import ProfilerActivity, profile


@torch.compile
def layer(x, w):
    return torch.nn.functional.gelu(x * w + 1)


def main():
    torch.manual_seed(0)
    x, w = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
    print("compiled", layer(x, w).double().sum().item())
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        layer(x, w)
        torch.cuda.synchronize()
    names = {event.name for event in seen.events() if event.device_type == torch.autograd.DeviceType.CUDA}
    print("profiler saw", sorted(name for name in names if name.startswith("triton")))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = layer(x, w)
    graph.replay()
    print("graph", out.double().sum().item())


if __name__ == "__main__":
    sys.exit(main())
