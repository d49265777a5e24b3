"""The joint mixture: log density, responsibilities, prior. The slow, exact twin of everything the secure step does."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from vertwin.model import simplex
from vertwin.model.packing import Block, Packing

Values = Sequence[Array | np.ndarray]  # one array of records per block, in the packing's order


def component_log_density(blocks: Sequence[Block], values: Values, theta: Array) -> Array:
    """sum over the blocks of log F(x_n | psi_k), (B x K): one holder's part, or everybody's."""
    assert len(blocks) == len(values) > 0
    terms = [block.family.log_density(jnp.asarray(x), block.of(theta)) for block, x in zip(blocks, values, strict=True)]
    return sum(terms[1:], terms[0])


def log_density(packing: Packing, values: Values, theta: Array) -> Array:
    """log sum_k pi_k prod F(x_n | rho_k), per record."""
    weights = simplex.log_weights(packing.weight_logits(theta))
    return jax.nn.logsumexp(weights + component_log_density(packing.blocks, values, theta), axis=1)


def responsibilities(packing: Packing, values: Values, theta: Array) -> Array:
    """r_nk: how far record n belongs to component k; every row sums to one."""
    weights = simplex.log_weights(packing.weight_logits(theta))
    return jax.nn.softmax(weights + component_log_density(packing.blocks, values, theta), axis=1)


def log_prior(packing: Packing, theta: Array) -> Array:
    """The log prior density of theta in unconstrained space, every log-Jacobian included."""
    columns = sum(jnp.sum(block.family.log_prior(block.of(theta))) for block in packing.blocks)
    return simplex.log_prior(packing.weight_logits(theta)) + columns


def record_gradient(packing: Packing, values: Values, theta: Array) -> Array:
    """The gradient of each record's log density, (B x K x width), from responsibilities and scores.

    [r - pi, r u]: what the secure step computes, written out. Its autodiff twin is in the tests.
    """
    r = responsibilities(packing, values, theta)
    weights = simplex.weights(packing.weight_logits(theta))
    scores = [
        r[:, :, None] * block.family.score(jnp.asarray(x), block.of(theta))
        for block, x in zip(packing.blocks, values, strict=True)
    ]
    return jnp.concatenate([(r - weights)[:, :, None], *scores], axis=2)
