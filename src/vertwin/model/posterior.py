"""The variational posterior: a Gaussian over theta, theta = mu + L eta with eta ~ N(0, I).

One eta per step, drawn from public randomness: the gradients for mu and for L are then functions of the one gradient
for theta (post-processing of what was revealed), and noise is added once.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array


class MeanField(NamedTuple):
    """A diagonal L, kept as the logarithm of its diagonal so that it stays positive."""

    mean: Array
    log_scale: Array

    @property
    def scale(self) -> Array:
        return jnp.exp(self.log_scale)


def sample(posterior: MeanField, eta: Array) -> Array:
    """theta = mu + L eta."""
    return posterior.mean + posterior.scale * eta


def entropy(posterior: MeanField) -> Array:
    """log |det L| + the entropy of eta."""
    constant = 0.5 * (1.0 + jnp.log(2.0 * jnp.pi))
    return jnp.sum(posterior.log_scale) + posterior.mean.size * constant


def gradient(posterior: MeanField, theta_gradient: Array, eta: Array) -> MeanField:
    """The ELBO's gradient for mu and for log L, from that of log p(data, theta) at theta = mu + L eta.

    For l_i = L_ii: d/dl_i = g_i eta_i + 1/l_i (the second is that of log |det L|), hence for log l_i times l_i.
    """
    return MeanField(theta_gradient, theta_gradient * eta * posterior.scale + 1.0)


def factor_gradient(factor: Array, theta_gradient: Array, eta: Array) -> Array:
    """The paper's gradient for a full lower-triangular L: g eta' below and on the diagonal, + diag(1 / l_ii)."""
    flat, noise = theta_gradient.reshape(-1), eta.reshape(-1)
    return jnp.tril(jnp.outer(flat, noise)) + jnp.diag(1.0 / jnp.diagonal(factor))
