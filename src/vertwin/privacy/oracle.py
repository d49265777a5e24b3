"""The paper's accounting oracle (its Definition 2.3): from an event and a delta to an epsilon that is never too small.

Here stands the realisation that needs no library: exact for Gaussian events and for samples that the viewer knows.
What hides behind secret sampling takes one of the numerical realisations of `accountant.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from math import exp, lgamma, log, log1p, sqrt
from typing import ClassVar, Final, final

from vertwin.errors import user_error
from vertwin.privacy.closed_form import gaussian_delta, gaussian_epsilon, gaussian_mu
from vertwin.privacy.event import Event, GaussianEvent, KnownSamplesEvent

_GROUPS: Final = 400  # numbers of uses that are told apart; within a group the largest counts
_REACH: Final = 14.0  # standard deviations of the number of uses that are looked at one by one


class Oracle(ABC):
    """One way to account. Formal guarantee: neither number returned is below the true one."""

    name: ClassVar[str]

    @abstractmethod
    def epsilon(self, event: Event, delta: float) -> float:
        """An epsilon at which the event is (epsilon, delta)-private; infinite where nothing is promised."""

    @abstractmethod
    def delta(self, event: Event, epsilon: float) -> float:
        """A delta at which the event is (epsilon, delta)-private."""

    def guess_probability(self, event: Event) -> float:
        """How often the best guesser is right about two equally likely values, given all that is revealed.

        Half of 1 + the largest difference that any test can make, and that is delta at epsilon 0.
        """
        return min(1.0, (1 + self.delta(event, 0.0)) / 2)


@final
class ClosedForm(Oracle):
    """Exact up to rounding, which is upwards: Gaussian events, and samples that the viewer knows."""

    name = "closed form"

    def epsilon(self, event: Event, delta: float) -> float:
        match event:
            case GaussianEvent():
                return gaussian_epsilon(event.mu, delta)
            case KnownSamplesEvent():
                return _known_samples_epsilon(event, delta)
            case _:
                raise _no_closed_form(event)

    def delta(self, event: Event, epsilon: float) -> float:
        match event:
            case GaussianEvent():
                return gaussian_delta(event.mu, epsilon)
            case KnownSamplesEvent():
                return _known_samples_delta(event, epsilon)
            case _:
                raise _no_closed_form(event)


def _no_closed_form(event: Event) -> Exception:
    return user_error("E705", f"{event.kind} has no closed form: account for it by privacy loss distributions")


def _known_samples_delta(event: KnownSamplesEvent, epsilon: float) -> float:
    total = 0.0
    for uses, mass in _uses(event.steps, event.probability):
        total += mass * (1.0 if uses > event.steps else gaussian_delta(event.mu * sqrt(uses) * (1 + 1e-15), epsilon))
    return min(1.0, max(5e-324, total * (1 + 1e-12)))


def _known_samples_epsilon(event: KnownSamplesEvent, delta: float) -> float:
    if not 0 < delta < 1:
        raise user_error("E700", "delta must lie strictly between 0 and 1")
    high = gaussian_epsilon(event.mu * sqrt(event.steps) * (1 + 1e-15), delta)  # a use in every step: holds by itself
    low = 0.0
    if _known_samples_delta(event, 0.0) <= delta:
        return 0.0
    while high - low > 1e-9 * high:
        middle = low + (high - low) / 2
        if _known_samples_delta(event, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


@lru_cache(maxsize=256)
def _uses(steps: int, probability: float) -> tuple[tuple[int, float], ...]:
    """(uses, probability) of a Binomial, rounded up: both tails added to a number of uses that is not smaller.

    What lies above the reach counts as more uses than there are steps, that is, as everything revealed.
    """
    if probability == 1:
        return ((steps, 1.0),)
    spread = _REACH * sqrt(steps * probability * (1 - probability)) + 2 * _REACH
    first = max(0, int(steps * probability - spread))
    last = min(steps, int(steps * probability + spread) + 1)

    def mass(uses: int) -> float:
        logarithm = lgamma(steps + 1) - lgamma(uses + 1) - lgamma(steps - uses + 1)
        logarithm += uses * log(probability) + (steps - uses) * log1p(-probability)
        return exp(logarithm + 1e-14 * lgamma(steps + 2) + 1e-14)  # lgamma's own rounding, upwards

    width = max(1, -(-(last - first + 1) // _GROUPS))
    groups: dict[int, float] = {}
    for uses in range(first, last + 1):
        top = min(last, first + ((uses - first) // width + 1) * width - 1)
        groups[top] = groups.get(top, 0.0) + mass(uses)
    # A binomial's tails fall at least geometrically beyond its mean.
    if first:
        ratio = first * (1 - probability) / ((steps - first + 1) * probability)
        groups[min(groups)] += mass(first) * ratio / (1 - ratio)
    if last < steps:
        ratio = (steps - last) * probability / ((last + 1) * (1 - probability))
        groups[steps + 1] = mass(last) * ratio / (1 - ratio)
    return tuple(sorted(groups.items()))


def noise_multiplier_bound(target: float, delta: float, distance: float, uses: int) -> float:
    """sd / c at which `uses` releases without any amplification meet a target: no event of theirs needs more."""
    return distance * sqrt(uses) / gaussian_mu(target, delta) * (1 + 1e-12)
