"""A yes or no: Bernoulli with its logit as the unconstrained parameter, and a uniform prior on the probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array

from vertwin.domains import Domain
from vertwin.model.families.family import ExponentialFamily, Form, LinearMap, Reads


@final
@dataclass(frozen=True)
class Bernoulli(ExponentialFamily):
    """Code 1 with probability sigmoid(psi)."""

    name: ClassVar[str] = "bernoulli"
    reads: ClassVar[Reads] = "codes"
    form: ClassVar[Form] = "categorical"
    score_squared_at_most: ClassVar[float] = 1.0

    @property
    def parameters(self) -> int:
        return 1

    @property
    def statistics(self) -> int:
        return 1

    @classmethod
    def of(cls, domain: Domain) -> Bernoulli | None:
        return cls() if domain.kind == "binary" and domain.size == 2 else None

    def distribution(self, psi: Array) -> dist.Distribution:
        return dist.BernoulliLogits(psi[:, 0])

    def constrain(self, psi: Array) -> Array:
        return jax.nn.sigmoid(psi)

    def unconstrain(self, parameters: Array) -> Array:
        return jnp.log(parameters) - jnp.log1p(-parameters)

    def log_prior(self, psi: Array) -> Array:
        # Uniform on (0, 1): only the Jacobian p (1 - p) remains.
        return jnp.sum(jax.nn.log_sigmoid(psi) + jax.nn.log_sigmoid(-psi), axis=-1)

    def filled(self, x: Array) -> Array:
        return jnp.maximum(x, 0)

    def statistic(self, x: Array) -> Array:
        return self.filled(x)[:, None].astype(jnp.float64)

    def linear_map(self, psi: Array) -> LinearMap:
        return LinearMap(jnp.ones_like(psi), jax.nn.sigmoid(psi))

    def score_squared_bound(self, psi: Array) -> Array:
        probability = jax.nn.sigmoid(psi[:, 0])
        return jnp.maximum(probability, 1.0 - probability) ** 2

    def released(self, psi: np.ndarray) -> np.ndarray:
        yes = 1.0 / (1.0 + np.exp(-psi))
        return np.concatenate([1.0 - yes, yes], axis=1)
