"""Sampling inside bins: masses are kept, heaps are exact, the density is what its formula says.

Statistical tests compare an empirical distribution function with the exact one. By the inequality of Dvoretzky,
Kiefer and Wolfowitz, P(sup |F_n - F| > e) <= 2 exp(-2 n e^2), which is 1e-6 at e = 2.694 / sqrt(n). Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.domains import Count, Edges, EqualWidth, Real
from vertwin.domains.bins import Bins, Partition
from vertwin.domains.density import Density, edge_heights

ROWS = 200_000
LIMIT = 2.694 / np.sqrt(ROWS)

masses = st.lists(st.sampled_from([0.0, 1e-12, 0.1, 1.0, 2.0, 50.0]), min_size=4, max_size=4).map(np.array)


def slow_distribution(partition: Partition, of: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The exact distribution function for reals: bin by bin, two trapezoids each, by the definition."""
    left, right = edge_heights(partition, of)
    total = np.zeros_like(at)
    for code in range(partition.size):
        start, end = partition.starts[code], partition.ends[code]
        if start == end:
            total += of[code] * (at >= start)
            continue
        knots = np.array([start, (start + end) / 2, end])
        heights = np.array([left[code], 2 - (left[code] + right[code]) / 2, right[code]]) * of[code] / (end - start)
        x = np.clip(at, start, end)
        inner = np.minimum(x, knots[1])
        total += (inner - start) * (heights[0] + np.interp(inner, knots, heights)) / 2
        total += (x - inner) * (np.interp(inner, knots, heights) + np.interp(x, knots, heights)) / 2
    return total / of.sum()


def distance(values: np.ndarray, partition: Partition, of: np.ndarray) -> float:
    at = np.sort(values)
    exact = slow_distribution(partition, of, at)
    ranks = np.searchsorted(at, at, side="right") / len(at)
    return float(np.abs(ranks - exact).max())


@pytest.mark.parametrize(
    ("bins", "weights"),
    [
        (EqualWidth(4), [1, 2, 3, 4]),
        (Edges((0, 1, 1.5, 6, 10)), [5, 1, 3, 0.2]),
        (Edges((0, 1, 1.5, 6, 10), heaps=(4,)), [5, 1, 3, 8, 0.2]),
        (EqualWidth(4), [0, 5, 0, 1]),
        (EqualWidth(1), [1]),
    ],
)
def test_reals_follow_the_declared_density(bins: Bins, weights: list[float]) -> None:
    """False-alarm rate 1e-6 each."""
    of = np.array(weights, dtype=float)
    domain = Real((0, 10), bins)
    partition = bins.partition(0, 10, whole=False)
    rng = np.random.default_rng(1)
    codes = rng.choice(domain.size, ROWS, p=of / of.sum())
    values = domain.decoder(of)(codes, rng).to_numpy()
    assert distance(values, partition, of) < LIMIT


def test_a_density_that_is_flat_inside_bins_is_caught() -> None:
    """The same test on a sampler that forgets its neighbours: the check above has the power to see it."""
    of = np.array([1.0, 2.0, 3.0, 4.0])
    domain, partition = Real((0, 10), EqualWidth(4)), EqualWidth(4).partition(0, 10, whole=False)
    rng = np.random.default_rng(1)
    codes = rng.choice(4, ROWS, p=of / of.sum())
    assert distance(domain.decode(codes, rng).to_numpy(), partition, of) > LIMIT
    assert distance(domain.decode(codes, rng).to_numpy(), partition, np.array([1.0, 2, 3, 4.1])) > LIMIT


@settings(deadline=None, max_examples=100)
@given(masses, st.booleans())
def test_the_density_is_continuous_never_negative_and_keeps_every_mass(of: np.ndarray, whole: bool) -> None:
    partition = Edges((0, 3, 4, 9, 20)).partition(0, 20, whole)
    left, right = edge_heights(partition, of)
    middle = 2 - (left + right) / 2
    assert (left >= 0).all() and (right >= 0).all() and (middle >= 0).all()
    assert (left + 2 * middle + right) / 4 == pytest.approx(np.ones(4))
    heights = of / (partition.ends - partition.starts)
    both = (of[:-1] > 0) & (of[1:] > 0)
    assert (right * heights)[:-1][both] == pytest.approx((left * heights)[1:][both])


def test_a_bin_beside_an_empty_one_falls_to_zero() -> None:
    left, right = edge_heights(EqualWidth(3).partition(0, 3, whole=False), np.array([0.0, 1.0, 1.0]))
    assert left[1] == 0.0
    assert right[1] == left[2] == 1.0
    assert left[0] == right[0] == 1.0  # a code of a bin without mass is placed evenly all the same


def test_counts_keep_masses_and_lean_towards_the_fuller_bin() -> None:
    """Bins 0..9 and 10..19 with masses 3 and 1: numbers near 10 are likelier in the second than those near 19."""
    domain = Count((0, 19), EqualWidth(2))
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, ROWS)
    values = domain.decoder(np.array([3.0, 1.0]))(codes, rng).to_numpy()
    assert np.array_equal(values >= 10, codes == 1)
    counts = np.bincount(values, minlength=20)
    near, far = counts[10:13].sum(), counts[17:].sum()
    assert near > far + 6 * np.sqrt(near + far)  # the exact ratio is above 1.5; noise alone: below 1e-8


def test_counts_without_masses_are_even_inside_a_bin() -> None:
    """Each of 7 free numbers gets ROWS/7 up to 6 sd: a false alarm below 7 x 2e-9. One is a heap in the middle."""
    domain = Count((0, 7), EqualWidth(1, heaps=(4,)))
    counts = np.bincount(domain.decode(np.zeros(ROWS, dtype=int), np.random.default_rng(3)).to_numpy(), minlength=8)
    assert counts[4] == 0
    free = np.delete(counts, 4)
    assert (np.abs(free - ROWS / 7) < 6 * np.sqrt(ROWS / 7)).all()


def test_a_count_whose_bin_is_nearly_all_heaps() -> None:
    domain = Count((0, 100), EqualWidth(1, heaps=tuple(range(1, 100))))
    (code,) = {domain.encode(pa.array([0])).codes[0], domain.encode(pa.array([100])).codes[0]}
    values = domain.decode(np.full(1000, code), np.random.default_rng(4)).to_numpy()
    assert set(values.tolist()) <= {0, 100}


def test_heaps_are_exact() -> None:
    heap = 1 / 3
    domain = Real((0, 1), EqualWidth(3, heaps=(heap, 1.0)))
    code = domain.labels.index(repr(heap))
    rng = np.random.default_rng(5)
    assert set(domain.decode(np.full(1000, code), rng).to_pylist()) == {heap}
    others = domain.decode(rng.integers(0, domain.size, 1000), rng)
    assert domain.encode(others).faults == ()


def test_the_ends_of_a_bin_stay_inside_it() -> None:
    """The generator's own ends, 0 and the largest float below 1, in the place of uniform draws."""

    class Ends:
        def __init__(self, value: float) -> None:
            self.value = value

        def random(self, size: int) -> np.ndarray:
            return np.full(size, self.value)

    for whole in (False, True):
        partition = Edges((0, 3, 4, 9, 20)).partition(0, 20, whole)
        for of in (None, np.array([0.0, 1.0, 5.0, 0.0]), np.array([1.0, 0.0, 1.0, 1e-12])):
            for end in (0.0, 0.25, 0.5, 0.75, 1 - 2.0**-53):
                codes = np.arange(4)
                values = Density(partition, of).draw(codes, Ends(end))  # type: ignore[arg-type]
                assert partition.find(values).tolist() == codes.tolist()
