# SPDX-License-Identifier: Apache-2.0
"""A stage of a pipeline. Both stages compile the same graph, which may be measured on the GPU meanwhile.

    stage.py feeds|needs --device 3 --meeting FOLDER --report FILE

The one that needs has queued its receive before the measurement, so that the GPU comes to it when the other
stage has sent; the other sends when it has run its graph. A FIFO is that queue.
"""

import argparse
import os
import time
from pathlib import Path

import torch
from torch._inductor.graph import GraphLowering

import report


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("role", choices=("feeds", "needs"))
    parser.add_argument("--device", type=int, required=True)
    parser.add_argument("--meeting", type=Path, required=True)
    parser.add_argument("--report", required=True)
    return parser.parse_args()


def measure_behind_receive(queue, measuring):
    """The compiler's next graph is measured, and that waits for the queue."""
    compile_to_module = GraphLowering.compile_to_module

    def measured(*arguments):
        measuring.touch()
        os.read(queue, 1)
        return compile_to_module(*arguments)

    GraphLowering.compile_to_module = measured


def main():
    options = parse()
    torch.cuda.set_device(options.device)
    torch._inductor.config.pattern_matcher = False
    report.listen()
    queue = os.open(options.meeting / "queue", os.O_RDWR)
    measuring = options.meeting / "measuring"
    if options.role == "needs":
        measure_behind_receive(queue, measuring)
    else:
        while not measuring.exists():
            time.sleep(0.05)
    function = torch.compile(lambda x: torch.sin(x) + 1, fullgraph=True, options={"max_autotune": True})
    with torch.no_grad():
        function(torch.zeros(4096, device=torch.device("cuda", options.device)))
    if options.role == "feeds":
        os.write(queue, b"x")
    report.write(options.report, gpu=True, devices=[options.device], results=[], blob_ordinals=[])


if __name__ == "__main__":
    main()
