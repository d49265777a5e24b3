"""The discrete Gaussian on the integers, exactly, and fast enough to noise every cell of every table.

`P(x)` is proportional to `exp(-x^2 / (2 variance))` on the integers. Rounding a floating-point Gaussian is not that
law: its low bits betray the value that was noised (Mironov 2012). Here floating point only *looks up* a decision that
is already clear; every decision that is not is taken again in exact arithmetic.

How one value is drawn. Write |x| = k a + v with a step k, a power of two near sd/16, and 0 <= v < k:

1. a has probability proportional to exp(-(k a)^2 / (2 variance)): a 256-bit uniform number among 256-bit thresholds;
2. v is uniform in [0, k): exact bits;
3. keep with probability exp(-v (2 k a + v) / (2 variance)): the three factors multiply to the target;
4. a random sign; "minus zero" is thrown away, else zero would be drawn twice as often as it should.

A 256-bit number is drawn lazily: its first 64 bits decide all but about one draw in 2^43 (step 3; in step 1 one in
2^55). The others get the missing 192 bits and a comparison of integers. The exact side uses `decimal` with a context
of its own: correctly rounded, in the standard library, and without the process-wide precision that `mpmath` has (two
parties of a rehearsal are two threads).

How exact: the law differs from the discrete Gaussian by the mass beyond 16 standard deviations (below 2^-183) and by
rounding 256-bit thresholds (below 2^-245), per value: `DISTANCE_PER_SAMPLE`. A run of 2^60 values is within 2^-120.

Cost: 24 bytes of entropy a value. The time depends on how many candidates are refused, so whoever can time a single
draw learns a little of it: draw noise before the protocol starts, not while a peer waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import frexp, isfinite, sqrt
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from vertwin.errors import user_error
from vertwin.noise.entropy import Entropy

DISTANCE_PER_SAMPLE: Final = 2.0**-180  # total variation between one value's law and the discrete Gaussian
LARGEST_VARIANCE: Final = 2**92  # sd < 2^46, so that |x| < 2^51 is exact in int64 and in a float64
EXACT_BITS: Final = 256
_EXTENSION_BYTES: Final = 24  # with the first 64 bits: 256
_TAIL: Final = 16  # standard deviations that the table reaches
_GUARD: Final = 1 << 9  # units of 2^-53; the floating-point acceptance probability is within 2^-50 = 8 of them
_BLOCK: Final = 1 << 15  # candidates at a time: the working set stays in the cache


def scaled_exponential(numerator: int, denominator: int) -> int:
    """floor(2^256 exp(-numerator / denominator)) for numerator >= 0, denominator > 0 (off by one at the most)."""
    exact = Context(prec=120, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN)
    exponent = exact.divide(Decimal(-numerator), Decimal(denominator))
    return int(exact.multiply(exact.exp(exponent), Decimal(1 << EXACT_BITS)))


@dataclass(frozen=True)
class _Table:
    """What step 1 needs: the step k = 2^shift and the distribution function of a, whole and by its first 64 bits."""

    shift: int
    thresholds: tuple[int, ...]
    first_words: NDArray[np.uint64]


@lru_cache(maxsize=64)
def _table(variance: Fraction) -> _Table:
    deviation = sqrt(variance)
    shift = max(0, frexp(deviation / _TAIL)[1] - 1)
    step = 1 << shift
    last = int(_TAIL * deviation / step) + 1
    numerator, denominator = variance.numerator, variance.denominator
    weights = [scaled_exponential((step * a) ** 2 * denominator, 2 * numerator) for a in range(last + 1)]
    total, reached, thresholds = sum(weights), 0, list[int]()
    for weight in weights[:-1]:
        reached += weight
        thresholds.append((reached << EXACT_BITS) // total)
    # With a small variance the last weights are below 2^-256 and the threshold is the whole range: never passed.
    thresholds = [threshold for threshold in thresholds if threshold < 1 << EXACT_BITS]
    first_words = np.array([threshold >> (EXACT_BITS - 64) for threshold in thresholds], dtype=np.uint64)
    return _Table(shift, tuple(thresholds), first_words)


@final
class DiscreteGaussian:
    """Integers x with probability proportional to exp(-x^2 / (2 variance)); `variance` in squared grid units.

    Formal guarantees:
      - n values are within n * DISTANCE_PER_SAMPLE of independent discrete Gaussians in total variation;
      - no floating-point number takes a decision (see above), and the variance is used as the exact fraction given;
      - every byte of entropy is used once.
    """

    def __init__(self, variance: Fraction | int | float) -> None:
        if isinstance(variance, float) and not isfinite(variance):
            raise user_error("E702", "a noise variance is not a finite number")
        exact = Fraction(variance)
        if not 0 < exact < LARGEST_VARIANCE:
            raise user_error(
                "E702", "a noise variance must be positive and below 2^92 squared grid units", "use a coarser grid"
            )
        self._variance = exact

    @property
    def variance(self) -> Fraction:
        """The parameter of the law, exact. (The variance of the law itself is smaller by a hair when it is below 1.)"""
        return self._variance

    def __repr__(self) -> str:
        return f"DiscreteGaussian(variance={self._variance})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DiscreteGaussian) and other._variance == self._variance

    def __hash__(self) -> int:
        return hash(("DiscreteGaussian", self._variance))

    def sample(self, n: int, entropy: Entropy) -> NDArray[np.int64]:
        """`n` independent values."""
        assert n >= 0
        values = np.empty(n, dtype=np.int64)
        filled = 0
        while filled < n:
            missing = n - filled
            words = _words(min(_BLOCK, missing + missing // 16 + 16), entropy)
            candidates, kept = self._decide(words, lambda: entropy.bytes(_EXTENSION_BYTES))
            new = candidates[kept][:missing]
            values[filled : filled + len(new)] = new
            filled += len(new)
        return values

    def _decide(
        self, words: NDArray[np.uint64], extend: Callable[[], bytes]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Candidates and whether each is kept, from three rows of random words; `extend` gives 192 more bits."""
        table = _table(self._variance)
        uniform, bits, coin = words
        a: NDArray[np.int64] = np.asarray(np.searchsorted(table.first_words, uniform, side="left"), np.int64)
        if len(table.first_words):
            nearest = table.first_words[np.minimum(a, len(table.first_words) - 1)]
            for i in np.flatnonzero(nearest == uniform):  # the first 64 bits are a threshold's: they do not decide
                whole = _extended(uniform[i], extend)
                a[i] = sum(threshold <= whole for threshold in table.thresholds)

        v = (bits & np.uint64((1 << table.shift) - 1)).view(np.int64)
        base = a << table.shift
        magnitude = base + v
        exponent = v * (base + magnitude).astype(np.float64) / (-2.0 * float(self._variance))
        margin = (coin >> np.uint64(11)).view(np.int64) - np.ldexp(np.exp(exponent), 53).astype(np.int64)
        kept = margin < 0
        for i in np.flatnonzero(np.abs(margin) <= _GUARD):
            numerator = int(v[i]) * (int(base[i]) + int(magnitude[i])) * self._variance.denominator
            kept[i] = _extended(coin[i], extend) < scaled_exponential(numerator, 2 * self._variance.numerator)

        negative = (bits >> np.uint64(63)).astype(np.bool_)
        kept &= ~(negative & (magnitude == 0))
        return np.where(negative, -magnitude, magnitude), kept


def _words(count: int, entropy: Entropy) -> NDArray[np.uint64]:
    drawn = entropy.bytes(24 * count)
    assert len(drawn) == 24 * count, "a source of entropy gave fewer bytes than it was asked for"
    return np.frombuffer(drawn, dtype="<u8").astype(np.uint64, copy=False).reshape(3, count)


def _extended(word: np.uint64, extend: Callable[[], bytes]) -> int:
    return (int(word) << (EXACT_BITS - 64)) | int.from_bytes(extend(), "little")
