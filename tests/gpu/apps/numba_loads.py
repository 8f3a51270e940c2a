# SPDX-License-Identifier: Apache-2.0
"""Numba: a kernel compiled by numba.cuda."""
import sys

import numpy

# numba-cuda 0.2x still names what NumPy 2.5 has dropped.
if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack
from numba import cuda  # noqa: E402


@cuda.jit
def add_one(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += 1


def main():
    values = cuda.to_device(numpy.arange(1000, dtype=numpy.float32))
    add_one[4, 256](values)
    print("numba", values.copy_to_host().sum())


if __name__ == "__main__":
    sys.exit(main())
