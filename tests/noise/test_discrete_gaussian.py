"""Statistical tests have fixed seeds; their false-alarm rate, were the seed drawn afresh, is ALARM in total each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.typing import NDArray
from scipy import stats
from unsafe_entropy import UnsafeSeededEntropy

from vertwin.errors import UserError
from vertwin.noise import DiscreteGaussian, Entropy, SystemEntropy
from vertwin.noise.discrete_gaussian import EXACT_BITS, LARGEST_VARIANCE, _table, scaled_exponential

ALARM = 1e-6
SCALES = [Fraction(1, 50), Fraction(1, 3), 1, Fraction(9, 4), 100, 511, 2**20 + 7, 2**40, Fraction(2**80, 3), 2**92 - 1]


def cell_probabilities(variance: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Upper ends of cells and their exact probabilities: single integers up to sd 40, else 82 intervals, where
    the normal distribution at half-integers differs from the discrete one by less than 1e-14 per cell."""
    sd = math.sqrt(variance)
    if sd <= 40:
        reach = int(12 * sd) + 2
        x = np.arange(-reach, reach + 1)
        weights = np.exp(-(x**2) / (2 * variance))
        return x, weights / weights.sum()
    ends = np.unique(np.floor(sd * np.linspace(-5, 5, 81)).astype(np.int64))
    below = stats.norm.cdf((ends + 0.5) / sd)
    return np.append(ends, np.iinfo(np.int64).max), np.diff(np.concatenate([[0.0], below, [1.0]]))


def chi_square(sample: NDArray[np.int64], variance: float) -> float:
    """p-value of the sample against the exact law, cells with fewer than 10 expected counts merged."""
    ends, probabilities = cell_probabilities(variance)
    counts = np.bincount(np.searchsorted(ends, sample), minlength=len(ends) + 1)
    observed, expected = [0.0], [0.0]
    for count, mass in zip(counts, np.append(probabilities, 0.0), strict=True):
        if expected[-1] >= 10:
            observed.append(0.0)
            expected.append(0.0)
        observed[-1] += float(count)
        expected[-1] += float(mass) * len(sample)
    if expected[-1] < 10 and len(expected) > 1:
        rest, mass = observed.pop(), expected.pop()
        observed[-1] += rest
        expected[-1] += mass
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return float(stats.chi2.sf(statistic, max(1, len(observed) - 1)))


@pytest.mark.parametrize("variance", SCALES)
def test_the_law_is_the_discrete_gaussian(variance: Fraction | int) -> None:
    sample = DiscreteGaussian(variance).sample(400_000, UnsafeSeededEntropy(f"law {variance}"))
    assert chi_square(sample, float(variance)) > ALARM / len(SCALES)


@pytest.mark.parametrize("variance", [1, 100, 2**20 + 7, 2**60])
def test_low_bits_tail_and_sign_are_those_of_the_law(variance: int) -> None:
    n = 400_000
    sample = DiscreteGaussian(variance).sample(n, UnsafeSeededEntropy(f"bits {variance}"))
    z = stats.norm.isf(ALARM / 2 / 50)
    if variance >= 100:  # the bits are even up to exp(-2 pi^2 variance / 4)
        for bit in range(10 if variance > 1e5 else 1):
            assert abs(np.mean((sample >> bit) & 1) - 0.5) < z / (2 * math.sqrt(n))
    assert abs(np.mean(np.sign(sample))) < z / math.sqrt(n)
    for far in (3.0, 4.0):
        ends, probabilities = cell_probabilities(variance)
        cut = int(far * math.sqrt(variance))
        if variance <= 1600:
            tail = float(probabilities[np.abs(ends) > cut].sum())
        else:
            tail = 2 * float(stats.norm.sf((cut + 0.5) / math.sqrt(variance)))
        seen = int((np.abs(sample) > cut).sum())
        assert stats.binom.cdf(seen, n, tail) > ALARM / 50 and stats.binom.sf(seen - 1, n, tail) > ALARM / 50


def rounded_normal(variance: float, n: int) -> NDArray[np.int64]:
    return np.rint(np.random.default_rng(1).normal(0, math.sqrt(variance), n)).astype(np.int64)


def zero_counted_twice(variance: float, n: int) -> NDArray[np.int64]:
    ends, probabilities = cell_probabilities(variance)
    probabilities = np.where(ends == 0, 2 * probabilities, probabilities)
    return np.random.default_rng(2).choice(ends, n, p=probabilities / probabilities.sum())


