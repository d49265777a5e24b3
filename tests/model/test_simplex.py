"""Log-Gamma logits: their softmax is Dirichlet."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from vertwin.model import simplex


def test_softmax_of_log_gamma_logits_is_dirichlet() -> None:
    """Draw from the prior's own law and compare every margin with Dirichlet(1)'s Beta(1, K - 1).

    False alarm below 1e-6: a Kolmogorov-Smirnov distance of 2.8 / sqrt(n) has probability 2 exp(-2 * 2.8^2) = 3e-7
    per margin. Normal logits, as a wrong prior would be, are caught.
    """
    rng, count, size = np.random.default_rng(7), 20_000, 4
    logits = np.log(rng.gamma(1.0, size=(count, size)))
    points = np.asarray(simplex.weights(jnp.asarray(logits)))
    wrong = np.asarray(simplex.weights(jnp.asarray(rng.normal(size=(count, size)))))
    limit = 2.8 / np.sqrt(count)
    for k in range(size):
        assert stats.kstest(points[:, k], stats.beta(1, size - 1).cdf).statistic < limit
        assert stats.kstest(wrong[:, k], stats.beta(1, size - 1).cdf).statistic > limit


def test_log_prior_is_the_change_of_variables_of_a_gamma() -> None:
    logits = np.random.default_rng(8).normal(size=(5, 3))
    expected = (stats.gamma(1.0).logpdf(np.exp(logits)) + logits).sum(axis=1)  # density of g, and |dg / dlogit| = g
    np.testing.assert_allclose(simplex.log_prior(jnp.asarray(logits)), expected, rtol=1e-12)


def test_joint_density_is_dirichlet_times_gamma() -> None:
    """Exact, not a sample: density of the logits = Dirichlet(1) of the softmax x Gamma(K) of the sum x Jacobian."""
    logits = np.random.default_rng(9).normal(size=4)
    point, total = np.exp(logits) / np.exp(logits).sum(), np.exp(logits).sum()
    # (g_1 .. g_K) -> (point, total) has Jacobian total^(K-1); logit -> g has prod g_k
    expected = (
        stats.dirichlet(np.ones(4)).logpdf(point) + stats.gamma(4).logpdf(total) - 3 * np.log(total) + logits.sum()
    )
    assert abs(float(simplex.log_prior(jnp.asarray(logits))) - expected) < 1e-10


def test_gradient_of_the_log_prior() -> None:
    logits = jnp.asarray(np.random.default_rng(10).normal(size=6))
    np.testing.assert_allclose(jax.grad(simplex.log_prior)(logits), simplex.log_prior_gradient(logits), rtol=1e-9)


def test_log_weights_never_take_the_log_of_zero() -> None:
    assert bool(jnp.isfinite(simplex.log_weights(jnp.asarray([0.0, -2000.0, 900.0]))).all())


def test_logits_of_inverts_weights() -> None:
    point = jnp.asarray([0.5, 0.3, 0.2])
    np.testing.assert_allclose(simplex.weights(simplex.logits_of(point)), point, rtol=1e-12)
