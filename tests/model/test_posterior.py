"""The gradients of the whole ELBO: for mu and L, with the log-determinant and the log-Jacobians, against autodiff."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from model.small_models import mixed, mixed_records
from scipy import stats

from vertwin.model import mixture, posterior
from vertwin.model.packing import Packing
from vertwin.model.posterior import MeanField


def joint(packing: Packing, values: list[np.ndarray], theta: jax.Array) -> jax.Array:
    """log p(data, theta)."""
    return jnp.sum(mixture.log_density(packing, values, theta)) + mixture.log_prior(packing, theta)


def test_elbo_gradient_for_mean_and_scale_is_autodiffs() -> None:
    packing, rng = mixed(3), np.random.default_rng(1)
    values = mixed_records(packing, 30, rng)
    q = MeanField(jnp.asarray(rng.normal(size=packing.shape)), jnp.asarray(rng.normal(size=packing.shape) - 1))
    eta = jnp.asarray(rng.normal(size=packing.shape))

    def elbo(p: MeanField) -> jax.Array:  # one eta; the entropy of eta is constant
        return joint(packing, values, posterior.sample(p, eta)) + posterior.entropy(p)

    theta = posterior.sample(q, eta)
    by_hand = jax.jit(
        lambda t: (
            jnp.sum(mixture.record_gradient(packing, values, t), axis=0)
            + jax.grad(partial(mixture.log_prior, packing))(t)
        )
    )(theta)
    found, expected = posterior.gradient(q, by_hand, eta), jax.jit(jax.grad(elbo))(q)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.log_scale, expected.log_scale, rtol=1e-8, atol=1e-8)


def test_gradient_for_a_full_factor_has_the_log_determinants_diagonal() -> None:
    packing, rng = mixed(2), np.random.default_rng(2)
    values, size = mixed_records(packing, 10, rng), packing.shape[0] * packing.width
    factor = jnp.asarray(np.tril(0.1 * rng.normal(size=(size, size))) + np.diag(rng.uniform(0.5, 1.5, size)))
    mean, eta = jnp.asarray(rng.normal(size=size)), jnp.asarray(rng.normal(size=size))

    def elbo(l: jax.Array) -> jax.Array:  # noqa: E741 - the paper's L
        theta = (mean + jnp.tril(l) @ eta).reshape(packing.shape)
        return joint(packing, values, theta) + jnp.linalg.slogdet(jnp.tril(l))[1]

    theta = (mean + factor @ eta).reshape(packing.shape)
    gradient = jax.jit(jax.grad(lambda t: joint(packing, values, t)))(theta)
    found = posterior.factor_gradient(factor, gradient, eta)
    np.testing.assert_allclose(found, jax.jit(jax.grad(elbo))(factor), rtol=1e-7, atol=1e-7)


def test_mean_field_is_the_diagonal_of_the_full_factor() -> None:
    rng = np.random.default_rng(3)
    q = MeanField(jnp.asarray(rng.normal(size=4)), jnp.asarray(rng.normal(size=4)))
    g, eta = jnp.asarray(rng.normal(size=4)), jnp.asarray(rng.normal(size=4))
    full = posterior.factor_gradient(jnp.diag(q.scale), g, eta)
    np.testing.assert_allclose(posterior.gradient(q, g, eta).log_scale, jnp.diagonal(full) * q.scale, rtol=1e-12)


def test_entropy_is_the_gaussians() -> None:
    q = MeanField(jnp.zeros((2, 3)), jnp.asarray(np.random.default_rng(4).normal(size=(2, 3))))
    expected = sum(stats.norm(0, s).entropy() for s in np.asarray(q.scale).ravel())
    assert abs(float(posterior.entropy(q)) - float(expected)) < 1e-10
