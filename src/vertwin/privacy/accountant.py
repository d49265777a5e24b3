"""Numerical accounting, the one place that calls dp-accounting: realisations of the paper's accounting oracle.

- `AdvancedComposition`: the textbook bound; loose, and what first papers used.
- `Renyi`: moments of the privacy loss; the accountant behind the paper's printed numbers.
- `LossDistributions`: privacy loss distributions; tight, and the default.

Where dp-accounting has no event, or takes one with another meaning than ours (Renyi accounting of replaced records
counts distance 1; Poisson samples under replacement at distances below 2; cut samples at such distances), the pair of
`dominating_pair.py` stands in. Gaussian events and known samples are exact in closed form under every realisation.

A noise multiplier here is the sd of the noise over the norm bound of one record (sigma / C), as that library means it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from typing import Any, Final, final

import dp_accounting
from dp_accounting import rdp
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as losses

from vertwin.errors import user_error
from vertwin.privacy.closed_form import gaussian_epsilon
from vertwin.privacy.dominating_pair import INTERVAL, renyi_divergence, step_profile
from vertwin.privacy.event import Adjacency, Event, GaussianEvent, KnownSamplesEvent, SecretSamplesEvent
from vertwin.privacy.oracle import ClosedForm, Oracle

LEAST_DELTA: Final = 1e-10  # below, rounding in the convolutions is no longer small against delta
LEAST_NOISE: Final = 0.1  # below, one use is as good as revealed and no amplification is counted
ROUNDING: Final = 1e-12  # of delta: what those convolutions may lose
_RELATION: Final[dict[Adjacency, Any]] = {
    "replace_one": dp_accounting.NeighboringRelation.REPLACE_ONE,
    "add_remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
}
_ORDERS: Final = (1.1, 1.25, 1.5, *(x / 2 for x in range(4, 40)), *range(20, 65), 80, 96, 128, 192, 256)
_EXACT: Final = ClosedForm()


class _Numerical(Oracle):
    """Secret samples numerically; all else in closed form."""

    def epsilon(self, event: Event, delta: float) -> float:
        if not isinstance(event, SecretSamplesEvent):
            return _EXACT.epsilon(event, delta)
        _require_delta(delta)
        if event.probability == 1 or event.noise_multiplier < LEAST_NOISE:
            return _EXACT.epsilon(event.alike, delta)
        return self._secret_samples(event, delta)

    def delta(self, event: Event, epsilon: float) -> float:
        if not isinstance(event, SecretSamplesEvent):
            return _EXACT.delta(event, epsilon)
        if event.probability == 1 or event.noise_multiplier < LEAST_NOISE:
            return _EXACT.delta(event.alike, epsilon)
        return _of_secret_samples(event).get_delta_for_epsilon(epsilon) + ROUNDING

    @abstractmethod
    def _secret_samples(self, event: SecretSamplesEvent, delta: float) -> float:
        """Epsilon of steps on secret samples, the one case that has no closed form."""


@final
class LossDistributions(_Numerical):
    """Privacy loss distributions, discretised upwards (connect-the-dots) and composed by convolution."""

    name = "privacy loss distributions"

    def _secret_samples(self, event: SecretSamplesEvent, delta: float) -> float:
        epsilon = float(_of_secret_samples(event).get_epsilon_for_delta(delta - ROUNDING))
        return min(epsilon, _EXACT.epsilon(event.alike, delta))

    def composed_epsilon(self, events: Sequence[Event], delta: float) -> float:
        """Epsilon of several events one after the other: what a ledger adds up towards one viewer."""
        gaussian = sum(event.mu**2 for event in events if isinstance(event, GaussianEvent))
        others = [event for event in events if not isinstance(event, GaussianEvent)]
        mu = math.nextafter(sqrt(gaussian), math.inf) if gaussian else 0.0
        if not others or math.isinf(mu):
            return _EXACT.epsilon(GaussianEvent(mu), delta)
        if len(others) == 1 and not gaussian:
            return self.epsilon(others[0], delta)
        _require_delta(delta)
        parts = [_loss_distribution(event) for event in others]
        if gaussian:
            parts.append(losses.from_gaussian_mechanism(1 / mu))
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.compose(part)
        return float(whole.get_epsilon_for_delta(delta - ROUNDING))


@final
class Renyi(_Numerical):
    """Renyi divergences. Replaced records: by quadrature of the worst pair, which the library does not have."""

    name = "Renyi divergences"

    def _secret_samples(self, event: SecretSamplesEvent, delta: float) -> float:
        if event.batch_at_most is not None:
            raise user_error("E705", "cut samples are accounted for by privacy loss distributions")
        if event.adjacency == "add_remove":
            accountant = rdp.RdpAccountant(neighboring_relation=_RELATION["add_remove"])
            gaussian = dp_accounting.GaussianDpEvent(event.noise_multiplier)
            step = dp_accounting.PoissonSampledDpEvent(event.probability, gaussian)
            return float(accountant.compose(step, event.steps).get_epsilon(delta))
        orders = list(_ORDERS)
        spent = [event.steps * renyi_divergence(event.noise_multiplier, event.probability, a) for a in orders]
        return float(rdp.compute_epsilon(orders, spent, delta)[0])


@final
class AdvancedComposition(_Numerical):
    """Dwork and Roth 2014, theorem 3.20, over the amplified (epsilon, delta) of each step (Balle et al. 2018).

    A step that is (e, d)-private for the records in its sample is (log(1 + q (exp(e) - 1)), q d)-private for all: under
    add_remove as under replacement, where e belongs to the distance of two contributions.
    """

    name = "advanced composition"

    def _secret_samples(self, event: SecretSamplesEvent, delta: float) -> float:
        if event.batch_at_most is not None:
            raise user_error("E705", "cut samples are accounted for by privacy loss distributions")
        distance = event.distance if event.adjacency == "replace_one" else 1.0
        best = math.inf
        for part in (0.01, 0.1, 0.5, 0.9):  # of delta, for the steps' own deltas
            step = gaussian_epsilon(distance / event.noise_multiplier, part * delta / event.steps / event.probability)
            step = math.log1p(event.probability * math.expm1(step)) if step < 700 else step
            slack = math.sqrt(2 * event.steps * math.log(1 / ((1 - part) * delta))) * step
            adaptive = event.steps * step * math.expm1(step) if step < 700 else math.inf
            best = min(best, slack + adaptive, event.steps * step)
        return best * (1 + 1e-12)


@lru_cache(maxsize=32)
def _of_secret_samples(event: SecretSamplesEvent) -> losses.PrivacyLossDistribution:
    """The composed distribution. Replaced records: ours, which knows every distance and is quicker than the library's
    (its twin in the tests)."""
    interval = _interval(event)
    if event.adjacency == "replace_one":
        return our_loss_distribution(event, interval).self_compose(event.steps)
    step = losses.from_gaussian_mechanism(
        event.noise_multiplier,
        value_discretization_interval=interval,
        sampling_prob=event.probability,
        neighboring_relation=_RELATION["add_remove"],
    )
    return step.self_compose(event.steps)


def _interval(event: SecretSamplesEvent) -> float:
    """Of the grid of losses: 1e-4 wherever epsilon is of any use, coarser where the losses alone would fill memory."""
    spread = event.steps * renyi_divergence(event.noise_multiplier, event.probability, 2.0) + 40
    single = (2 + 20 * event.noise_multiplier) / event.noise_multiplier**2
    return max(INTERVAL, min(spread, event.steps * single) / 2**21, single / 2**18)


def our_loss_distribution(event: SecretSamplesEvent, interval: float = INTERVAL) -> losses.PrivacyLossDistribution:
    """One step under replacement, at any distance: also the twin of the library's own."""
    assert event.adjacency == "replace_one"
    deltas = step_profile(
        event.noise_multiplier, event.probability, event.distance, event.rows, event.batch_at_most, interval
    )
    half = len(deltas) // 2
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(interval, -half, half, deltas)
    return losses.PrivacyLossDistribution(pmf)


