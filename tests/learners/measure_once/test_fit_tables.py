from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad

from vertwin.learners.measure_once.fit_tables import (
    NoisyTables,
    _posterior_mean,
    margins,
    merged_margins,
    nonnegative_margin,
    row_counts,
)


def measured(
    codes: NDArray[np.int64], sizes: tuple[int, ...], sd: float, seed: int, partial: tuple[int, ...] = ()
) -> NoisyTables:
    """Every one-way and pair table of rows of codes (-1: missing, in no cell), with Gaussian noise."""
    rng = np.random.default_rng(seed)
    names = [f"c{i}" for i in range(len(sizes))]
    one_way, pairs = {}, {}
    for i, name in enumerate(names):
        seen = codes[codes[:, i] >= 0, i]
        one_way[name] = np.bincount(seen, minlength=sizes[i]) + sd * rng.standard_normal(sizes[i])
    for i, j in combinations(range(len(sizes)), 2):
        seen = codes[(codes[:, i] >= 0) & (codes[:, j] >= 0)]
        counts = np.bincount(seen[:, i] * sizes[j] + seen[:, j], minlength=sizes[i] * sizes[j])
        pairs[names[i], names[j]] = counts.reshape(sizes[i], sizes[j]) + sd * rng.standard_normal((sizes[i], sizes[j]))
    variances = {**{(name,): sd**2 for name in one_way}, **dict.fromkeys(pairs, sd**2)}
    return NoisyTables(
        dict(zip(names, sizes, strict=True)), one_way, pairs, variances, frozenset(names[i] for i in partial)
    )


def test_the_row_count_is_estimated_from_all_tables() -> None:
    sizes, n = (2, 5, 40), 3000
    codes = np.stack([np.random.default_rng(1).integers(0, size, n) for size in sizes], axis=1)
    tables = [measured(codes, sizes, 30.0, seed) for seed in range(200)]
    estimates = np.array([row_counts(table)["c0",] for table in tables])
    precision = sum(1 / (np.prod([sizes[i] for i in t]) * 900) for t in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
    assert abs(estimates.mean() - n) < 5 * np.sqrt(1 / precision / 200)
    assert estimates.std() == pytest.approx(np.sqrt(1 / precision), rel=0.3)
    assert set(row_counts(tables[0])) == {("c0",), ("c1",), ("c2",), ("c0", "c1"), ("c0", "c2"), ("c1", "c2")}


def test_each_table_with_a_partial_column_has_its_own_rows() -> None:
    """Missing together, so that the overlap is not what independence would give."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, (20_000, 4))
    codes[:6000, 0] = -1
    codes[:5000, 1] = -1
    tables = measured(codes, (3, 3, 3, 3), 10.0, 3, partial=(0, 1))
    rows = row_counts(tables)
    for columns, expected in {
        ("c2", "c3"): 20_000,
        ("c2",): 20_000,
        ("c0",): 14_000,
        ("c0", "c3"): 14_000,
        ("c1", "c2"): 15_000,
        ("c0", "c1"): 14_000,
    }.items():
        assert rows[columns] == pytest.approx(expected, abs=150)
    assert rows["c0", "c2"] == rows["c0", "c3"] == rows["c0",]


def test_row_counts_stay_possible_however_noisy() -> None:
    codes = np.zeros((3, 3), dtype=np.int64)
    for seed in range(50):
        rows = row_counts(measured(codes, (4, 4, 4), 500.0, seed, partial=(0, 1)))
        assert min(rows.values()) >= 1
        assert rows["c0", "c1"] <= min(rows["c0",], rows["c1",]) + 1e-6 and max(rows.values()) == rows["c2",]


def test_margins_merge_by_inverse_variance() -> None:
    sizes = (3, 2, 8)
    codes = np.stack([np.random.default_rng(4).integers(0, size, 5000) for size in sizes], axis=1)
    truth = np.bincount(codes[:, 0], minlength=3)
    seen = np.array([merged_margins(measured(codes, sizes, 20.0, seed))["c0"][0] for seed in range(400)])
    _, variance = merged_margins(measured(codes, sizes, 20.0, 0))["c0"]
    assert variance == pytest.approx(400 / (1 + 1 / 2 + 1 / 8))
    assert np.abs(seen.mean(axis=0) - truth).max() < 5 * np.sqrt(variance / 400)
    assert seen.std(axis=0) == pytest.approx(np.full(3, np.sqrt(variance)), rel=0.2)


def test_a_partial_partner_tells_nothing_about_a_margin() -> None:
    """It is missing for one category only: its pair table's margin is biased and must not be merged in."""
    codes = np.random.default_rng(5).integers(0, 2, (10_000, 2))
    codes[codes[:, 0] == 0, 1] = -1
    noisy, _ = merged_margins(measured(codes, (2, 2), 1.0, 6, partial=(1,)))["c0"]
    assert noisy == pytest.approx(np.bincount(codes[:, 0]), abs=6)


@pytest.mark.parametrize("z", [-40.0, -12.0, -5.0, -0.3, 0.0, 1.0, 4.0, 8.99, 9.5, 30.0])
def test_the_posterior_mean_against_numerical_integration(z: float) -> None:
    def weight(t: float) -> float:
        return float(np.exp(-0.5 * (t - z) ** 2 + min(z, 0.0) ** 2 / 2)) / (1 + t)

    end = max(z, 0) + 12
    points = [min(max(z, 0.01), end / 2)]
    mean = quad(lambda t: t * weight(t), 0, end, points=points)[0] / quad(weight, 0, end, points=points)[0]
    assert float(_posterior_mean(np.array([z]))[0]) == pytest.approx(mean, rel=0.03 if abs(z) > 9 else 1e-3)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(-500, 50_000), min_size=1, max_size=60), st.floats(0.01, 500), st.floats(1, 1e6))
