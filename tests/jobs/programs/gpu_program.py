# SPDX-License-Identifier: Apache-2.0
"""Runs a program of tests/gpu/programs on pretended GPUs; its report tells also what the process holds in memory.

    gpu_program.py REPORT [--gloo] PROGRAM [OPTION...]

--gloo: the process group that the program makes moves real data, which the pretended NCCL doesn't.
"""
import runpy
import sys
from pathlib import Path

import lean  # noqa: F401, first of all
import torch
import torch.distributed as dist

import report

PROGRAMS = Path(__file__).resolve().parents[2] / "gpu" / "programs"
sys.path.insert(0, str(PROGRAMS))
import common  # noqa: E402


def write_report(path, device, results, first_s):
    report.write(path, gpu=True, devices=[device.index], results=[repr(result) for result in results],
                 torch=torch.__version__)


def make_group(_, **__):
    join("gloo")


path, *rest = sys.argv[1:]
if rest[0] == "--gloo":
    join, dist.init_process_group = dist.init_process_group, make_group
    rest = rest[1:]
program, *options = rest
torch._inductor.config.pattern_matcher = False  # saves ten seconds for each process
torch.backends.cudnn.enabled = False  # there is none
common.write_report = write_report
report.listen()
sys.argv = [program, path, *options]
runpy.run_path(str(PROGRAMS / program), run_name="__main__")
