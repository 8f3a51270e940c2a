# SPDX-License-Identifier: Apache-2.0
"""Ways to compile and to run a model: optimizers, CUDA graphs, autotuning, dynamic shapes, random numbers, streams.
Each function returns a step: number -> list of results."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from common import WIDTH, Block, needs, random_batch, trainer


def small(*between):
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), *between, nn.GELU(), nn.Linear(WIDTH, WIDTH))


def optimizer(device):
    """The optimizer's step is the compiled graph: foreach kernels over all parameters."""
    model = nn.Sequential(small(), small(nn.LayerNorm(WIDTH))).to(device)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True, capturable=True)
    update = torch.compile(lambda: adam.step())

    def step(number):
        adam.zero_grad()
        loss = model(random_batch(number, device, 16, WIDTH)).square().mean()
        loss.backward()
        update()
        return [loss.item()]
    return step


def cudagraphs(device):
    """Recorded and replayed CUDA graphs, forward and backward; the second result is how many there are."""
    from torch._inductor.cudagraph_trees import get_manager
    step = trainer(small(nn.LayerNorm(WIDTH)).to(device), lambda number: (random_batch(number, device, 16, WIDTH),),
                   mode="reduce-overhead")

    def recorded(number):
        losses = step(number)
        manager = get_manager(device.index, create_if_none_exists=False)
        graphs = sum(map(len, manager.roots.values())) if manager else 0
        assert graphs or number < 3, "no CUDA graph was recorded"
        return [*losses, float(graphs)]
    return recorded


def autotune(device):
    """Products of small whole numbers are exact in any order, so it does not matter which configuration wins."""
    torch.use_deterministic_algorithms(False)
    if hasattr(torch._inductor.config, "test_configs"):
        torch._inductor.config.test_configs.max_mm_configs = 4  # of some twenty, each compiled and measured
    whole = lambda number, *shape: torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(number)).float()
    first, second = whole(1, WIDTH, 512).to(device), whole(2, 512, 128).to(device)
    compiled = torch.compile(lambda x: torch.relu(x @ first) @ second, mode="max-autotune-no-cudagraphs")

    def step(number):
        with torch.no_grad():
            return [compiled(whole(number + 10, 64, WIDTH).to(device)).double().sum().item()]
    return step


def dynamic(device):
    """A graph for the first length, and one for all others."""
    lengths = (6, 9, 6, 12, 9)
    return trainer(small(nn.LayerNorm(WIDTH)).to(device),
                   lambda number: (random_batch(number, device, lengths[number % 5], WIDTH),))


def dropout(device):
    """Random numbers of torch.compile's own generator, and those of its fallback to torch's."""
    steps = []
    for fallback in (False, True):
        torch.manual_seed(5)
        step = trainer(small(nn.Dropout(0.2)).to(device), lambda number: (random_batch(number, device, 16, WIDTH),),
                       options={"fallback_random": fallback})
        steps.append(step)
    return lambda number: [loss for step in steps for loss in step(number)]


def generators(device):
    """Dropout that is computed again in the backward, from a saved state of the device's generator; the noise comes
    from a generator of the program's own."""
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = small(nn.Dropout(0.3))

        def forward(self, x):
            return x + checkpoint(self.part, x, use_reentrant=False)

    own = torch.Generator(device).manual_seed(7)
    noise = torch.compile(lambda x: torch.randn(x.shape, generator=own, device=x.device) + x)
    step = trainer(Checkpointed().to(device), lambda number: (noise(random_batch(number, device, 16, WIDTH)),))
    before = torch.cuda.default_generators[device.index].initial_seed()

    def counted(number):
        losses = step(number)
        assert torch.cuda.default_generators[device.index].initial_seed() == before
        return [*losses, float(torch.cuda.get_rng_state(device)[8])]  # how far the device's generator has come
    return counted


def streams(device):
    """A compiled function on a stream of its own, and one that changes the stream inside."""
    needs("torch.cuda.Stream")
    side, block = torch.cuda.Stream(device), Block().to(device).eval()
    compiled = torch.compile(block)

    def inside(x):
        y, outer = torch.sin(x), torch.cuda.current_stream()
        side.wait_stream(outer)
        with torch.cuda.stream(side):
            z = torch.cos(y) * 2
        outer.wait_stream(side)
        return z + y

    changes = torch.compile(inside)

    def step(number):
        x = random_batch(number, device, 4, 32, WIDTH)
        with torch.no_grad():
            side.wait_stream(torch.cuda.current_stream(device))
            with torch.cuda.stream(side):
                y = compiled(x)
            torch.cuda.current_stream(device).wait_stream(side)
            z = changes(y)
        torch.cuda.synchronize()
        return [y.double().sum().item(), z.double().sum().item()]
    return step


def inference(device):
    """torch.inference_mode, bfloat16 by autocast, torch's own attention."""
    into, out = nn.Linear(WIDTH, 3 * WIDTH).to(device), nn.Linear(WIDTH, WIDTH).to(device)

    def forward(x):
        q, k, v = into(x).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out(mixed.transpose(1, 2).flatten(-2))

    compiled = torch.compile(forward)

    def step(number):
        with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
            return [compiled(random_batch(number, device, 2, 64, WIDTH)).double().sum().item()]
    return step


KINDS = (optimizer, cudagraphs, autotune, dynamic, dropout, generators, streams, inference)
