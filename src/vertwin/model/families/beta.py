"""A number scaled into (0, 1) by its declared bounds: Beta, with the paper's Gamma(1, 1) priors on both parameters.

The parameters come from unconstrained space by softplus: with exp, one noisy step could multiply them without limit.
The statistic (log x, log(1 - x)) is unbounded at the ends, so values are clipped into [EDGE, 1 - EDGE]: at the ends
of an interval of declared bounds a value says that it is at the end, and no more. Density and score agree on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, final

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array
from jax.scipy.special import digamma

from vertwin.domains import Domain
from vertwin.model.families.family import ExponentialFamily, Form, LinearMap, Reads

EDGE: Final = 1e-3
LEAST: Final = 1e-2  # of both parameters: keeps digamma, which the secure step multiplies by, above -101
_CELLS: Final = 64  # of [EDGE, 1 - EDGE], for the bound of the score


@final
@dataclass(frozen=True)
class Beta(ExponentialFamily):
    """Beta(a, b) on the scaled value: a and b are LEAST + the softplus of the two unconstrained parameters."""

    name: ClassVar[str] = "beta"
    reads: ClassVar[Reads] = "natural"
    form: ClassVar[Form] = "beta"
    score_squared_at_most: ClassVar[float] = 64.0

    @property
    def parameters(self) -> int:
        return 2

    @property
    def statistics(self) -> int:
        return 2

    @classmethod
    def of(cls, domain: Domain) -> Beta | None:
        # A missing value that is a category of its own has no place on the interval.
        return cls() if domain.kind in ("real", "count") and domain.size == domain.own_size else None

    def distribution(self, psi: Array) -> dist.Distribution:
        parameters = self.constrain(psi)
        return dist.Beta(parameters[:, 0], parameters[:, 1])

    def constrain(self, psi: Array) -> Array:
        return LEAST + jax.nn.softplus(psi)

    def unconstrain(self, parameters: Array) -> Array:
        beyond = jnp.maximum(parameters - LEAST, 1e-12)
        return beyond + jnp.log(-jnp.expm1(-beyond))

    def log_prior(self, psi: Array) -> Array:
        # Gamma(1, 1), and log |d softplus / d psi| = log sigmoid(psi).
        prior = dist.Gamma(1.0, 1.0).log_prob(self.constrain(psi))
        return jnp.sum(prior + jax.nn.log_sigmoid(psi), axis=-1)

    def filled(self, x: Array) -> Array:
        return jnp.clip(jnp.where(jnp.isnan(x), 0.5, x), EDGE, 1.0 - EDGE)

    def statistic(self, x: Array) -> Array:
        inside = self.filled(x)
        logs = jnp.stack([jnp.log(inside), jnp.log1p(-inside)], axis=1)
        return jnp.where(self.missing(x)[:, None], 0.0, logs)

    def linear_map(self, psi: Array) -> LinearMap:
        parameters = self.constrain(psi)
        total = digamma(jnp.sum(parameters, axis=1, keepdims=True))
        return LinearMap(jax.nn.sigmoid(psi), digamma(parameters) - total)

    def score_squared_bound(self, psi: Array) -> Array:
        """Over cells of the clipped interval: each coordinate of u^2 is convex in its statistic, hence largest at a
        cell's end, and the sum of the two largest bounds the cell."""
        map_ = self.linear_map(psi)
        ends = self.statistic(jnp.asarray(_CELL_ENDS))  # (cells + 1, 2)
        squared = (map_.jacobian[:, None, :] * (ends[None] - map_.mean[:, None, :])) ** 2  # (K, cells + 1, 2)
        cells = jnp.maximum(squared[:, :-1], squared[:, 1:])
        return jnp.max(jnp.sum(cells, axis=-1), axis=-1)

    def released(self, psi: np.ndarray) -> np.ndarray:
        return LEAST + np.logaddexp(0.0, psi)


# Even on the logit scale: the statistic changes fastest at the ends.
_CELL_ENDS: Final = 1.0 / (
    1.0 + np.exp(-np.linspace(np.log(EDGE / (1 - EDGE)), -np.log(EDGE / (1 - EDGE)), _CELLS + 1))
)
