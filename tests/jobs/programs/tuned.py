# SPDX-License-Identifier: Apache-2.0
"""Modes of gpu_job.py in which kernels have several configurations to choose from, and ranks that measure for
themselves choose differently: pretended kernels take times that the device's number decides."""

import random

import torch
import triton
import triton.language as tl

chosen = {}


def measure_by_device(device):
    """Every measured time is as random as it is repeatable, and so long that once is enough."""
    dice = random.Random(device.index)
    torch.cuda.Event.elapsed_time = lambda self, end: 100 + 900 * dice.random()


def functions():
    return [lambda x: torch.softmax(x, -1), lambda x: torch.cos(x).sum(-1), lambda x: torch.tanh(x.t().contiguous()) + 1]


def run_tuned(device, options):
    """Three graphs of one kernel each."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    measure_by_device(device)
    put = CachingAutotuner.autotune_to_one_config

    def listen(self, *args, **kwargs):
        result = put(self, *args, **kwargs)
        chosen["measured"] = chosen.get("measured", 0) + 1
        return result

    CachingAutotuner.autotune_to_one_config = listen
    with torch.no_grad():
        for function in functions():
            compiled = torch.compile(function, fullgraph=True)
            for _ in range(options.steps):
                compiled(torch.zeros(1024, 128, device=device))
    import gc

    chosen["configs"] = sorted(f"{tuner.fn.__name__}: {tuner.launchers[0].config}" for tuner in gc.get_objects()
                               if type(tuner) is CachingAutotuner and len(tuner.launchers) == 1)


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask), mask=mask)


def run_triton_tuned(device, options):
    """Triton's own autotuner, which keeps its timings in the cache directory."""
    measure_by_device(device)
    x, y = torch.zeros(4096, device=device), torch.empty(4096, device=device)
    configs = [triton.Config({"BLOCK": block}, num_warps=warps) for block in (64, 128, 256) for warps in (1, 2)]
    # Not above the kernel: Triton up to 3.3 has no cache_results, and the other modes run there, too.
    tuner = triton.autotune(configs=configs, key=["n"], cache_results=True)(copy_kernel)
    bench = tuner._bench

    def count(*args, **kwargs):
        chosen["measured"] = chosen.get("measured", 0) + 1
        return bench(*args, **kwargs)

    tuner._bench = count
    for _ in range(options.steps):
        tuner[lambda meta: (triton.cdiv(4096, meta["BLOCK"]),)](x, y, 4096)
    chosen["configs"] = [str(tuner.best_config)]


RUN = {"tuned": run_tuned, "triton-tuned": run_triton_tuned}
