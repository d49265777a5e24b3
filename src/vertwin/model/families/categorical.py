"""One of several codes: categorical with log-Gamma logits, whose softmax is exactly Dirichlet(1) a priori."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array

from vertwin.domains import Domain
from vertwin.model import simplex
from vertwin.model.families.family import ExponentialFamily, Form, LinearMap, Reads


@final
@dataclass(frozen=True)
class Categorical(ExponentialFamily):
    """`size` codes; the score for a record with code x is onehot(x) - probabilities."""

    size: int

    name: ClassVar[str] = "categorical"
    reads: ClassVar[Reads] = "codes"
    form: ClassVar[Form] = "categorical"
    score_squared_at_most: ClassVar[float] = 2.0

    @property
    def parameters(self) -> int:
        return self.size

    @property
    def statistics(self) -> int:
        return self.size

    @classmethod
    def of(cls, domain: Domain) -> Categorical | None:
        return cls(domain.size)

    def distribution(self, psi: Array) -> dist.Distribution:
        return dist.CategoricalLogits(psi)

    def constrain(self, psi: Array) -> Array:
        return simplex.weights(psi)

    def unconstrain(self, parameters: Array) -> Array:
        return simplex.logits_of(parameters)

    def log_prior(self, psi: Array) -> Array:
        return simplex.log_prior(psi)

    def filled(self, x: Array) -> Array:
        return jnp.maximum(x, 0)

    def log_density(self, x: Array, psi: Array) -> Array:
        # NumPyro's log_prob would spread the logits to B x K x size; looking rows up takes B x K.
        density = simplex.log_weights(psi).T[self.filled(x)]
        return jnp.where(self.missing(x)[:, None], 0.0, density)

    def statistic(self, x: Array) -> Array:
        return jax.nn.one_hot(x, self.size, dtype=jnp.float64)  # a code of -1 gives a row of zeros

    def linear_map(self, psi: Array) -> LinearMap:
        return LinearMap(jnp.ones_like(psi), simplex.weights(psi))

    def score_squared_bound(self, psi: Array) -> Array:
        # |onehot(x) - p|^2 = 1 - 2 p_x + |p|^2, largest at the least likely code and never above 2.
        probabilities = simplex.weights(psi)
        return 1.0 - 2.0 * jnp.min(probabilities, axis=-1) + jnp.sum(probabilities**2, axis=-1)

    def released(self, psi: np.ndarray) -> np.ndarray:
        likelihood = np.exp(psi - psi.max(axis=1, keepdims=True))
        return likelihood / likelihood.sum(axis=1, keepdims=True)
