"""Poisson sampling under replacement at any distance: the worst pair, and its privacy loss distribution.

Let a record's contribution have norm at most c, and two contributions be at most D apart, D <= 2c. For every
exp(epsilon) >= 1 the hockey-stick divergence of one step is at most that of

    (1 - q) N(0) + q N(c)    against    (1 - q) N(0) + q N(c - D)        (noise of sd sigma, in one dimension).

Proof. Condition on the rest of the batch (joint convexity). With a = exp(epsilon) it is
q sup_S [B(S) - a B'(S) - (a - 1)(1 - q)/q A(S)], where A, B, B' are Gaussians at 0, g, g'. Given B(S) = b, the lemma
of Neyman and Pearson says A(S) >= Phi(Phi^-1(b) - c/sigma) and B'(S) >= Phi(Phi^-1(b) - D/sigma); the collinear pair
attains both with the same half-line. For epsilon < 0 the relation is symmetric: delta(epsilon) =
1 - exp(epsilon) + exp(epsilon) delta(-epsilon). QED. It holds in any dimension and adaptively; D = 2c gives N(+c)
against N(-c), which is the pair that dp-accounting knows.

Cut samples. A Poisson sample of more than m records is cut to m of them at random. Given the sample's other records R,
the record is in with probability q where |R| < m - 1; with a larger p* where |R| = m - 1, since cut samples end there;
never where |R| = m. By joint convexity delta is at most the mean over |R|.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.special import log_ndtr

INTERVAL: Final = 1e-4  # of the grid of losses; finer ones lose more to cancellation than they gain
_TAIL: Final = 10.0  # standard deviations: beyond, a mass of e^-50 is counted as fully revealed

Floats = npt.NDArray[np.float64]


def step_profile(
    noise_multiplier: float,
    probability: float,
    distance: float,
    rows: int | None = None,
    batch_at_most: int | None = None,
    interval: float = INTERVAL,
) -> Floats:
    """delta of one step at epsilon = k * interval for k = -n .. n, with c = 1; rounded up."""
    parts = [(1.0, probability)]
    if rows is not None and batch_at_most is not None:
        parts = cut_samples(rows, probability, batch_at_most)
    largest = max(inside for _, inside in parts)
    end = float(_loss(1 + _TAIL * noise_multiplier, noise_multiplier, largest, distance))
    grid = np.arange(math.ceil(end / interval) + 1) * interval
    delta = np.full(grid.shape, 1e-17)
    for weight, inside in parts:
        delta += weight * _hockey_stick(grid, noise_multiplier, inside, distance)
    delta = np.asarray(np.minimum.accumulate(np.clip(delta, 0, 1)), np.float64)
    below = -np.expm1(-grid[1:]) + np.exp(-grid[1:]) * delta[1:]
    return np.concatenate([below[::-1], delta])


def cut_samples(rows: int, probability: float, batch_at_most: int) -> list[tuple[float, float]]:
    """(weight, probability that the record is in) of each kind of rest R, kinds in which it cannot be left out."""
    others = stats.binom(rows - 1, probability)
    free = float(others.cdf(batch_at_most - 2))  # |R| < m - 1
    sizes = np.arange(batch_at_most, min(rows, batch_at_most + 40 * math.isqrt(batch_at_most) + 400))
    kept = float((others.pmf(sizes) * batch_at_most / (sizes + 1)).sum())
    just = float(others.pmf(batch_at_most - 1))
    inside, outside = probability * (just + kept), (1 - probability) * just
    full = inside + outside
    return [(free, probability)] + ([(full, inside / full)] if full > 0 else [])


def _loss(x: float | Floats, sigma: float, probability: float, distance: float) -> Floats:
    """Log of the density ratio of the pair at x; increasing in x."""
    left_out, inside = math.log1p(-probability), math.log(probability)
    other = 1 - distance
    return np.logaddexp(left_out, inside + (x - 0.5) / sigma**2) - np.logaddexp(
        left_out, inside + other * (x - other / 2) / sigma**2
    )


def _hockey_stick(epsilon: Floats, sigma: float, probability: float, distance: float) -> Floats:
    """delta of one step at each epsilon >= 0: the half-line where the loss is at least epsilon."""
    edge = _where(epsilon, sigma, probability, distance)

    def above(mean: float, factor: Floats | float = 0.0) -> Floats:
        """exp(factor) times the mass of the half-line under N(mean, sigma^2), without overflow."""
        return np.exp(factor + log_ndtr((mean - edge) / sigma))

    return (
        probability * above(1.0)
        - probability * above(1 - distance, epsilon)
        - (1 - probability) * (above(0.0, epsilon) - above(0.0))
    )


def _where(epsilon: Floats, sigma: float, probability: float, distance: float) -> Floats:
    """The x at which the loss is epsilon: read off a table, then Newton's steps, each kept between its neighbours.

    What is left of an error costs nothing to first order: the half-line is the best of all sets, so that a set beside
    it has the same divergence up to the square of the error.
    """
    table = np.linspace(-4 * distance - 1, 1 + distance + (_TAIL + 2) * sigma, 60_001)
    loss = _loss(table, sigma, probability, distance)
    x = np.interp(epsilon, loss, table)
    width = float(table[1] - table[0])
    low, high = x - width, x + width
    for _ in range(4):
        share = _share(x, 1.0, sigma, probability)
        other = _share(x, 1 - distance, sigma, probability)
        slope = (share - (1 - distance) * other) / sigma**2
        x = np.clip(x - (_loss(x, sigma, probability, distance) - epsilon) / slope, low, high)
    return x


def _share(x: Floats, mean: float, sigma: float, probability: float) -> Floats:
    """How likely the record is in the sample, given x, where its contribution is `mean`."""
    inside = math.log(probability) - math.log1p(-probability) + mean * (x - mean / 2) / sigma**2
    return np.exp(-np.logaddexp(0.0, -inside))


def renyi_divergence(noise_multiplier: float, probability: float, order: float) -> float:
    """Of one step at distance 2, by quadrature of the smooth integrand: converges beyond rounding; 1e-9 is added."""
    sigma = noise_multiplier
    reach = 1 + 12 * sigma + order / sigma  # the integrand's bulk sits near order
    x = np.linspace(-reach, reach + order, 40_001)
    base = -x * x / (2 * sigma**2) + (math.log1p(-probability) if probability < 1 else -math.inf)
    upper = np.logaddexp(base, math.log(probability) - (x - 1) ** 2 / (2 * sigma**2))
    lower = np.logaddexp(base, math.log(probability) - (x + 1) ** 2 / (2 * sigma**2))
    integrand = order * upper + (1 - order) * lower - math.log(sigma * math.sqrt(2 * math.pi))
    top = float(integrand.max())
    total = float(np.exp(integrand - top).sum() * (x[1] - x[0]))
    return (math.log(total) + top) / (order - 1) * (1 + 1e-9) + 1e-15
