"""Noisy tables as the fit sees them, and what they say about row counts and margins.

Everything here is post-processing of released tables: no row, no exact count, no exact number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = tuple[str, ...]


@dataclass(frozen=True)
class NoisyTables:
    """Counts with Gaussian noise: one-way tables by column, pair tables by (column, column), in counts.

    `sizes` fixes the order of the columns; pairs are keyed in that order. Not every table need be there, but each
    column must be in one. `variances`: of one cell's noise, by the table's columns. `partial`: columns whose missing
    values are in no cell (`missing = "marginal"`), so that a table with such a column counts fewer rows than others.
    """

    sizes: Mapping[str, int]
    one_way: Mapping[str, Floats]
    pairs: Mapping[tuple[str, str], Floats]
    variances: Mapping[Columns, float]
    partial: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        order = list(self.sizes)
        assert set(order) == {name for columns in self.all_columns for name in columns}, "a column in no table"
        for name, counts in self.one_way.items():
            assert counts.shape == (self.sizes[name],)
        for (a, b), counts in self.pairs.items():
            assert order.index(a) < order.index(b) and counts.shape == (self.sizes[a], self.sizes[b])
        assert all(self.variances[columns] > 0 for columns in self.all_columns)

    @property
    def all_columns(self) -> tuple[Columns, ...]:
        return (*((name,) for name in self.one_way), *self.pairs)

    def counts(self, columns: Columns) -> Floats:
        return self.one_way[columns[0]] if len(columns) == 1 else self.pairs[columns[0], columns[1]]

    @property
    def cells(self) -> int:
        return sum(self.counts(columns).size for columns in self.all_columns)


def row_counts(tables: NoisyTables) -> dict[Columns, float]:
    """How many rows each table counts, estimated from noisy totals; never the exact number.

    Tables with the same partial columns count the same rows, so their totals are averaged by inverse variance. What
    remains is held to what is possible: no more rows than a part of the columns has, no fewer than must overlap.
    One entry for each column alone too, whether its one-way table was measured or not.
    """
    weighted: dict[frozenset[str], list[float]] = {}
    for columns in tables.all_columns:
        counts = tables.counts(columns)
        precision = 1 / (counts.size * tables.variances[columns])
        sums = weighted.setdefault(tables.partial.intersection(columns), [0.0, 0.0])
        sums[0] += precision * float(counts.sum())
        sums[1] += precision
    estimate = {key: max(1.0, total / precision) for key, (total, precision) in weighted.items()}
    whole = estimate.get(frozenset(), max(estimate.values()))
    estimate[frozenset()] = whole
    for name in tables.partial:
        single = frozenset({name})
        estimate[single] = min(whole, estimate.get(single, max(n for key, n in estimate.items() if name in key)))
    for a, b in combinations(sorted(tables.partial), 2):
        both, rows_a, rows_b = frozenset({a, b}), estimate[frozenset({a})], estimate[frozenset({b})]
        if both in estimate:
            estimate[both] = max(1.0, rows_a + rows_b - whole, min(estimate[both], rows_a, rows_b))
    wanted = (*((name,) for name in tables.sizes), *tables.pairs)
    return {columns: estimate[tables.partial.intersection(columns)] for columns in wanted}


def merged_margins(tables: NoisyTables) -> dict[str, tuple[Floats, float]]:
    """Each column's counts and their noise variance: its one-way table and the margins of its pair tables, averaged by
    inverse variance. Pairs with a partial partner are left out: their margin is of other rows."""
    merged: dict[str, tuple[Floats, float]] = {}
    for name in tables.sizes:
        total, precision = np.zeros(tables.sizes[name]), 0.0
        if name in tables.one_way:
            precision = 1 / tables.variances[name,]
            total = tables.one_way[name] * precision
        for (a, b), counts in tables.pairs.items():
            if name in (a, b) and (b if name == a else a) not in tables.partial:
                axis = 1 if name == a else 0
                weight = 1 / (tables.variances[a, b] * counts.shape[axis])
                total, precision = total + weight * counts.sum(axis=axis), precision + weight
        assert precision > 0, "a column is measured with partial columns only"
        merged[name] = (total / precision, 1 / precision)
    return merged


def nonnegative_margin(noisy: Floats, deviation: float, total: float) -> Floats:
    """The expected true counts, none below zero, that sum to `total`.

    Cutting noisy counts off at zero and rescaling moves weight from common categories to rare ones, the more the more
    rare categories there are. Here each count is the posterior mean given its noisy value under the scale-free prior
    1/(count + deviation), after a common shift that makes the sum come out right; nothing is ever exactly zero.
    """
    low, high = float(noisy.min()) - total - 10 * deviation, float(noisy.max()) + 10 * deviation
    while deviation * float(_posterior_mean((noisy - high) / deviation).sum()) > total:
        high += 2 * (high - low)
    for _ in range(80):
        shift = (low + high) / 2
        if deviation * float(_posterior_mean((noisy - shift) / deviation).sum()) > total:
            low = shift
        else:
            high = shift
    expected = deviation * _posterior_mean((noisy - high) / deviation)
    return expected * (total / expected.sum())


def margins(tables: NoisyTables) -> dict[str, Floats]:
    """The probabilities of each column's categories, all positive, as well as the tables together tell them."""
    rows = row_counts(tables)
    shares: dict[str, Floats] = {}
    for name, (noisy, variance) in merged_margins(tables).items():
        counts = nonnegative_margin(noisy, float(np.sqrt(variance)), rows[name,])
        shares[name] = counts / counts.sum()
    return shares


def _posterior_mean(z: Floats) -> Floats:
    """E[t | z] for z = t + standard normal noise and prior 1/(1 + t) on t >= 0."""
    grid, values = _posterior_mean_table()
    middle = np.interp(z, grid, values)
    far = np.abs(z) + 1.0
    return np.where(z > grid[-1], z - 1 / far, np.where(z < grid[0], 1 / far, middle))


@lru_cache(maxsize=1)
def _posterior_mean_table() -> tuple[Floats, Floats]:
    z = np.linspace(-12.0, 9.0, 841)
    t = (np.arange(9000) + 0.5) / 500
    weight = np.exp(-0.5 * t * t + z[:, None] * np.minimum(t, 18.0) - np.maximum(z[:, None], 0) ** 2 / 2) / (1 + t)
    return z, np.asarray((weight @ t) / weight.sum(axis=1), np.float64)
