# SPDX-License-Identifier: Apache-2.0
"""Modes of gpu_job.py that compile without gradients, so that torch stores their AOTAutograd entry before
the graph runs: several graphs, nested ones, two threads, and graphs whose entry torch does not store."""

import threading

import torch


def run_inference(device, options):
    """Two graphs, the first with a nested region, under both kinds of "no gradients"."""

    @torch.compiler.nested_compile_region
    def nested(x):
        return torch.tanh(x) * 2

    def broken(x):
        y = nested(nested(torch.sin(x) + 1))
        torch._dynamo.graph_break()
        return torch.cos(y) - x

    for without in (torch.no_grad, torch.inference_mode):
        with without():
            function = torch.compile(broken)
            for _ in range(options.steps):
                result = function(torch.zeros(4096, device=device))
    assert result.device == device, (result.device, device)


def first(x):
    return torch.sin(x) + 3


def second(x):
    return torch.exp(x) * torch.cos(x)


def run_threads(device, options):
    """Two threads compile different functions; odd ranks start with the other one."""
    functions = [first, second]
    if device.index % 2:
        functions.reverse()
    failures = []

    def work(function):
        try:
            torch.cuda.set_device(device)
            with torch.no_grad():
                for _ in range(options.steps):
                    torch.compile(function)(torch.zeros(4096, device=device))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def run_effect(device, options):
    """Tracing wraps an operator with a side effect in a way that FX does not cache: torch has made an
    AOTAutograd key by then and looked it up, and stores nothing under it."""

    @torch.library.custom_op("jobs::note", mutates_args=())
    def note(x: torch.Tensor) -> None:
        pass

    @note.register_fake
    def _(x):
        return None

    from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

    _register_effectful_op(torch.ops.jobs.note.default, _EffectType.ORDERED)

    def function(x):
        y = torch.sin(x)
        torch.ops.jobs.note(y)
        return y + 1

    with torch.no_grad():
        compiled = torch.compile(function, fullgraph=True)
        for _ in range(options.steps):
            compiled(torch.zeros(4096, device=device))


def run_branch(device, options):
    """torch.cond and a loop in the graph: torch caches neither such graphs nor their traces."""

    def function(x):
        y = torch.cond(x.sum() > 0, lambda x: torch.sin(x), lambda x: torch.cos(x), (x,))
        return y * 2

    with torch.no_grad():
        compiled = torch.compile(function, fullgraph=True)
        for _ in range(options.steps):
            compiled(torch.zeros(4096, device=device))


def run_autotune(device, options):
    """A matrix product whose templates are measured; two of each kind, since each is compiled."""

    def function(x, y):
        return torch.relu(x @ y)

    settings = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON", "test_configs.max_mm_configs": 2}
    with torch.no_grad(), torch._inductor.config.patch(settings):
        compiled = torch.compile(function, fullgraph=True)
        for _ in range(options.steps):
            compiled(torch.zeros(256, 128, device=device), torch.zeros(128, 256, device=device))


RUN = {"autotune": run_autotune, "inference": run_inference, "threads": run_threads, "effect": run_effect, "branch": run_branch}
