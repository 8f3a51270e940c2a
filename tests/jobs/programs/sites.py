# SPDX-License-Identifier: Apache-2.0
"""Modes of gpu_job.py whose graphs hold the device in many places, or sizes that are not known beforehand."""

import torch
from torch.utils.checkpoint import checkpoint


def forward(function, device, options):
    compiled = torch.compile(function, fullgraph=True)
    with torch.no_grad():
        for _ in range(options.steps):
            result = compiled(torch.zeros(64, 32, device=device))
    assert result.device == device, (result.device, device)


def backward(function, device, options):
    compiled = torch.compile(function)
    for _ in range(options.steps):
        x = torch.zeros(64, 32, device=device, requires_grad=True)
        compiled(x).sum().backward()
        assert x.grad.device == device, (x.grad.device, device)


def run_sites(device, options):
    """Factories that name the device, random numbers in a forward and in a backward, one of them computed
    again there, and a graph that no tensor goes into."""

    def factories(x):
        rows = torch.arange(x.shape[1], device=device, dtype=x.dtype)
        return x + torch.randn(x.shape, device=device) + torch.full(x.shape, 2.5, device=device) * rows

    def dropout(x):
        return torch.nn.functional.dropout(torch.sin(x), 0.5)

    def again(x):
        return torch.cos(checkpoint(dropout, x, use_reentrant=False))

    def fallback(x):
        return torch.tanh(checkpoint(dropout, x, use_reentrant=False))

    forward(factories, device, options)
    backward(dropout, device, options)
    backward(again, device, options)
    with torch._inductor.config.patch(fallback_random=True):
        backward(fallback, device, options)
    compiled = torch.compile(lambda: torch.arange(64, device=device) * 2, fullgraph=True)
    with torch.no_grad():
        for _ in range(options.steps):
            result = compiled()
    assert result.device == device, (result.device, device)


def run_dynamic(device, options):
    """Sizes that torch takes for unknown from the start, and after it has met a second one. 1 and 0 have graphs
    of their own, so none of them is used."""

    def product(x, y):
        return (torch.tanh(x) * y).sum(dim=1) / x.shape[0]

    def shifted(x, y):
        return torch.exp(x) - y[:, :1]

    with torch.no_grad():
        for function, dynamic in ((product, True), (shifted, None)):
            compiled = torch.compile(function, dynamic=dynamic, fullgraph=True)
            for rows in (48, 80, 112)[:options.steps + 1]:
                sizes = rows, 2 * rows
                result = compiled(torch.zeros(sizes, device=device), torch.zeros(sizes, device=device))
    assert result.device == device, (result.device, device)


def run_cudagraphs(device, options):
    """CUDA graphs: the device stands in a box of its own in the details."""

    def function(x, y):
        return torch.sin(x) * y

    compiled = torch.compile(function, mode="reduce-overhead", fullgraph=True)
    for _ in range(options.steps + 1):  # one to warm up, one to record, one to replay
        x = torch.zeros(64, 32, device=device, requires_grad=True)
        compiled(x, torch.zeros(64, 32, device=device)).sum().backward()
        with torch.no_grad():
            result = compiled(x, torch.zeros(64, 32, device=device))
    assert result.device == device, (result.device, device)


RUN = {"sites": run_sites, "dynamic": run_dynamic, "cudagraphs": run_cudagraphs}
