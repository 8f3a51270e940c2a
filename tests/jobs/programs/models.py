# SPDX-License-Identifier: Apache-2.0
"""Modes of gpu_job.py with models as people write them, only tiny: a decoder with rotary embeddings, grouped
queries and a KV cache; an encoder with dropout that is trained; one block compiled and used many times."""

import torch
import torch.utils.checkpoint
from torch.nn import functional

WIDTH, HEADS, KV_HEADS, LENGTH, WORDS = 32, 4, 2, 16, 64
HEAD = WIDTH // HEADS


class RMSNorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


def rotate(x, positions):
    """Rotary embedding: each pair of numbers is turned by an angle that grows with its position."""
    speed = 10000.0 ** (-torch.arange(0, HEAD, 2, device=x.device) / HEAD)
    angle = torch.cat([positions[:, None] * speed] * 2, -1)
    left, right = x.chunk(2, -1)
    return x * angle.cos() + torch.cat([-right, left], -1) * angle.sin()


class Attention(torch.nn.Module):
    """Grouped queries: two heads share each key and value."""

    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.keys = torch.nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.values = torch.nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.out = torch.nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, positions, cache=None):
        batch, length, _ = x.shape
        query, keys, values = (part(x).view(batch, length, -1, HEAD).transpose(1, 2)
                               for part in (self.query, self.keys, self.values))
        query, keys = rotate(query, positions), rotate(keys, positions)
        if cache is not None:
            keys, values = (old.index_copy_(2, positions, new) for old, new in zip(cache, (keys, values)))
        seen = torch.arange(keys.shape[2], device=x.device)[None, :] <= positions[:, None]
        mixed = functional.scaled_dot_product_attention(query, keys, values, attn_mask=seen, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.attention = RMSNorm(), RMSNorm(), Attention()
        self.gate, self.up, self.down = (torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def forward(self, x, positions, cache=None):
        x = x + self.attention(self.first(x), positions, cache)
        y = self.second(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, WIDTH)
        self.block, self.norm = Block(), RMSNorm()

    def forward(self, words, positions, cache):
        x = self.block(self.embedding(words), positions, cache)
        return self.norm(x) @ self.embedding.weight.t()


def run_llama(device, options):
    """A prompt, then word by word: two shapes, each a graph that writes into the KV cache."""
    model = torch.compile(Decoder().to(device), fullgraph=True, dynamic=False)
    cache = tuple(torch.zeros(1, KV_HEADS, LENGTH, HEAD, device=device) for _ in range(2))
    with torch.inference_mode():
        model(torch.zeros(1, 8, dtype=torch.long, device=device), torch.arange(8, device=device), cache)
        for at in range(8, 8 + options.steps):
            model(torch.zeros(1, 1, dtype=torch.long, device=device), torch.arange(at, at + 1, device=device), cache)


def run_checkpointed(device, options):
    """Training with the activations computed again in the backward."""
    block = torch.nn.Sequential(RMSNorm(), torch.nn.Linear(WIDTH, WIDTH), torch.nn.SiLU()).to(device)

    @torch.compile
    def function(x):
        return x + torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)

    for _ in range(options.steps):
        function(torch.zeros(8, WIDTH, device=device)).square().mean().backward()


def run_regional(device, options):
    """Only the blocks are compiled, each by itself; they have one graph."""
    blocks = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU()) for _ in range(3))
    for block in blocks.to(device):
        block.compile(fullgraph=True)
    for _ in range(options.steps):
        x = torch.zeros(8, WIDTH, device=device, requires_grad=True)  # as it is for all blocks but the first
        for block in blocks:
            x = x + block(x)
        x.square().mean().backward()


class Encoder(torch.nn.Module):
    """Of a layer, what has kernels of its own: embeddings, a norm, attention, dropout, and a head that shares weights."""

    def __init__(self):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
        self.norm, self.drop = torch.nn.LayerNorm(WIDTH), torch.nn.Dropout(0.1)
        self.mixed, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, words):
        places = torch.arange(words.shape[1], device=words.device)
        x = self.norm(self.words(words) + self.places(places))
        parts = (part.unflatten(-1, (HEADS, HEAD)).transpose(1, 2) for part in self.mixed(x).chunk(3, -1))
        x = x + self.drop(self.out(functional.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2)))
        return x @ self.words.weight.t()


def run_bert(device, options):
    """Dropout draws from this device's generator."""
    model = torch.compile(Encoder().to(device))
    for _ in range(options.steps):
        model(torch.zeros(2, 8, dtype=torch.long, device=device)).square().mean().backward()


def run_sizes(device, options):
    """Sizes that change: found out by recompiling, and said beforehand with and without limits."""

    def found_out(x):
        return torch.softmax(x, -1) * 2

    def said(x):
        return torch.sin(x).sum(0)

    with torch.no_grad():
        compiled = torch.compile(found_out)
        for rows in (16, 24, 40):
            compiled(torch.zeros(rows, 32, device=device))
        for limits in ({}, {"min": 4, "max": 64}):
            torch._dynamo.reset()
            compiled = torch.compile(said, fullgraph=True)
            for columns in (16, 48):
                x = torch.zeros(8, columns, device=device)
                torch._dynamo.mark_dynamic(x, 1, **limits)
                compiled(x)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, at):
        return torch.full((WIDTH,), float(at))


def run_loaders(device, options):
    """Batches come from worker processes, forked and spawned after CUDA is up and a graph compiled."""
    model = torch.compile(torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU()).to(device))
    seen = []
    with torch.no_grad():
        model(torch.zeros(2, WIDTH, device=device))
        for how in ("fork", "spawn"):
            loader = torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=1,
                                                 multiprocessing_context=how)
            for batch in loader:
                model(batch.to(device))
                seen += batch[:, 0].tolist()
    return seen


RUN = {"llama": run_llama, "checkpointed": run_checkpointed, "regional": run_regional, "bert": run_bert,
       "sizes": run_sizes, "loaders": run_loaders}