def one_per_cent_too_narrow(variance: float, n: int) -> NDArray[np.int64]:
    return DiscreteGaussian(Fraction(variance) * Fraction(99, 100)).sample(n, UnsafeSeededEntropy(3))


def biased_parity(variance: float, n: int) -> NDArray[np.int64]:
    sample = DiscreteGaussian(Fraction(variance)).sample(n, UnsafeSeededEntropy(4))
    return np.where(np.random.default_rng(3).random(n) < 0.02, sample & ~1, sample)


@pytest.mark.parametrize(
    ("broken", "variance"),
    [
        (rounded_normal, 2.25),
        (zero_counted_twice, 100.0),
        (one_per_cent_too_narrow, 100.0),
        (one_per_cent_too_narrow, 2.0**40),
        (biased_parity, 100.0),
    ],
)
def test_a_broken_sampler_is_caught(broken: Callable[[float, int], NDArray[np.int64]], variance: float) -> None:
    assert chi_square(broken(variance, 2_000_000), variance) < ALARM / 1e3


# --- the slow twins ---


class Canonne:
    """The exact sampler of Canonne, Kamath and Steinke (2020), with rationals: nothing is approximated."""

    def __init__(self, entropy: Entropy) -> None:
        self.entropy = entropy

    def below(self, n: int) -> int:
        size = (n.bit_length() + 7) // 8 + 8
        limit = (1 << 8 * size) // n * n
        while (drawn := int.from_bytes(self.entropy.bytes(size), "little")) >= limit:
            pass
        return drawn % n

    def bernoulli(self, p: Fraction) -> bool:
        return self.below(p.denominator) < p.numerator

    def bernoulli_exp(self, gamma: Fraction) -> bool:
        while gamma > 1:
            if not self.bernoulli_exp(Fraction(1)):
                return False
            gamma -= 1
        k = 1
        while self.bernoulli(gamma / k):
            k += 1
        return k % 2 == 1

    def laplace(self, t: int) -> int:
        while True:
            u = self.below(t)
            if not self.bernoulli_exp(Fraction(u, t)):
                continue
            v = 0
            while self.bernoulli_exp(Fraction(1)):
                v += 1
            x = u + t * v
            negative = self.below(2) == 1
            if not (negative and x == 0):
                return -x if negative else x

    def gaussian(self, variance: Fraction) -> int:
        t = math.isqrt(int(variance)) + 1
        while True:
            y = self.laplace(t)
            if self.bernoulli_exp((abs(y) - variance / t) ** 2 / (2 * variance)):
                return y


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(25, 2)])
def test_the_slow_exact_sampler_agrees(variance: Fraction) -> None:
    twin = Canonne(UnsafeSeededEntropy("twin"))
    slow = np.array([twin.gaussian(variance) for _ in range(12_000)])
    assert chi_square(slow, float(variance)) > ALARM / 4
    fast = DiscreteGaussian(variance).sample(12_000, UnsafeSeededEntropy("fast"))
    assert stats.ks_2samp(slow, fast).pvalue > ALARM / 4  # conservative for a discrete law


class Extension:
    """192 further bits per question, remembered, so that the replay below sees the same ones."""

    def __init__(self, seed: int) -> None:
        self.entropy = UnsafeSeededEntropy(seed)
        self.given: list[bytes] = []

    def __call__(self) -> bytes:
        self.given.append(self.entropy.bytes(24))
        return self.given[-1]


def replayed(variance: Fraction, words: NDArray[np.uint64]) -> tuple[list[int], list[bool]]:
    """The same words, every decision in 400-bit arithmetic of another library; extension bits taken as zero."""
    with mp.workprec(400):
        table = _table(variance)
        step = 1 << table.shift
        two = 2 * mpf(variance.numerator) / variance.denominator
        reach = int(16 * math.sqrt(variance) / step) + 2
        weights = [mp.exp(-mpf((step * a) ** 2) / two) for a in range(reach)]
        total, reached, thresholds = sum(weights), mpf(0), []
        for weight in weights[:-1]:
            reached += weight
            thresholds.append(reached / total)
        values, kept = [], []
        for uniform, bits, coin in zip(*(row.tolist() for row in words), strict=True):
            u = mpf(uniform) / 2**64
            a = sum(threshold <= u for threshold in thresholds)
            v = bits & (step - 1)
            x = step * a + v
            negative = bool(bits >> 63)
            accept = mpf(coin) / 2**64 < mp.exp(-mpf(v * (2 * step * a + v)) / two)
            values.append(-x if negative else x)
            kept.append(accept and not (negative and x == 0))
    return values, kept


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(9, 4), Fraction(2**20 + 7), Fraction(2**91, 3)])
def test_every_decision_is_the_one_of_exact_arithmetic(variance: Fraction) -> None:
    words = np.frombuffer(UnsafeSeededEntropy(f"replay {variance}").bytes(24 * 1200), dtype=np.uint64).reshape(3, -1)
    values, kept = DiscreteGaussian(variance)._decide(words, lambda: bytes(24))
    assert (values.tolist(), kept.tolist()) == replayed(variance, words)


