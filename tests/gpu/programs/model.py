# SPDX-License-Identifier: Apache-2.0
"""One rank that runs one small model, or one way to run a model, by itself.

    model.py REPORT --device N --kind NAME [--steps K]

The names are the functions of kinds_layers.py, kinds_modes.py and kinds_custom.py. Where this torch has no such
thing, the report says what is missing.
"""
import argparse
import time

import torch

import kinds_custom
import kinds_layers
import kinds_modes
from common import Missing, take_device, write_report, write_skipped


def main():
    kinds = {kind.__name__: kind for module in (kinds_layers, kinds_modes, kinds_custom) for kind in module.KINDS}
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("--device", type=int, required=True)
    parser.add_argument("--kind", required=True, choices=kinds)
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()

    device = take_device(args.device)
    try:
        step = kinds[args.kind](device)
    except Missing as what:
        return write_skipped(args.report, f"no {what} in torch {torch.__version__}")
    results, began, first = [], time.monotonic(), None
    for number in range(args.steps):
        results += step(number)
        first = first or time.monotonic() - began
    torch.cuda.synchronize()
    write_report(args.report, device, results, first)


main()
