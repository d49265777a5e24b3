"""The one place that calls dp-accounting: numerical accounting, to hold the closed forms against.

A noise multiplier here is the sd of the noise over the norm bound of one record (sigma / C), as that library means it.
Under replace_one the library's own Poisson event takes the distance 2 into account; what is passed stays sigma / C.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, Final

import dp_accounting
from dp_accounting import pld, rdp

from vertwin.errors import user_error
from vertwin.privacy.gaussian_release import Adjacency

_RELATION: Final[dict[Adjacency, Any]] = {
    "replace_one": dp_accounting.NeighboringRelation.REPLACE_ONE,
    "add_remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
}


def poisson_epsilon(
    noise_multiplier: float, probability: float, steps: int, delta: float, adjacency: Adjacency = "replace_one"
) -> float:
    """Epsilon of `steps` Gaussian releases, each over a fresh, secret Poisson sample, by privacy loss distributions."""
    _require(noise_multiplier, probability, steps, delta)
    accountant = pld.PLDAccountant(neighboring_relation=_RELATION[adjacency])
    event = dp_accounting.PoissonSampledDpEvent(probability, dp_accounting.GaussianDpEvent(noise_multiplier))
    return float(accountant.compose(event, steps).get_epsilon(delta))


def poisson_epsilon_renyi(noise_multiplier: float, probability: float, steps: int, delta: float) -> float:
    """The same by Renyi divergence under add_remove, looser: the accountant behind the paper's printed numbers.

    There is no other adjacency on purpose: the library refuses Poisson samples under replacement.
    """
    _require(noise_multiplier, probability, steps, delta)
    accountant = rdp.RdpAccountant(neighboring_relation=_RELATION["add_remove"])
    event = dp_accounting.PoissonSampledDpEvent(probability, dp_accounting.GaussianDpEvent(noise_multiplier))
    return float(accountant.compose(event, steps).get_epsilon(delta))


def gaussian_epsilon_numeric(mu: float, uses: int, delta: float) -> float:
    """Epsilon of `uses` releases of mu each, by the library's analytic Gaussian: the twin of the closed form."""
    _require(1 / mu, 1.0, uses, delta)
    return float(dp_accounting.get_epsilon_gaussian(1 / (mu * sqrt(uses)), delta))


def _require(noise_multiplier: float, probability: float, steps: int, delta: float) -> None:
    if not 0 < delta < 1:
        raise user_error("E700", "delta must lie strictly between 0 and 1")
    if not 0 < noise_multiplier < float("inf"):
        raise user_error("E702", "a noise multiplier must be positive and finite")
    if not 0 < probability <= 1 or steps < 1:
        raise user_error("E705", "a sampling probability lies in (0, 1] and there is at least one step")
