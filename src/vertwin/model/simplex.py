"""Points of a simplex as independent log-Gamma logits.

If `exp(logit_k)` are independent Gamma(1, 1), their softmax is exactly Dirichlet(1, ..., 1). So a simplex of K
categories has K unconstrained parameters with a prior that factorises, and the likelihood's gradient with respect to
logit k is `responsibility_k - weight_k`, whose norm is at most sqrt(2). Stick-breaking would have neither. What the
likelihood does not see, the common shift of the logits, is held by the prior alone.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import Array


def weights(logits: Array) -> Array:
    """The point of the simplex, over the last axis."""
    return jax.nn.softmax(logits, axis=-1)


def log_weights(logits: Array) -> Array:
    """Its logarithm, without ever taking the log of a zero."""
    return jax.nn.log_softmax(logits, axis=-1)


def logits_of(point: Array, floor: float = 1e-12) -> Array:
    """Logits with that softmax, shifted so that they sit at the mean of their common scale under the prior."""
    log_point = jnp.log(jnp.clip(point, floor, None))
    categories = point.shape[-1]
    return log_point + jnp.log(float(categories))


def log_prior(logits: Array) -> Array:
    """Log density of the logits under independent Gamma(1, 1) on their exponentials: the Gamma's, and the Jacobian."""
    return jnp.sum(dist.Gamma(1.0, 1.0).log_prob(jnp.exp(logits)) + logits, axis=-1)


def log_prior_gradient(logits: Array) -> Array:
    """1 - exp(logit), the derivative of `log_prior`; twin of its autodiff."""
    return 1.0 - jnp.exp(logits)