def test_a_margin_is_positive_and_sums_to_the_total(noisy: list[float], deviation: float, total: float) -> None:
    counts = nonnegative_margin(np.array(noisy), deviation, total)
    assert counts.min() > 0 and counts.sum() == pytest.approx(total)
    assert np.all(np.diff(counts[np.argsort(noisy)]) >= -1e-9 * total)  # the order is kept


def test_rare_categories_are_not_lifted_at_the_expense_of_common_ones() -> None:
    """Forty countries with few people each and one with nearly all: what cutting off at zero gets wrong."""
    truth = np.array([9000.0] + [25.0] * 40)
    rng = np.random.default_rng(7)
    ours, cut = [], []
    for _ in range(300):
        noisy = truth + 30 * rng.standard_normal(41)
        ours.append(nonnegative_margin(noisy, 30.0, 10_000.0))
        clipped = np.maximum(noisy, 0)
        cut.append(clipped * 10_000 / clipped.sum())
    bias = abs(np.mean(ours, axis=0)[0] - 9000), abs(np.mean(cut, axis=0)[0] - 9000)
    error = np.mean(np.abs(np.array(ours) - truth)), np.mean(np.abs(np.array(cut) - truth))
    assert bias[0] < 25 < 100 < bias[1]
    assert error[0] < 0.85 * error[1]


def test_a_column_without_a_one_way_table_is_read_off_its_pairs() -> None:
    codes = np.random.default_rng(8).integers(0, 2, (1000, 2))
    full = measured(codes, (2, 2), 1.0, 9)
    tables = NoisyTables(full.sizes, {"c0": full.one_way["c0"]}, full.pairs, full.variances)
    assert margins(tables)["c1"] == pytest.approx(np.bincount(codes[:, 1]) / 1000, abs=0.01)
    with pytest.raises(AssertionError):
        NoisyTables(full.sizes, {"c0": full.one_way["c0"]}, {}, full.variances)
