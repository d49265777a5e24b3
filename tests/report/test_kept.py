"""What is measured of a twin, against brute force and against what must hold."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report.small_agreement import small_agreement

from vertwin.report.kept import (
    Kept,
    PairKept,
    association,
    association_floor,
    compare,
    distance_floor,
    total_variation,
)

modest = settings(deadline=None, max_examples=60)
weights = st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(lambda w: sum(w) > 0.01)


def _shares(values: list[float]) -> np.ndarray:
    return np.asarray(values) / sum(values)


@modest
@given(weights, weights)
def test_total_variation_is_the_largest_difference_of_any_event(p: list[float], q: list[float]) -> None:
    first, second = _shares(p), _shares(q)
    events = chain.from_iterable(combinations(range(4), size) for size in range(5))
    largest = max(abs(first[list(event)].sum() - second[list(event)].sum()) for event in events)
    assert total_variation(first, second) == pytest.approx(largest, abs=1e-12)


codes = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=3, max_size=60)


@modest
@given(codes)
def test_association_is_bergsmas_corrected_v(rows: list[tuple[int, int]]) -> None:
    """The formula once more, cell by cell, over the values that occur."""
    a, b = np.array(rows).T
    n, left, right = len(rows), sorted(set(a)), sorted(set(b))
    found = association(a, b, (3, 4))
    if len(left) < 2 or len(right) < 2:
        assert found == 0.0
        return
    phi_squared = 0.0
    for i in left:
        for j in right:
            expected = (a == i).sum() * (b == j).sum() / n
            phi_squared += (((a == i) & (b == j)).sum() - expected) ** 2 / expected / n
    r, c = len(left), len(right)
    corrected = max(0.0, phi_squared - (r - 1) * (c - 1) / (n - 1))
    limit = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    assert found == pytest.approx(min(1.0, math.sqrt(corrected / limit)) if limit > 0 else 0.0, abs=1e-6)


@modest
@given(codes, st.permutations(range(3)), st.permutations(range(4)))
def test_association_does_not_depend_on_the_order_of_codes(
    rows: list[tuple[int, int]], p: list[int], q: list[int]
) -> None:
    a, b = np.array(rows).T
    found = association(a, b, (3, 4))
    assert 0.0 <= found <= 1.0
    assert association(np.array(p)[a], np.array(q)[b], (3, 4)) == pytest.approx(found, abs=1e-6)
    assert association(b, a, (4, 3)) == pytest.approx(found, abs=1e-6)  # a root of rounding is 1e-8


def test_a_column_tells_itself_and_says_nothing_where_it_never_changes() -> None:
    codes = np.arange(300) % 3
    assert association(codes, codes, (3, 3)) == pytest.approx(1.0)
    assert association(codes, np.zeros(300, dtype=int), (3, 3)) == 0.0
    assert association(codes[:1], codes[:1], (3, 3)) == 0.0


def test_independent_columns_stay_below_the_floor_and_weak_ties_rise_above_it() -> None:
    """At most about 6 % of independent pairs lie above two sds of chi-squared; 40 of 200 do with P < 1e-9. A pair with
    V = .1 (n = 5000) lies above it nearly always: a floor that were ten times too high would be found out."""
    rng, n, floor = np.random.default_rng(11), 5000, association_floor((4, 6), 5000)
    above = sum(association(rng.integers(0, 4, n), rng.integers(0, 6, n), (4, 6)) > floor for _ in range(200))
    assert above < 40
    tied = 0
    for _ in range(50):
        a = rng.integers(0, 4, n)
        b = np.where(rng.random(n) < 0.12, a, rng.integers(0, 6, n))
        tied += association(a, b, (4, 6)) > floor
    assert tied == 50


def test_noise_floor_is_what_noise_brings_into_an_even_table() -> None:
    """V^2 of an even table with Gaussian noise in its cells, 2000 times: its mean has a standard error of 1 %, so 8 %
    is far beyond what a right formula misses (P < 1e-12), and forgetting one factor is 25 % or more."""
    rng, rows, columns, n, sd = np.random.default_rng(5), 5, 8, 20_000, 40.0
    expected = n / (rows * columns)
    noise = rng.normal(0, sd, (2000, rows, columns))
    within = noise - noise.mean(1, keepdims=True) - noise.mean(2, keepdims=True) + noise.mean((1, 2), keepdims=True)
    v_squared = (within**2 / expected).sum((1, 2)) / n / (rows - 1)
    chance = association_floor((rows, columns), n) ** 2
    assert association_floor((rows, columns), n, sd) ** 2 - chance == pytest.approx(v_squared.mean(), rel=0.08)


def test_distance_floor_is_what_a_sample_is_off_by() -> None:
    """Mean distance of 4000 samples; its standard error is below 1 %, so 5 % off means a wrong formula (P < 1e-6)."""
    rng, shares = np.random.default_rng(3), np.array([0.5, 0.3, 0.15, 0.05])
    samples = rng.multinomial(1000, shares, size=4000) / 1000
    found = np.abs(samples - shares).sum(axis=1).mean() / 2
    assert distance_floor(shares, 1000) == pytest.approx(found, rel=0.05)


def _table(seed: int, rows: int = 3000) -> pa.Table:
    """a and b tied, n tied to b among those with s = yes only; n missing where it is 9, b missing by chance."""
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 3, rows)
    a = np.where(rng.random(rows) < 0.5, b, rng.integers(0, 3, rows))
    s = rng.random(rows) < 0.4
    n = np.where(s, 3 * b + rng.integers(0, 4, rows), rng.integers(0, 10, rows)).tolist()
    gone = rng.random(rows) < 0.1
    levels = ("low", "mid", "high")
    return pa.table(
        {
            "a": pa.array([("p", "q", "r")[code] for code in a]),
            "n": pa.array([None if number == 9 else number for number in n], pa.int64()),
            "b": pa.array([None if away else levels[code] for code, away in zip(b, gone, strict=True)]),
            "s": pa.array(["yes" if code else "no" for code in s]),
        }
    )


def _pair(pairs: tuple[PairKept, ...], *columns: str) -> PairKept:
    return next(pair for pair in pairs if set(pair.columns) == set(columns))


def test_a_table_keeps_all_of_itself() -> None:
    table = _table(0)
    kept = compare(table, table, small_agreement(), interactions=[("n", "b", "s")])
    assert kept.strength_kept == pytest.approx(1.0)
    assert kept.mean_distance == 0.0
    assert all(column.mean_truth == column.mean_twin and column.sd_truth == column.sd_twin for column in kept.columns)
    assert kept.rows_twin == kept.rows_truth == 3000


def test_only_pairs_across_parties_are_compared_the_strongest_first() -> None:
    kept = compare(_table(0), _table(1), small_agreement())
    assert {frozenset(pair.columns) for pair in kept.pairs} == {frozenset(pair) for pair in ("ab", "as", "nb", "ns")}
    assert [pair.truth for pair in kept.pairs] == sorted((pair.truth for pair in kept.pairs), reverse=True)
    assert kept.pairs[0].columns == ("a", "b")
    assert not _pair(kept.pairs, "a", "s").is_real
    assert _pair(kept.pairs, "a", "s").kept is None


def test_a_twin_without_ties_keeps_none_though_every_column_is_right() -> None:
    table, rng = _table(0), np.random.default_rng(9)
    shuffled = pa.table({name: table[name].take(pa.array(rng.permutation(3000))) for name in table.column_names})
    kept = compare(shuffled, table, small_agreement())
    assert kept.mean_distance == 0.0
    assert kept.strength_kept is not None
    assert kept.strength_kept < 0.1


def test_correlation_has_a_sign_and_leaves_out_the_code_for_missing() -> None:
    table = _table(0)
    pair = _pair(compare(table, table, small_agreement()).pairs, "n", "b")
    here = np.array([value is not None for value in table["n"].to_pylist()])
    here &= np.array([value is not None for value in table["b"].to_pylist()])
    numbers = np.array([value if value is not None else 0 for value in table["n"].to_pylist()])[here] // 2
    levels = np.array([("low", "mid", "high").index(value or "low") for value in table["b"].to_pylist()])[here]
    assert pair.correlation_truth == pytest.approx(np.corrcoef(numbers, levels)[0, 1])
    assert pair.correlation_truth is not None
    assert pair.correlation_truth > 0.1
    assert _pair(compare(table, table, small_agreement()).pairs, "a", "b").correlation_truth is None  # no order in a


def test_an_interaction_is_told_apart_by_the_third_column() -> None:
    kept = compare(_table(0), _table(1), small_agreement(), interactions=[("n", "b", "s")])
    among = {pair.among: pair for pair in kept.interactions}
    assert among.keys() == {("s", "no"), ("s", "yes")}
    assert among["s", "yes"].truth > 0.5
    assert not among["s", "no"].is_real


def test_a_missing_value_counts_where_it_is_a_category_and_not_where_it_says_nothing() -> None:
    agreement, table = small_agreement(), _table(0)
    complete = pa.table({**{name: table[name] for name in table.column_names}, "b": pa.array(["low"] * 3000)})
    columns = {column.column: column for column in compare(table, table, agreement).columns}
    assert columns["n"].commonest != "missing"
    assert columns["b"].share_truth < 0.4  # of those whose b is there
    none_missing = table.set_column(1, "n", pa.array([value or 0 for value in table["n"].to_pylist()]))
    found = {column.column: column for column in compare(none_missing, table, agreement).columns}
    assert found["n"].distance == pytest.approx(table["n"].null_count / 3000)
    assert {column.column: column for column in compare(complete, table, agreement).columns}["b"].share_twin <= 1.0


def test_overstating_one_pair_does_not_make_up_for_losing_another() -> None:
    pair = PairKept(("a", "b"), ("left", "right"), 0.4, 0.8, 0.01, None, None)
    lost = replace(pair, twin=0.0)
    assert Kept((), (pair, lost), (), 10, 10).strength_kept == pytest.approx(0.5)


def test_an_empty_twin_is_no_crash() -> None:
    table = _table(0)
    kept = compare(table.slice(0, 0), table, small_agreement(), people=3000)
    assert kept.strength_kept == 0.0
    assert all(column.distance == pytest.approx(0.5) for column in kept.columns)
