"""Small functions for the engines' tests, found by name (`secure_functions:...`) in every process that needs them."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax


def pair_product(a, b, noise_a, noise_b):
    return 256 * (a.T @ b) + noise_a + noise_b


def arithmetic(x, y):
    return x * y + 0.5 * x, x @ y.T, jnp.maximum(x, y), jnp.where(x > y, x, -y)


def inverse_roots(x):
    return lax.rsqrt(x)


def negative(x):
    return -x


def refused(x):
    raise ValueError("this function cannot be compiled")


class BrokenEntropy:
    """Entropy that stops at a check of ours, to see what a party says of its own bugs."""

    def bytes(self, n):
        raise AssertionError("secret detail")
