"""DPVI without partition: the paper's yardstick, on one table that holds every column.

It shares every public part with the partitioned learner: model, packing, batches, start, step, noise scale. Only the
gradient is another: automatic differentiation of each record's joint log density, clipped in floating point. So a
difference between the two is the price of fixed point, grids and slack, and of nothing else.

For benchmarks and tests; it protects towards an analyst as `mechanism` says, and towards nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.experimental import enable_x64

from vertwin.agreement import Agreement
from vertwin.learners.dpvi.batches import Batches, learner_of, public_seed
from vertwin.learners.dpvi.mechanism import packing_for
from vertwin.learners.dpvi.step import Ascent
from vertwin.model import mixture
from vertwin.model.packing import Packing
from vertwin.model.posterior import MeanField
from vertwin.noise import DiscreteGaussian, Entropy
from vertwin.privacy.mechanism import GradientReleases

CHUNK: Final = 128  # records whose gradients are in memory at a time, K x width numbers each


def fit(
    agreement: Agreement, values: Sequence[np.ndarray], mechanism: GradientReleases, entropy: Entropy | None
) -> MeanField:
    """The posterior at the end of the run. `values`: one array per column, as its family reads it, in the packing's
    order. Without `entropy` no noise is added and nothing is private: for comparisons of the algorithm alone."""
    with enable_x64():
        return _fit(agreement, values, mechanism, entropy)


def _fit(
    agreement: Agreement, values: Sequence[np.ndarray], mechanism: GradientReleases, entropy: Entropy | None
) -> MeanField:
    learner, packing = learner_of(agreement), packing_for(agreement)
    batches = Batches.of(agreement, len(values[0]))
    gradient = partial(clipped_gradient, packing, threshold=mechanism.clipping_threshold)
    variance = sum(mechanism.grid_variance(share.holder) for share in mechanism.noise)
    noise = DiscreteGaussian(variance) if entropy is not None else None
    ascent = Ascent(
        packing, steps=learner.steps, step_size=learner.step_size, decay=learner.decay, fraction=batches.fraction
    )
    randomness = np.random.default_rng(public_seed(agreement, "eta"))
    state = ascent.start(randomness)
    arrays = [np.asarray(x) for x in values]
    for batch in batches.steps(learner.steps):
        eta = randomness.normal(size=packing.shape)
        theta = ascent.sample(state, eta)
        real = batch >= 0
        rows = np.where(real, batch, 0)
        revealed = np.asarray(gradient([x[rows] for x in arrays], theta, real))
        if noise is not None and entropy is not None:
            drawn = noise.sample(revealed.size, entropy).reshape(revealed.shape)
            revealed = revealed + drawn * 2.0**-mechanism.grid_bits
        state = ascent.advance(state, revealed, theta, eta)
    return MeanField(np.asarray(state.posterior.mean), np.asarray(state.posterior.log_scale))  # type: ignore[arg-type]


@partial(jax.jit, static_argnames=("packing", "threshold"))
def clipped_gradient(
    packing: Packing, values: Sequence[Array], theta: Array, real: Array, *, threshold: float
) -> Array:
    """The sum of each record's gradient by autodiff, its norm at most `threshold`; rows of padding count nothing."""

    def one(record: Sequence[Array], counts: Array) -> Array:
        gradient = jax.grad(lambda t: mixture.log_density(packing, [x[None] for x in record], t)[0])(theta)
        norm = jnp.sqrt(jnp.sum(gradient**2))
        return gradient * jnp.minimum(1.0, threshold / jnp.maximum(norm, 1e-300)) * counts

    records = len(real)
    if records <= CHUNK:
        return jnp.sum(jax.vmap(one)(list(values), real), axis=0)
    padding = -records % CHUNK
    chunks = [jnp.pad(x, (0, padding), mode="edge").reshape(-1, CHUNK) for x in values]
    counted = jnp.pad(real, (0, padding)).reshape(-1, CHUNK)

    def add(total: Array, chunk: tuple[Sequence[Array], Array]) -> tuple[Array, None]:
        return total + jnp.sum(jax.vmap(one)(*chunk), axis=0), None

    return lax.scan(add, jnp.zeros(packing.shape), (chunks, counted))[0]
