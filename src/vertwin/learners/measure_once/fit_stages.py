"""A second look: which pairs to measure again, judged by the noisy tables of the first, and how both are merged.

The choice is a public function of released tables, so it costs nothing; the second measurement is one more Gaussian
release, and budgets add in mu squared. Three tenths of mu squared on all tables first, the rest on the pairs found
here, was better than one look on every data set it was tried on.
"""

from __future__ import annotations

from math import sqrt
from typing import Final

import numpy as np

from vertwin.learners.measure_once.fit_tables import NoisyTables, margins, row_counts

FIRST_LOOK: Final = 0.3  # of mu squared, on all tables
_CLEAR: Final = 2.0  # standard deviations above independence


def dependence(tables: NoisyTables) -> dict[tuple[str, str], float]:
    """How far each pair table is from independent columns: about standard normal where they are independent.

    The residual against the product of the margins, its own margins taken out; its sum of squares in units of the
    noise has (s_a - 1)(s_b - 1) degrees of freedom, and on top what sampling alone puts there.
    """
    shares, rows = margins(tables), row_counts(tables)
    scores: dict[tuple[str, str], float] = {}
    for (a, b), counts in tables.pairs.items():
        n, variance = rows[a, b], tables.variances[a, b]
        residual = counts - n * np.outer(shares[a], shares[b])
        residual = residual - residual.mean(axis=0) - residual.mean(axis=1, keepdims=True) + residual.mean()
        freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
        sampling = n * float((1 - (shares[a] ** 2).sum()) * (1 - (shares[b] ** 2).sum())) / variance
        excess = float((residual**2).sum()) / variance - freedom - sampling
        scores[a, b] = excess / sqrt(max(1.0, 2 * freedom + 4 * sampling))
    return scores


def pairs_to_measure_again(tables: NoisyTables, least: int | None = None) -> tuple[tuple[str, str], ...]:
    """Every pair clearly above independence, and in any case the `least` (by default twice the columns less one)
    that are furthest above it; in the order of the tables."""
    scores = dependence(tables)
    least = 2 * (len(tables.sizes) - 1) if least is None else least
    ranked = sorted(scores, key=lambda pair: -scores[pair])
    chosen = {pair for i, pair in enumerate(ranked) if i < least or scores[pair] > _CLEAR}
    return tuple(pair for pair in scores if pair in chosen)


def merged(first: NoisyTables, second: NoisyTables) -> NoisyTables:
    """Two measurements of the same columns as one: tables that both have are averaged by inverse variance."""
    assert dict(first.sizes) == dict(second.sizes) and first.partial == second.partial
    one_way, pairs, variances = dict(first.one_way), dict(first.pairs), dict(first.variances)
    for columns in second.all_columns:
        if columns not in variances:
            counts, variances[columns] = second.counts(columns), second.variances[columns]
        else:
            here, there = 1 / first.variances[columns], 1 / second.variances[columns]
            counts = (here * first.counts(columns) + there * second.counts(columns)) / (here + there)
            variances[columns] = 1 / (here + there)
        if len(columns) == 1:
            one_way[columns[0]] = counts
        else:
            pairs[columns[0], columns[1]] = counts
    return NoisyTables(first.sizes, one_way, pairs, variances, first.partial)
