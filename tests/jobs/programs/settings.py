# SPDX-License-Identifier: Apache-2.0
"""Settings of torch that are given on gpu_job.py's command line, and a mode that is but another graph."""

import importlib

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


RUN = {"another": run_another}
