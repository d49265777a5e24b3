"""What a family is: the density of one column given one component, and everything the learner needs of it.

A component's parameters of a column live in unconstrained space, one row of `psi` (K x U) per component. `x` holds
one value per record: codes (integers, -1 where the value is missing and says nothing) or natural values (floats, NaN
there), as `reads` says. A missing value has log density 0 and score 0: it is integrated out.

The step under MPC bounds one record's influence by the norm of its score, so every family declares
`score_squared_at_most`, the largest squared norm it ever hands over, and keeps it:

* an ExponentialFamily publicly scales its linear map, by a factor that depends on the parameters alone
  (`public_scale`); the factor is public, so the learner divides it out again after the noise;
* any other family scales each record's score by itself, at its owner, before sharing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array

from vertwin.domains import Domain

Reads = Literal["codes", "natural"]
Form = Literal["categorical", "beta"]


class LinearMap(NamedTuple):
    """The public part of a score that is linear in the sufficient statistic: u_k = J_k (t(x) - grad A_k)."""

    jacobian: Array  # J: (K, U) where it is diagonal, else (K, U, D)
    mean: Array  # grad A, the statistic's expectation under component k: (K, D)


class Family(ABC):
    """The density of one column. Instances are frozen, hashable and public: they hold sizes, never data."""

    name: ClassVar[str]
    reads: ClassVar[Reads]
    form: ClassVar[Form]  # how a release keeps the fitted parameters
    score_squared_at_most: ClassVar[float]

    @property
    @abstractmethod
    def parameters(self) -> int:
        """U: unconstrained parameters per component."""

    @classmethod
    @abstractmethod
    def of(cls, domain: Domain) -> Family | None:
        """The family for a column of this domain; None if it does not fit."""

    @abstractmethod
    def distribution(self, psi: Array) -> dist.Distribution:
        """The NumPyro distribution with one batch entry per component."""

    @abstractmethod
    def constrain(self, psi: Array) -> Array:
        """The parameters in their own space, one row per component."""

    @abstractmethod
    def unconstrain(self, parameters: Array) -> Array:
        """The inverse of `constrain`, up to what the density does not see."""

    @abstractmethod
    def log_prior(self, psi: Array) -> Array:
        """Per component (K,): log prior density of psi, the log-Jacobian of `constrain` included."""

    @abstractmethod
    def released(self, psi: np.ndarray) -> np.ndarray:
        """What a release keeps, in the shape that `form` says: (K, size) probabilities or (K, 2) Beta parameters."""

    def missing(self, x: Array) -> Array:
        """Where a value is missing and says nothing."""
        return jnp.isnan(x) if jnp.issubdtype(x.dtype, jnp.floating) else x < 0

    @abstractmethod
    def filled(self, x: Array) -> Array:
        """x with some harmless value of the support where it is missing."""

    def log_density(self, x: Array, psi: Array) -> Array:
        """log F(x_n | psi_k), (B x K); 0 where x_n is missing."""
        density = self.distribution(psi).log_prob(self.filled(x)[:, None])
        return jnp.where(self.missing(x)[:, None], 0.0, density)

    def score_by_autodiff(self, x: Array, psi: Array) -> Array:
        """The derivative of log_density with respect to psi_k, (B x K x U), by automatic differentiation."""

        def one(value: Array, row: Array) -> Array:
            return self.log_density(value[None], row[None])[0, 0]

        return jax.vmap(jax.vmap(jax.grad(one, argnums=1), (None, 0)), (0, None))(x, psi)

    def score(self, x: Array, psi: Array) -> Array:
        """The score u, (B x K x U), unscaled."""
        return self.score_by_autodiff(x, psi)

    def bounded_score(self, x: Array, psi: Array) -> Array:
        """The score with every record's squared norm at most `score_squared_at_most`: its owner scales it."""
        score = self.score(x, psi)
        squared = jnp.sum(score**2, axis=-1, keepdims=True)
        limit = self.score_squared_at_most
        return score * jnp.where(squared > limit, jnp.sqrt(limit / jnp.maximum(squared, limit)), 1.0)


class ExponentialFamily(Family):
    """A family whose score is linear in a sufficient statistic: one secure product serves a whole batch."""

    @property
    @abstractmethod
    def statistics(self) -> int:
        """D: the length of the sufficient statistic."""

    @abstractmethod
    def statistic(self, x: Array) -> Array:
        """t(x), (B x D); all zero where x is missing."""

    @abstractmethod
    def linear_map(self, psi: Array) -> LinearMap:
        """J and grad A of every component, unscaled."""

    @abstractmethod
    def score_squared_bound(self, psi: Array) -> Array:
        """Per component (K,): an upper bound of |u|^2 over every x there can be; a function of public things alone."""

    def score(self, x: Array, psi: Array) -> Array:
        """u = J (t(x) - grad A), and 0 where x is missing."""
        map_ = self.linear_map(psi)
        centred = self.statistic(x)[:, None, :] - map_.mean
        present = ~self.missing(x)
        return apply_jacobian(map_.jacobian, centred) * present[:, None, None]

    def public_scale(self, psi: Array) -> Array:
        """Per component (K,): the factor in (0, 1] that brings the score's bound and J's entries within their limits.

        J's entries are kept at 1 or below because the rounding of the secure sum is multiplied by them.
        """
        jacobian = jnp.abs(self.linear_map(psi).jacobian)
        largest = jnp.max(jacobian, axis=tuple(range(1, jacobian.ndim)))
        bound = self.score_squared_bound(psi)
        limit = self.score_squared_at_most
        by_norm = jnp.where(bound > limit, jnp.sqrt(limit / jnp.maximum(bound, limit)), 1.0)
        return jnp.minimum(by_norm, 1.0 / jnp.maximum(largest, 1.0))

    def bounded_linear_map(self, psi: Array) -> LinearMap:
        """The linear map with J scaled publicly: the score it gives is within `score_squared_at_most`."""
        map_ = self.linear_map(psi)
        scale = self.public_scale(psi).reshape((-1,) + (1,) * (map_.jacobian.ndim - 1))
        return LinearMap(map_.jacobian * scale, map_.mean)

    def bounded_score(self, x: Array, psi: Array) -> Array:
        return self.score(x, psi) * self.public_scale(psi)[None, :, None]


def apply_jacobian(jacobian: Array, vectors: Array) -> Array:
    """J_k v for every component: (..., K, D) -> (..., K, U)."""
    if jacobian.ndim == 2:
        return vectors * jacobian
    return jnp.einsum("kud,...kd->...ku", jacobian, vectors)
