# SPDX-License-Identifier: Apache-2.0
"""JAX: a jitted function with a matrix product and a reduction."""
import sys

import jax
import jax.numpy as jnp


@jax.jit
def step(x):
    return jnp.sum(jnp.sin(x) @ x.T + 1)


def main():
    x = jnp.arange(4096, dtype=jnp.float32).reshape(64, 64) / 4096
    print("jax", jax.devices()[0].platform, float(step(x)))


if __name__ == "__main__":
    sys.exit(main())
