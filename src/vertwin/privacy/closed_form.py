"""Epsilon, delta and mu of a Gaussian release, in closed form, with nothing but `math`.

A release with independent Gaussian noise is described by one number,

    mu = (largest L2 distance between the noiseless values of two neighbouring tables) / (sd of the noise),

the `mu` of Gaussian differential privacy; the *noise multiplier* that accountants ask for is 1/mu, where the distance
is taken as the unit. Releases compose by adding mu squared, in any order and adaptively, so T uses of one record give
sqrt(T) mu. Then (Balle and Wang 2018, theorem 8)

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)

is exact, no bound. Every function here errs on the safe side: delta and epsilon are rounded up, mu is rounded down.
"""

from __future__ import annotations

from math import erfc, exp, inf, isfinite, isnan, log, pi, sqrt
from typing import Final

from vertwin.errors import user_error

_ROUNDING: Final = 4e-13  # relative error of a scaled complementary error function below, with room to spare


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The delta at which a mu-Gaussian release is (epsilon, delta)-private, rounded up."""
    _require_mu(mu)
    if isnan(epsilon) or epsilon < 0:
        raise user_error("E701", "epsilon must be zero or more")
    if mu == 0 or epsilon == inf:
        return 0.0
    if mu == inf:
        return 1.0
    far = epsilon / mu + mu / 2
    near = epsilon / mu - mu / 2 - 4e-16 * far  # below its true value, whatever the subtraction lost
    if not isfinite(far):  # epsilon/mu overflowed: far beyond every tail that a float can hold
        return 5e-324
    if near < 0:  # not a tail: no cancellation to fear
        high = erfc(near / sqrt(2)) / 2
        low = exp(-near * near / 2) * _scaled_erfc(far / sqrt(2)) / 2
        return min(1.0, high - low + _ROUNDING * high)
    # exp(epsilon) exp(-far^2/2) = exp(-near^2/2) comes out of both terms, so that no tiny numbers are subtracted.
    high, low = _scaled_erfc(near / sqrt(2)), _scaled_erfc(far / sqrt(2))
    bracket = high - low + _ROUNDING * (high + low)
    square = near * near / 2
    return min(1.0, max(5e-324, exp(-square) * bracket / 2 * (1 + _ROUNDING)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon at which a mu-Gaussian release is (epsilon, delta)-private, rounded up."""
    _require_mu(mu)
    _require_delta(delta)
    if mu == inf:
        return inf
    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, mu * mu / 2 + mu * sqrt(2 * log(1 / delta)) + 1e-300  # the tail bound: never too small
    while gaussian_delta(mu, high) > delta:  # rounding of the bound itself
        high *= 1 + 1e-9
    while low < (middle := low + (high - low) / 2) < high:
        if gaussian_delta(mu, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu that is (epsilon, delta)-private, rounded down: what calibration starts from."""
    if not 0 < epsilon < inf:
        raise user_error("E701", "an epsilon must be positive and finite")
    _require_delta(delta)
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    while low < (middle := low + (high - low) / 2) < high:
        if gaussian_delta(middle, epsilon) <= delta:
            low = middle
        else:
            high = middle
    shrink = 1e-15
    while gaussian_epsilon(low, delta) > epsilon:  # by the last bit: the way back shall not end above the target
        low *= 1 - shrink
        shrink = min(0.5, 2 * shrink)  # a delta near the rounding of the formula itself takes more than the last bit
    return low


def guess_probability(mu: float) -> float:
    """How often the best guesser is right about one person's two equally likely values, given the release: Phi(mu/2).

    Exact for Gaussian noise and tighter than what epsilon and delta alone imply; rounded up.
    """
    _require_mu(mu)
    return min(1.0, erfc(-mu / 2 / sqrt(2)) / 2 * (1 + _ROUNDING))


def _require_mu(mu: float) -> None:
    if isnan(mu) or mu < 0:
        raise user_error("E702", "mu, the distance in units of the noise, must be zero or more")


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise user_error("E700", "delta must lie strictly between 0 and 1")


def _scaled_erfc(x: float) -> float:
    """exp(x^2) erfc(x) for x >= 0: what is left of a tail when its size is taken out."""
    if x < 20:
        return exp(x * x) * erfc(x)
    total, term = 1.0, 1.0  # the asymptotic series: eight terms leave less than 1e-17 at x = 20
    for k in range(1, 9):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * sqrt(pi))
