# SPDX-License-Identifier: Apache-2.0
"""Kernels and operators of the program's own, and loops inside a graph. Each function returns a step."""
import torch
import triton
import triton.language as tl

from common import WIDTH, needs, random_batch


@triton.jit
def plain_kernel(x_ptr, y_ptr, out_ptr, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x, y = tl.load(x_ptr + at, mask=inside), tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x * factor + y, mask=inside)


axpy_kernel = triton.autotune([triton.Config({"BLOCK": block}, num_warps=4) for block in (128, 256, 512)],
                              key=["n"])(plain_kernel)


def axpy(x, y, factor, kernel=axpy_kernel, **fixed):
    out = torch.empty_like(x)
    n = x.numel()
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, factor, n, **fixed)
    return out


def without_gradients(function, device, *shape):
    def step(number):
        with torch.no_grad():
            result = function(random_batch(number, device, *shape))
        return [part.double().sum().item() for part in (result if isinstance(result, tuple) else (result,))]
    return step


def kernels(device):
    """A kernel with several configurations inside a compiled function, and launched by the program with one. Each
    element stands for itself, so it does not matter which configuration wins."""
    compiled = torch.compile(lambda x: axpy(torch.sin(x), x, 2.0) + 1)
    return without_gradients(lambda x: (compiled(x), axpy(x, x, 3.0, plain_kernel, BLOCK=256)), device, 64, 1000)


@torch.library.custom_op("gpujobs::halve", mutates_args=())
def halve(x: torch.Tensor) -> torch.Tensor:
    return x * 0.5


halve.register_fake(lambda x: torch.empty_like(x))
halve.register_autograd(lambda context, gradient: gradient * 0.5)


@torch.library.custom_op("gpujobs::add_into", mutates_args=("into",))
def add_into(into: torch.Tensor, x: torch.Tensor) -> None:
    into.add_(x)


def ops(device):
    """Operators that torch.compile cannot look into, one with a backward and one that changes its input, and one
    around a Triton kernel, into which it can."""
    needs("torch.library.triton_op")

    @torch.library.triton_op("gpujobs::axpy", mutates_args=())
    def wrapped(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return axpy(x, y, 2.0, torch.library.wrap_triton(axpy_kernel))

    weight = torch.ones(WIDTH, device=device, requires_grad=True)
    trained = torch.compile(lambda x: halve(torch.sin(x * weight)).square().sum())

    def changing(x):
        into = torch.cos(x)
        add_into(into, x)
        return wrapped(into, x) * 2

    changed = torch.compile(changing)

    def step(number):
        x = random_batch(number, device, 16, WIDTH)
        loss = trained(x)
        loss.backward()
        with torch.no_grad():
            result = changed(x).double().sum().item()
        return [loss.item(), weight.grad.double().sum().item(), result]
    return step


def loop(device):
    """A loop that ends by a number on the CPU: torch.while_loop."""
    needs("torch._higher_order_ops.while_loop.while_loop")
    from torch._higher_order_ops.while_loop import while_loop

    def looping(x):
        count = torch.zeros((), dtype=torch.int64)
        _, y = while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, torch.sin(y) + 0.5), (count, torch.cos(x)))
        return y * 2

    return without_gradients(torch.compile(looping, fullgraph=True), device, 16, WIDTH)


def scan(device):
    needs("torch._higher_order_ops.scan.scan")
    from torch._higher_order_ops.scan import scan as over

    def scanning(x):
        last, all_of_them = over(lambda carry, row: (torch.tanh(carry + row), carry * row), x[0].clone(), x, dim=0)
        return last, all_of_them + 1

    return without_gradients(torch.compile(scanning, fullgraph=True), device, 8, WIDTH)


KINDS = (kernels, ops, loop, scan)
