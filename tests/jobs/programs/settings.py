# SPDX-License-Identifier: Apache-2.0
"""Settings of torch that are given on gpu_job.py's command line."""

import torch


def apply(text):
    """ "inductor.max_autotune=True,functorch.bundled_autograd_cache=True" """
    configs = {"inductor": torch._inductor.config, "functorch": torch._functorch.config,
               "dynamo": torch._dynamo.config}
    for setting in filter(None, text.split(",")):
        name, _, value = setting.partition("=")
        module, _, name = name.partition(".")
        setattr(configs[module], name, {"True": True, "False": False}.get(value, value))


def pretend(version):
    """As under a torch that nobody knows."""
    torch.__version__ = torch.torch_version.TorchVersion(version)
