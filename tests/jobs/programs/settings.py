# SPDX-License-Identifier: Apache-2.0
"""Settings of torch that are given on gpu_job.py's command line; modes that keep compiled code elsewhere than in the
job's cache directory, and one that is but another graph."""

import importlib
import os

import torch


def apply(text):
    """ "inductor.max_autotune=True,functorch.bundled_autograd_cache=True" """
    for setting in filter(None, text.split(",")):
        name, _, value = setting.partition("=")
        package, _, name = name.partition(".")
        config = importlib.import_module(f"torch._{package}.config")
        setattr(config, name, {"True": True, "False": False}.get(value, value))


def pretend(version):
    """As under a torch that nobody knows."""
    torch.__version__ = torch.torch_version.TorchVersion(version)


def run_another(device, options):
    with torch.no_grad():
        torch.compile(lambda x: torch.sin(x) * 3, fullgraph=True)(torch.zeros(4096, device=device))


def run_fresh(device, options):
    """A directory of the process's own for a while, then the job's again."""
    from torch._inductor.utils import fresh_inductor_cache

    entries = {}
    torch._dynamo.reset()
    with fresh_inductor_cache(cache_entries=entries):
        own = os.environ["TORCHINDUCTOR_CACHE_DIR"]
        run_another(device, options)
        kept = {"fxgraph", "aotautograd", "triton"} & set(os.listdir(own))
    torch._dynamo.reset()
    run_another(device, options)
    return {"kept": sorted(kept), "kernels": len(entries), "removed": not os.path.exists(own),
            "elsewhere": own != os.environ["TORCHINDUCTOR_CACHE_DIR"]}


kept = []  # in memory until the process reports


def run_standalone(device, options):
    """A graph compiled without torch.compile, saved to a file of the rank's own, loaded and run again."""
    from torch._inductor import CompiledArtifact, standalone_compile

    x, path = torch.zeros(4096, device=device), options.report + ".artifact"
    graph = torch.fx.symbolic_trace(lambda x: (torch.sin(x) * 3,))
    with torch.no_grad():
        kept.append(standalone_compile(graph, [x], dynamic_shapes="from_example_inputs"))
        kept[0].save(path=path, format="binary")
        kept.append(CompiledArtifact.load(path=path, format="binary"))
        for compiled in kept:
            (result,) = compiled(x)
            assert result.device == device, (result.device, device)


RUN = {"another": run_another, "fresh": run_fresh, "standalone": run_standalone}
