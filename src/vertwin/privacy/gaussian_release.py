"""What every mechanism here is: one adaptive sequence of releases with exact Gaussian noise, seen by many viewers.

A mechanism is data. The sampler, the clipping, the ledger and the statement read their scales from the same object
that the epsilons are computed from, so no scale is typed twice.

Discrete noise, continuous formula. The noise is drawn on the integers of a grid, by several parties, and the closed
form speaks of one continuous Gaussian. Two facts join them (y, x: continuous and discrete; variances in grid units):

- Draw y ~ N(f, s - eta) and then x from the discrete Gaussian centred at y with variance eta = 4. The law of x is the
  discrete Gaussian around f with variance s up to a factor 1 +- 2 r, r = 2 exp(-2 pi^2 eta) < 1e-33 (Poisson
  summation). So what is released is a post-processing of a continuous Gaussian of variance s - 4.
- The sum of the shares of several parties is one discrete Gaussian of the summed variance up to a factor
  exp(+-10 exp(-pi^2 v)) where v is the smallest share (Kairouz, Liu, Steinke 2021); shares below `LEAST_SHARE` are
  refused, which makes it 1 +- 1e-67.

Over 1e12 released numbers both together change epsilon by less than 1e-19, which is less than what `closed_form`
rounds up. What is left is the 4: `hidden_variance` takes it off.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Set
from fractions import Fraction
from math import inf, nextafter, sqrt
from typing import Final, NamedTuple

from vertwin.errors import user_error
from vertwin.privacy.closed_form import gaussian_epsilon
from vertwin.privacy.event import Adjacency as Adjacency
from vertwin.privacy.event import Event, GaussianEvent, Mechanism

SMOOTHING: Final = 4  # squared grid units that the step from continuous to discrete noise costs
LEAST_SHARE: Final = 16  # squared grid units


class NoiseShare(NamedTuple):
    """Who draws it, and its variance in the unit of what is released (counts, gradients), squared."""

    holder: str
    variance: Fraction


class GaussianRelease(Mechanism):
    """A mechanism whose promise to every viewer is one number mu."""

    @abstractmethod
    def mu_squared(self, coalition: Iterable[str] = ()) -> float:
        """Squared distance of neighbouring tables in units of the noise that the coalition did not draw; rounded up."""

    def mu(self, coalition: Iterable[str] = ()) -> float:
        squared = self.mu_squared(coalition)
        return nextafter(sqrt(squared), inf) if squared else 0.0

    def event(self, coalition: Iterable[str] = ()) -> Event:
        return GaussianEvent(self.mu(coalition))

    def epsilon(self, delta: float, coalition: Iterable[str] = ()) -> float:
        """The epsilon of this viewer at `delta`, rounded up; infinite where nothing is promised."""
        return gaussian_epsilon(self.mu(coalition), delta)


def hidden_variance(noise: Iterable[NoiseShare], coalition: Set[str], grid_bits: int) -> Fraction:
    """The variance that protects against a coalition: the shares it did not draw, less the price of discreteness."""
    hidden = sum((share.variance for share in noise if share.holder not in coalition), Fraction(0))
    return max(Fraction(0), hidden - Fraction(SMOOTHING, 4**grid_bits))


def on_grid(variance: Fraction | float, grid_bits: int) -> Fraction:
    """The variance, rounded up to a whole number of squared grid units of 2^-grid_bits."""
    units = Fraction(variance) * 4**grid_bits
    return Fraction(-(-units.numerator // units.denominator), 4**grid_bits)


def grid_units(variance: Fraction, grid_bits: int) -> int:
    """The same variance as the sampler takes it: in squared grid units."""
    units = variance * 4**grid_bits
    assert units.denominator == 1, "a variance off the grid"
    return units.numerator


def require_share(variance: Fraction, grid_bits: int) -> None:
    if variance * 4**grid_bits < LEAST_SHARE:
        raise user_error(
            "E702",
            f"a share of the noise is below {LEAST_SHARE} squared units of its grid 2^-{grid_bits}",
            "more noise, or a finer grid",
        )


def rounded_up(exact: Fraction) -> float:
    """The smallest-but-one float above: never below the exact value."""
    return nextafter(float(exact), inf)
