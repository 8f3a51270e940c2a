# SPDX-License-Identifier: Apache-2.0
"""Small models, forward and backward. Each function makes one and returns its step: number -> list of losses."""
import torch
from torch import nn
from torch.nn import functional as F

from common import WIDTH, Block, needs, random_batch, trainer

VOCABULARY = 500


def tokens(number, *shape):
    return torch.randint(VOCABULARY, shape, generator=torch.Generator().manual_seed(number))


def mlp(device):
    model = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.LayerNorm(2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH))
    return trainer(model.to(device), lambda number: (random_batch(number, device, 32, WIDTH),))


def conv(device):
    """Strides instead of pooling: some backwards of pooling have no deterministic form."""
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                          nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.Flatten(2), nn.Linear(256, 32))
    return trainer(model.to(device), lambda number: (random_batch(number, device, 4, 3, 32, 32),))


class Bert(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(length, WIDTH)
        self.register_buffer("numbers", torch.arange(length))
        self.norm, self.block = nn.LayerNorm(WIDTH), Block()
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, given, wanted):
        x = self.block(self.norm(self.words(given) + self.places(self.numbers)))
        return F.cross_entropy(self.head(x).flatten(0, -2), wanted.flatten())


def bert(device):
    """Embeddings, whose gradients torch adds up in a fixed order here because it is told to be deterministic."""
    data = lambda number: (tokens(number, 4, 32).to(device), tokens(number + 100, 4, 32).to(device))
    return trainer(Bert(32).to(device), data, lambda loss: loss)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(VOCABULARY, 64, mode="sum"), nn.Linear(64, 64)

    def forward(self, words, offsets):
        return self.head(torch.relu(self.bag(words, offsets)))


def bag(device):
    offsets = torch.tensor([0, 5, 5, 17, 40], device=device)
    return trainer(Bag().to(device), lambda number: (tokens(number, 64).to(device), offsets))


class Flex(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.mask, self.into, self.out = mask, nn.Linear(64, 3 * 64), nn.Linear(64, 64)

    def forward(self, x):
        from torch.nn.attention.flex_attention import flex_attention
        q, k, v = self.into(x).chunk(3, -1)
        mixed = flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score - 0.1 * (i - j), block_mask=self.mask)
        return self.out(mixed)


def flex(device):
    """A score that depends on the distance, and a causal mask of blocks."""
    needs("torch.nn.attention.flex_attention")
    from torch.nn.attention.flex_attention import create_block_mask
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 256, 256, device=device)
    return trainer(Flex(mask).to(device), lambda number: (random_batch(number, device, 2, 2, 256, 64),))


KINDS = (mlp, conv, bert, bag, flex)
