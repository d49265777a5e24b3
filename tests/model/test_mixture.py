"""The joint mixture against brute force and automatic differentiation."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model.small_models import layout, mixed, mixed_records
from scipy import stats

from vertwin.model import mixture
from vertwin.model.families.bernoulli import Bernoulli
from vertwin.model.families.beta import EDGE, LEAST
from vertwin.model.families.categorical import Categorical

log_density = jax.jit(mixture.log_density, static_argnums=0)
responsibilities = jax.jit(mixture.responsibilities, static_argnums=0)
record_gradient = jax.jit(mixture.record_gradient, static_argnums=0)
by_autodiff = jax.jit(jax.jacrev(mixture.log_density, argnums=2), static_argnums=0)


def test_log_density_is_the_plain_sum_of_products() -> None:
    """In NumPy and SciPy, record by record, from the definition."""
    packing, rng = mixed(3), np.random.default_rng(1)
    values, theta = mixed_records(packing, 40, rng), rng.normal(size=packing.shape)
    pi = np.exp(theta[:, 0]) / np.exp(theta[:, 0]).sum()
    expected = np.zeros(40)
    for n, k in itertools.product(range(40), range(3)):
        product = pi[k]
        yes, four, (a, b), three = 1 / (1 + np.exp(-theta[k, 1])), theta[k, 2:6], theta[k, 6:8], theta[k, 8:11]
        if values[0][n] >= 0:
            product *= yes if values[0][n] else 1 - yes
        if values[1][n] >= 0:
            product *= np.exp(four[values[1][n]]) / np.exp(four).sum()
        if not np.isnan(values[2][n]):
            shape = LEAST + np.log1p(np.exp(a)), LEAST + np.log1p(np.exp(b))
            product *= stats.beta(*shape).pdf(np.clip(values[2][n], EDGE, 1 - EDGE))
        if values[3][n] >= 0:
            product *= np.exp(three[values[3][n]]) / np.exp(three).sum()
        expected[n] += product
    np.testing.assert_allclose(log_density(packing, values, jnp.asarray(theta)), np.log(expected), rtol=1e-10)


def test_a_discrete_mixture_sums_to_one() -> None:
    packing = layout(3, {"a": (Bernoulli(),), "b": (Categorical(3), Categorical(2))})
    theta = jnp.asarray(np.random.default_rng(2).normal(size=packing.shape))
    cells = np.array(list(itertools.product(range(2), range(3), range(2))), dtype=np.int32).T
    assert abs(float(jnp.exp(log_density(packing, list(cells), theta)).sum()) - 1) < 1e-12


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0.1, 1.0, 5.0]))
def test_record_gradient_is_the_autodiff_of_the_log_density(seed: int, spread: float) -> None:
    packing, rng = mixed(3), np.random.default_rng(seed)
    values, theta = mixed_records(packing, 8, rng), jnp.asarray(spread * rng.normal(size=packing.shape))
    np.testing.assert_allclose(
        record_gradient(packing, values, theta), by_autodiff(packing, values, theta), rtol=1e-8, atol=1e-9
    )


def test_responsibilities_are_bayes() -> None:
    packing, rng = mixed(3), np.random.default_rng(3)
    values, theta = mixed_records(packing, 20, rng), jnp.asarray(rng.normal(size=packing.shape))
    r = np.asarray(responsibilities(packing, values, theta))
    np.testing.assert_allclose(r.sum(axis=1), 1.0, rtol=1e-12)
    weights = jax.nn.softmax(theta[:, 0])
    joint = np.exp(np.asarray(mixture.component_log_density(packing.blocks, values, theta))) * np.asarray(weights)
    np.testing.assert_allclose(r, joint / joint.sum(axis=1, keepdims=True), rtol=1e-10)


@pytest.mark.parametrize("spread", [50.0, 500.0])
def test_no_overflow_and_no_log_of_zero(spread: float) -> None:
    packing, rng = mixed(3), np.random.default_rng(4)
    values, theta = mixed_records(packing, 50, rng), jnp.asarray(spread * rng.normal(size=packing.shape))
    for value in (
        log_density(packing, values, theta),
        responsibilities(packing, values, theta),
        record_gradient(packing, values, theta),
    ):
        assert bool(jnp.isfinite(value).all())


def test_a_row_with_everything_missing_teaches_nothing() -> None:
    packing = mixed(3)
    values = [np.array([-1]), np.array([-1]), np.array([np.nan]), np.array([-1])]
    theta = jnp.asarray(np.random.default_rng(5).normal(size=packing.shape))
    assert abs(float(log_density(packing, values, theta)[0])) < 1e-12
    assert float(jnp.abs(record_gradient(packing, values, theta)).max()) < 1e-12