def _loss_distribution(event: Event) -> losses.PrivacyLossDistribution:
    match event:
        case SecretSamplesEvent():
            return _of_secret_samples(event)
        case KnownSamplesEvent():  # the most that its uses can be: exact mixtures have no distribution in the library
            return losses.from_gaussian_mechanism(1 / (event.mu * sqrt(event.steps)))
        case _:
            raise user_error("E705", f"{event.kind} cannot be composed with others")


def poisson_epsilon(
    noise_multiplier: float, probability: float, steps: int, delta: float, adjacency: Adjacency = "replace_one"
) -> float:
    """Epsilon of `steps` Gaussian releases, each over a fresh, secret Poisson sample, by privacy loss distributions."""
    _require_delta(delta)
    return LossDistributions().epsilon(SecretSamplesEvent(noise_multiplier, probability, steps, adjacency), delta)


def poisson_epsilon_renyi(noise_multiplier: float, probability: float, steps: int, delta: float) -> float:
    """The same by Renyi divergence under add_remove, looser: the accountant behind the paper's printed numbers."""
    _require_delta(delta)
    return Renyi().epsilon(SecretSamplesEvent(noise_multiplier, probability, steps, "add_remove"), delta)


def gaussian_epsilon_numeric(mu: float, uses: int, delta: float) -> float:
    """Epsilon of `uses` releases of mu each, by the library's analytic Gaussian: the twin of the closed form."""
    _require_delta(delta)
    return float(dp_accounting.get_epsilon_gaussian(1 / (mu * sqrt(uses)), delta))


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise user_error("E700", "delta must lie strictly between 0 and 1")
    if delta < LEAST_DELTA:
        raise user_error(
            "E706",
            f"secret samples are accounted for numerically, which is not trusted for a delta below {LEAST_DELTA:g}",
            "a larger delta, or sampling whose epsilon has a closed form (none, epochs)",
            "privacy.delta",
        )
