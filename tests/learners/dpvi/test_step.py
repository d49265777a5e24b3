"""From a revealed sum to the next parameters: the gradient of the whole ELBO, and the steps along it."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from model.small_models import mixed, mixed_records

from vertwin.learners.dpvi.parameters import public_scales
from vertwin.learners.dpvi.step import Ascent, Schedule, elbo_gradient
from vertwin.learners.dpvi.trajectory import twin_of
from vertwin.model import mixture, posterior
from vertwin.model.posterior import MeanField


@pytest.mark.parametrize("fraction", [1.0, 0.125])
def test_the_gradient_is_autodiffs_of_the_whole_elbo(fraction: float) -> None:
    """A minibatch that is exactly `fraction` of the data, its scores scaled as the public scale says."""
    packing, rng = mixed(3), np.random.default_rng(1)
    values = mixed_records(packing, 30, rng)
    mean = jnp.asarray(rng.normal(size=packing.shape)).at[:, 6].add(40.0)  # a steep Beta: its scale is below 1
    q = MeanField(mean, jnp.asarray(rng.normal(size=packing.shape) - 1))
    eta = jnp.asarray(rng.normal(size=packing.shape))
    theta = posterior.sample(q, eta)

    def elbo(p: MeanField) -> jax.Array:
        at = posterior.sample(p, eta)
        data = jnp.sum(mixture.log_density(packing, values, at))
        return data + mixture.log_prior(packing, at) + posterior.entropy(p)

    scales = jax.jit(partial(public_scales, packing))(theta)
    whole = jax.jit(lambda t: jnp.sum(mixture.record_gradient(packing, values, t), axis=0))(theta)
    found = jax.jit(partial(elbo_gradient, packing))(q, whole * scales * fraction, theta, eta, fraction)
    expected = jax.jit(jax.grad(elbo))(q)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.log_scale, expected.log_scale, rtol=1e-7, atol=1e-7)


def test_schedules() -> None:
    cosine = [Schedule(10, 0.2, "cosine").at(step) for step in range(10)]
    assert cosine[0] == 0.2
    assert all(a > b > 0 for a, b in pairwise(cosine))
    assert {Schedule(10, 0.2, "none").at(step) for step in range(10)} == {0.2}
    with pytest.raises(AssertionError):
        Schedule(10, 0.2, "linear").at(0)  # type: ignore[arg-type]


def test_a_step_goes_uphill_and_is_a_function_of_public_things() -> None:
    packing, rng = mixed(2), np.random.default_rng(2)
    ascent = Ascent(packing, steps=10, step_size=0.1, decay="none", fraction=1.0)
    state = ascent.start(np.random.default_rng(3))
    eta = rng.normal(size=packing.shape)
    theta = ascent.sample(state, eta)
    revealed = 1e6 * rng.choice([-1.0, 1.0], packing.shape)
    moved, again = (ascent.advance(state, revealed, theta, eta) for _ in range(2))
    assert np.array_equal(moved.posterior.mean, again.posterior.mean)
    np.testing.assert_allclose(moved.posterior.mean - state.posterior.mean, 0.1 * np.sign(revealed), rtol=1e-3)
    assert moved.step == 1


def test_the_start_depends_on_the_public_seed_alone() -> None:
    packing = mixed(2)
    ascent = Ascent(packing, steps=10, step_size=0.1, decay="none", fraction=1.0)
    first, again, other = (ascent.start(np.random.default_rng(seed)).posterior.mean for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_twin_is_the_mixture_at_the_mean() -> None:
    packing, rng = mixed(3), np.random.default_rng(4)
    mean = rng.normal(size=packing.shape)
    order = tuple(reversed([block.column for block in packing.blocks]))
    twin = twin_of(packing, mean, order)
    assert tuple(column.column for column in twin.columns) == order
    np.testing.assert_allclose(twin.weights, jax.nn.softmax(mean[:, 0]), rtol=1e-12)
    values = mixed_records(packing, 20, rng, missing=0.0)
    density = np.tile(np.log(twin.weights), (20, 1))
    for column in twin.columns:
        number = [block.column for block in packing.blocks].index(column.column)
        block, x = packing.blocks[number], values[number]
        if column.form == "categorical":
            density += np.log(column.values[:, x]).T
        else:
            density += np.asarray(block.family.log_density(jnp.asarray(x), block.of(jnp.asarray(mean))))
    found = np.logaddexp.reduce(density, axis=1)
    np.testing.assert_allclose(found, mixture.log_density(packing, values, jnp.asarray(mean)), rtol=1e-9)