@pytest.mark.parametrize("variance", [Fraction(9, 4), Fraction(2**20 + 7), Fraction(2**91, 3)])
def test_decisions_at_the_very_edge_are_exact(variance: Fraction) -> None:
    """Words put on and beside every threshold and every acceptance probability, where floating point cannot decide."""
    table = _table(variance)
    rng = np.random.default_rng(7)
    a = rng.integers(0, len(table.thresholds), 600)
    uniform = np.array([table.thresholds[i] >> 192 for i in a], dtype=np.uint64) + rng.integers(-1, 2, 600).astype(
        np.uint64
    )
    bits = rng.integers(0, 2**63, 600, dtype=np.uint64) * np.uint64(2)
    v = bits & np.uint64((1 << table.shift) - 1)
    coin = []
    for i, offset, level in zip(v.tolist(), rng.integers(-1, 2, 600).tolist(), a.tolist(), strict=True):
        gap = i * ((level << table.shift) * 2 + i) * variance.denominator
        coin.append(min(2**64 - 1, max(0, (scaled_exponential(gap, 2 * variance.numerator) >> 192) + offset)))
    words = np.stack([uniform, bits, np.array(coin, dtype=np.uint64)])
    values, kept = DiscreteGaussian(variance)._decide(words, lambda: bytes(24))
    assert (values.tolist(), kept.tolist()) == replayed(variance, words)
    if table.shift:
        assert 100 < sum(kept.tolist()) < 500  # both answers occur


def test_undecided_words_take_fresh_bits() -> None:
    law = DiscreteGaussian(100)
    edge = int(law and _table(Fraction(100)).first_words[3])
    low_bits = _table(Fraction(100)).thresholds[3] & ((1 << 192) - 1)
    words = np.array([[edge], [0], [0]], dtype=np.uint64)
    below, above = (low_bits - 1).to_bytes(24, "little"), low_bits.to_bytes(24, "little")
    assert abs(law._decide(words, lambda: above)[0][0]) - abs(law._decide(words, lambda: below)[0][0]) == 1


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**100), st.integers(1, 2**100))
def test_scaled_exponential_is_correctly_rounded(numerator: int, denominator: int) -> None:
    with mp.workprec(3000):
        expected = mp.exp(-mpf(numerator) / denominator) * mpf(2) ** EXACT_BITS
        assert abs(scaled_exponential(numerator, denominator) - expected) <= 1


# --- the interface ---


def test_same_entropy_same_noise_and_every_size() -> None:
    law = DiscreteGaussian(1000)
    assert np.array_equal(law.sample(100_000, UnsafeSeededEntropy(1)), law.sample(100_000, UnsafeSeededEntropy(1)))
    for n in (0, 1, 31, 40_000):
        assert law.sample(n, SystemEntropy()).shape == (n,)


@pytest.mark.parametrize("variance", [0, -1, math.nan, math.inf, LARGEST_VARIANCE])
def test_a_variance_that_cannot_be_drawn_is_refused(variance: float) -> None:
    with pytest.raises(UserError) as caught:
        DiscreteGaussian(variance)
    assert caught.value.codes == ("E702",)


def test_tiny_variances_are_exact_too() -> None:
    """At variance 1/50 a value other than 0 has probability 2.8e-11; at 1e-30 the table must not overflow."""
    for variance in (Fraction(1, 50), Fraction(1, 10**30), 5e-324):
        assert not DiscreteGaussian(variance).sample(10_000, UnsafeSeededEntropy(9)).any()


def test_a_million_values_a_second() -> None:
    law, entropy = DiscreteGaussian(2**40), SystemEntropy()
    law.sample(1000, entropy)
    seconds = []
    for _ in range(3):  # the quickest of three: another process may hold the core
        start = time.perf_counter()
        law.sample(300_000, entropy)
        seconds.append(time.perf_counter() - start)
    assert 300_000 / min(seconds) > 1_000_000
