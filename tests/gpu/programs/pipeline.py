# SPDX-License-Identifier: Apache-2.0
"""Two pipeline stages that run the same block. Stage 1 queues its receive first and then compiles with
benchmarks on the GPU, which stand behind that receive in the stream; only stage 0 can feed it, and stage 0
may be waiting for stage 1's compilation. Plain, each compiles for itself and nothing depends on anything.

    pipeline.py REPORT --device N
"""
import argparse
import time

import torch
import torch.distributed as dist

from common import WIDTH, Block, batches, take_device, write_report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("--device", type=int, required=True)
    args = parser.parse_args()
    device = take_device(args.device)
    dist.init_process_group("nccl", device_id=device)
    stage = dist.get_rank()
    block = Block().to(device).eval()
    compiled = torch.compile(block, mode="max-autotune-no-cudagraphs")
    # The channel exists before anything is queued on it: the first transfer of a pair holds the thread.
    warm = torch.ones(1, device=device)
    dist.all_reduce(warm)
    dist.send(warm, 1) if stage == 0 else dist.recv(warm, 0)
    torch.cuda.synchronize()
    results, began = [], time.monotonic()
    with torch.no_grad():
        if stage == 0:
            time.sleep(10)  # so that stage 1 is the producer
            given = batches(1, device, (4, 64, WIDTH))[0]
            sent = compiled(given)
            dist.send(sent, 1)
        else:
            given = torch.empty(4, 64, WIDTH, device=device)
            dist.irecv(given, 0).wait()  # the stream waits, not the thread
            sent = compiled(given)
        results.append(sent.double().sum().item())
    first = time.monotonic() - began
    write_report(args.report, device, results, first)
    dist.barrier()
    dist.destroy_process_group()


main()
