"""The distribution function of Beta variables, without SciPy: for the marginals of a twin with Beta columns.

The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated by Lentz's method on whole arrays,
on the side of the mean where it converges fast.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_TINY: Final = 1e-300
_MOST_TERMS: Final = 20_000  # about sqrt(max(a, b)) terms are needed
_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])


def cumulative(values: Floats, first: Floats, second: Floats) -> Floats:
    """P(X <= value) for X ~ Beta(first, second), elementwise with broadcasting; 0 below the unit interval, 1 above."""
    x, a, b = np.broadcast_arrays(np.clip(values, 0.0, 1.0), first, second)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        swap = x > (a + 1) / (a + b + 2)
        y, p, q = np.where(swap, 1 - x, x), np.where(swap, b, a), np.where(swap, a, b)
        log_front = p * np.log(y) + q * np.log1p(-y) - (_log_gamma(p) + _log_gamma(q) - _log_gamma(p + q))
        lower = np.exp(log_front - np.log(p)) * _fraction(y, p, q)
        lower = np.where(y == 0, 0.0, lower)
    return np.clip(np.where(swap, 1 - lower, lower), 0.0, 1.0)


def _fraction(y: Floats, p: Floats, q: Floats) -> Floats:
    c = np.ones_like(y)
    d = 1 / _away_from_zero(1 - (p + q) * y / (p + 1))
    value = d.copy()
    for m in range(1, _MOST_TERMS):
        before = value
        for term in (
            m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m)),
            -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value = value * d * c
        if np.all(np.abs(value - before) <= 1e-14 * np.abs(value)):
            break
    return value


def _away_from_zero(values: Floats) -> Floats:
    return np.where(np.abs(values) < _TINY, _TINY, values)
