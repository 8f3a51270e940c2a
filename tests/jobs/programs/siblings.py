# SPDX-License-Identifier: Apache-2.0
"""Ranks that one parent starts, as vLLM and torch.multiprocessing do; the parent itself uses no GPU.

    siblings.py fork|spawn MODE --report FILE DEVICE...
"""

import argparse
import json
import multiprocessing
import os
import sys

import gpu_job


def child(number, world, mode, device, path):
    os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": str(world)}
    sys.argv = ["gpu_job.py", mode, "--device", str(device), "--report", path]
    gpu_job.main()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("how", choices=("fork", "spawn"))
    parser.add_argument("mode")
    parser.add_argument("devices", type=int, nargs="+")
    parser.add_argument("--report", required=True)
    options = parser.parse_args()
    context = multiprocessing.get_context(options.how)
    paths = [f"{options.report}.{number}" for number in range(len(options.devices))]
    started = [context.Process(target=child, args=(number, len(paths), options.mode, device, paths[number]))
               for number, device in enumerate(options.devices)]
    for process in started:
        process.start()
    for process in started:
        process.join()
    codes = [process.exitcode for process in started]
    if any(codes):
        sys.exit(f"children ended with {codes}")
    ranks = []
    for path in paths:
        with open(path) as file:
            ranks.append(json.load(file))
    with open(options.report, "w") as file:
        json.dump({"ranks": ranks}, file)


if __name__ == "__main__":
    main()
