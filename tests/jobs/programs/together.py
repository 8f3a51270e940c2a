# SPDX-License-Identifier: Apache-2.0
"""Modes of gpu_job.py whose ranks work together: collectives in graphs, DDP, FSDP2, tensor parallel. Kernels
never run on pretended GPUs, but gloo moves real data, so what only collectives touch can be compared."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 128)
        self.second = torch.nn.Linear(128, 64)

    def forward(self, x):
        return self.second(torch.nn.functional.gelu(self.first(x)))


def train(model, device, options):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    for _ in range(options.steps):
        optimizer.zero_grad()
        model(torch.ones(32, 64, device=device)).square().mean().backward()
        optimizer.step()


def numbers(rank, count):
    """Data of one rank that no other has."""
    return torch.arange(count, dtype=torch.float32) + 1000 * (rank + 1)


def run_ddp(device, options):
    model = torch.nn.parallel.DistributedDataParallel(Network().to(device), device_ids=[device.index])
    train(torch.compile(model), device, options)


def run_reducer(device, options):
    """DDP whose all_reduce is traced into the backward graph."""
    torch._dynamo.config.optimize_ddp = "python_reducer"
    torch._dynamo.config.compiled_autograd = True
    run_ddp(device, options)


def run_coll(device, options):
    @torch.compile(fullgraph=True)
    def function(x):
        return collectives.all_reduce(torch.sin(x) + 1, "sum", dist.group.WORLD) * 2

    with torch.no_grad():
        for _ in range(options.steps):
            function(torch.zeros(4096, device=device))


def functional(x, y):
    """Each kind of functional collective; all but the first read data that no kernel has touched."""
    group = dist.group.WORLD
    summed = collectives.all_reduce(x, "sum", group)
    first = collectives.all_gather_tensor(x, 0, group)
    second = collectives.all_gather_tensor(y, 0, group)
    scattered = collectives.reduce_scatter_tensor(y, "sum", 0, group)
    return first, second, scattered, torch.sin(summed) + 1


def run_functional(device, options, **settings):
    rank = dist.get_rank()
    torch._dynamo.reset()  # the same function again, with other settings
    with torch.no_grad(), torch._inductor.config.patch(settings):
        compiled = torch.compile(functional, fullgraph=True)
        for _ in range(options.steps):
            result = compiled(numbers(rank, 8).to(device), numbers(rank, 16).to(device))
    return [part.cpu().tolist() for part in result[:3]]


def run_reorder(device, options):
    """Ranks compare their graphs while they compile: who waits for another leaves it alone there."""
    return run_functional(device, options, reorder_for_compute_comm_overlap=True, **{
        "aten_distributed_optimizations.spmd_check": True})


def run_bucketing(device, options):
    """Bucketed all_gathers write at the rank's own offset. Kernels fill the buckets, so there is no result."""
    run_functional(device, options, bucket_all_gathers_fx="all")


def run_overlap(device, options):
    """Ranks compare their graphs, and their own offsets get into the code."""
    run_functional(device, options, **{
        "aten_distributed_optimizations.enable_overlap_scheduling": True,
        "aten_distributed_optimizations.spmd_check": True})


def run_fsdp(device, options):
    from torch.distributed.fsdp import fully_shard

    model = Network().to(device)
    for part in (model.first, model.second):
        fully_shard(part)
    fully_shard(model)
    train(torch.compile(model), device, options)


def run_tensor(device, options):
    """Tensor parallel: DTensor parameters, and an all_reduce in each graph."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import parallel

    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    model = parallel.parallelize_module(Network().to(device), mesh, {
        "first": parallel.ColwiseParallel(), "second": parallel.RowwiseParallel()})
    train(torch.compile(model), device, options)


def run_dtensor(device, options):
    """A DTensor goes into a compiled function and is gathered there."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard

    mesh = init_device_mesh("cuda", (dist.get_world_size(),))

    @torch.compile(fullgraph=True)
    def function(x):
        return x.redistribute(placements=[Replicate()]).to_local(), torch.sin(x).to_local()

    with torch.no_grad():
        for _ in range(options.steps):
            local = numbers(dist.get_rank(), 8).to(device)
            result = function(DTensor.from_local(local, mesh, [Shard(0)], run_check=False))
    return result[0].cpu().tolist()


def run_stages(device, options):
    """A pipeline of two stages with equal blocks. The first one's output goes forward, its gradient comes back."""
    stage = torch.compile(Network().to(device), fullgraph=True)
    for _ in range(options.steps):
        if dist.get_rank() == 0:
            sent = stage(torch.ones(32, 64, device=device, requires_grad=True))
            dist.send(sent.detach(), 1)
            back = torch.empty_like(sent)
            dist.recv(back, 1)
            sent.backward(back)
        else:
            got = torch.empty(32, 64, device=device)
            dist.recv(got, 0)
            stage(got.requires_grad_()).sum().backward()
            dist.send(got.grad, 0)


RUN = {"ddp": run_ddp, "reducer": run_reducer, "coll": run_coll, "functional": run_functional,
       "reorder": run_reorder, "bucketing": run_bucketing, "overlap": run_overlap, "fsdp": run_fsdp,
       "tensor": run_tensor, "dtensor": run_dtensor, "stages": run_stages}
