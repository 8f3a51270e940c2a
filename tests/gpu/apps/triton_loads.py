# SPDX-License-Identifier: Apache-2.0
"""Triton alone: one kernel compiled, kept in the cache and launched."""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_sum(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) * 3 + tl.load(y + at, inside), inside)


def main():
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    out = torch.empty_like(x)
    scaled_sum[(4,)](x, x, out, 1000, BLOCK=256)
    print("triton", out.sum().item())


if __name__ == "__main__":
    sys.exit(main())
