"""How much of a known truth a twin kept: each column by itself, and what ties columns of different parties together.

Only where the truth is known is this possible: in the embedded example and in tests. Between real organisations
nobody holds both sides, and what the twin lost cannot be looked up.

Two measures, both over the declared codes of the domains, so that they are the same for every type of column:

- a column: total variation distance, the share of people who would have to be given another code for the two
  distributions to be equal. 0 is equal, 1 is nothing in common;
- a pair: strength of association, Cramer's V with the bias correction of Bergsma (2013): 0 where the columns say
  nothing about each other, 1 where one tells the other.

Beside each stands a floor: below it a difference, or an association, says nothing, since chance (and the noise of
the release, where its size is given) alone brings as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from vertwin.agreement import Agreement, Column
from vertwin.domains import Domain, Missing

Codes = npt.NDArray[np.int32]
NUMERIC: Final = ("real", "count")
ORDERED: Final = ("binary", "ordinal", "count", "real")


@dataclass(frozen=True)
class ColumnKept:
    """One column: how far the twin's distribution is from the truth's. Means and sds for numbers only."""

    column: str
    party: str
    kind: str
    distance: float
    floor: float
    mean_truth: float | None
    mean_twin: float | None
    sd_truth: float | None
    sd_twin: float | None
    commonest: str  # the truth's commonest code, and its share
    share_truth: float
    share_twin: float


@dataclass(frozen=True)
class PairKept:
    """Two columns of different parties: how strongly they go together. Correlations of codes where both are ordered.

    `among` names the people looked at, where not everyone: ("smoker", "yes") shows one side of an interaction.
    """

    columns: tuple[str, str]
    parties: tuple[str, str]
    truth: float
    twin: float
    floor: float
    correlation_truth: float | None
    correlation_twin: float | None
    among: tuple[str, str] | None = None

    @property
    def is_real(self) -> bool:
        """Whether the truth's association stands above what chance and noise bring by themselves."""
        return self.truth > self.floor

    @property
    def kept(self) -> float | None:
        """Share of the strength that the twin has, where there is any to keep."""
        return self.twin / self.truth if self.is_real else None


@dataclass(frozen=True)
class Kept:
    """Everything compared. Columns in the agreement's order, pairs by falling strength in the truth."""

    columns: tuple[ColumnKept, ...]
    pairs: tuple[PairKept, ...]
    interactions: tuple[PairKept, ...]
    rows_twin: int
    rows_truth: int

    @property
    def strength_kept(self) -> float | None:
        """The twin's strengths summed over the pairs that are associated at all, over the truth's: one number.

        What a twin overstates in one pair does not make up for what it lost in another.
        """
        real = [pair for pair in self.pairs if pair.is_real]
        return sum(min(pair.twin, pair.truth) for pair in real) / sum(pair.truth for pair in real) if real else None

    @property
    def mean_distance(self) -> float:
        return float(np.mean([column.distance for column in self.columns]))


def compare(
    twin: pa.Table,
    truth: pa.Table,
    agreement: Agreement,
    *,
    people: int | None = None,
    noise_sd: float = 0.0,
    interactions: Sequence[tuple[str, str, str]] = (),
) -> Kept:
    """Hold the twin against the truth.

    people: how many were measured (the floors are theirs; default: the twin's rows).
    noise_sd: of one cell of a table of two columns, in counts.
    interactions: (a, b, by): how a and b go together is looked at apart for every value of `by`.
    """
    people = people or twin.num_rows
    columns = {column.name: column for column in agreement.columns}
    of_twin = {name: _codes(column.domain, twin[name]) for name, column in columns.items()}
    of_truth = {name: _codes(column.domain, truth[name]) for name, column in columns.items()}

    def pair(a: Column, b: Column, among: tuple[str, int] | None = None) -> PairKept:
        sides: list[tuple[Codes, Codes]] = []
        share = 1.0
        for codes in (of_truth, of_twin):
            here = (codes[a.name] >= 0) & (codes[b.name] >= 0)
            if among is not None:
                here &= codes[among[0]] == among[1]
            if codes is of_truth:
                share = float(here.mean()) if here.size else 0.0
            sides.append((codes[a.name][here], codes[b.name][here]))
        true, synthetic = sides
        shape = (a.domain.size, b.domain.size)
        ordered = a.domain.kind in ORDERED and b.domain.kind in ORDERED
        return PairKept(
            columns=(a.name, b.name),
            parties=(a.party, b.party),
            truth=association(*true, shape),
            twin=association(*synthetic, shape),
            # Nobody measured the table of a part of the people: what is found there is the model's, not the noise's.
            floor=association_floor(shape, people * share, noise_sd if among is None else 0.0),
            correlation_truth=_correlation(*true, a.domain, b.domain) if ordered else None,
            correlation_twin=_correlation(*synthetic, a.domain, b.domain) if ordered else None,
            among=None if among is None else (among[0], columns[among[0]].domain.labels[among[1]]),
        )

    pairs = [pair(a, b) for a, b in combinations(agreement.columns, 2) if a.party != b.party]
    by_value = [
        pair(columns[a], columns[b], (by, code)) for a, b, by in interactions for code in range(columns[by].domain.size)
    ]
    return Kept(
        columns=tuple(
            _column(column, of_truth[name], of_twin[name], truth[name], twin[name], people)
            for name, column in columns.items()
        ),
        pairs=tuple(sorted(pairs, key=lambda found: (-found.truth, found.columns))),
        interactions=tuple(by_value),
        rows_twin=twin.num_rows,
        rows_truth=truth.num_rows,
    )


def total_variation(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> float:
    """Half the sum of absolute differences of two distributions over the same codes."""
    return float(np.abs(p - q).sum() / 2)


def distance_floor(shares: npt.NDArray[np.float64], people: float) -> float:
    """Expected total variation distance between a distribution and a sample of so many people of it."""
    return float(np.sqrt(2 * shares * (1 - shares) / (math.pi * max(people, 1.0))).sum() / 2)


def association(a: Codes, b: Codes, shape: tuple[int, int]) -> float:
    """Cramer's V, corrected for its bias: independent columns give 0 on average before the root, not df/n."""
    n = len(a)
    if n < 2:
        return 0.0
    table = np.bincount(a.astype(np.int64) * shape[1] + b, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    rows, columns = table.shape
    if min(rows, columns) < 2:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    phi_squared = float(((table - expected) ** 2 / expected).sum()) / n
    corrected = max(0.0, phi_squared - (rows - 1) * (columns - 1) / (n - 1))
    rows_corrected = rows - (rows - 1) ** 2 / (n - 1)
    columns_corrected = columns - (columns - 1) ** 2 / (n - 1)
    limit = min(rows_corrected, columns_corrected) - 1
    return min(1.0, math.sqrt(corrected / limit)) if limit > 0 else 0.0


def association_floor(shape: tuple[int, int], people: float, noise_sd: float = 0.0) -> float:
    """The V that columns without any association reach by chance and noise alone.

    Chance: chi-squared / n has sd sqrt(2 df) / n, of which we take two. Noise of variance s^2 in every cell of a table
    with even margins (each cell holds n / (rows x columns)): it adds df s^2 rows columns / n to chi-squared. The twin
    is smoother than the noisy table, so this is what a reader of the raw table would be misled by, or less.
    """
    rows, columns = shape
    smaller, freedom = min(rows, columns) - 1, (rows - 1) * (columns - 1)
    if smaller < 1 or people < 2:
        return 1.0
    chance = 2 * math.sqrt(2 * freedom) / people
    noise = freedom * rows * columns * noise_sd**2 / people**2
    return min(1.0, math.sqrt((chance + noise) / smaller))


def _column(
    column: Column, truth: Codes, twin: Codes, truth_values: pa.ChunkedArray, twin_values: pa.ChunkedArray, people: int
) -> ColumnKept:
    p, q = _shares(truth, column.domain.size), _shares(twin, column.domain.size)
    top = int(p.argmax())
    moments: list[tuple[float | None, float | None]] = [
        (pc.mean(values).as_py(), pc.stddev(values).as_py()) if column.domain.kind in NUMERIC else (None, None)
        for values in (truth_values, twin_values)
    ]
    return ColumnKept(
        column=column.name,
        party=column.party,
        kind=column.domain.kind,
        distance=total_variation(p, q),
        floor=distance_floor(p, people),
        mean_truth=moments[0][0],
        mean_twin=moments[1][0],
        sd_truth=moments[0][1],
        sd_twin=moments[1][1],
        commonest=column.domain.labels[top],
        share_truth=float(p[top]),
        share_twin=float(q[top]),
    )


def _codes(domain: Domain, values: Any) -> Codes:
    return np.asarray(domain.encode(values).codes, dtype=np.int32)


def _shares(codes: Codes, size: int) -> npt.NDArray[np.float64]:
    counts = np.bincount(codes[codes >= 0], minlength=size).astype(np.float64)
    return counts / max(counts.sum(), 1.0)


def _correlation(a: Codes, b: Codes, domain_a: Domain, domain_b: Domain) -> float | None:
    """Pearson's, of the codes; a code that means "missing" has no place in an order and is left out."""
    here = np.ones(len(a), dtype=bool)
    for codes, domain in ((a, domain_a), (b, domain_b)):
        if domain.missing is Missing.CATEGORY:
            here &= codes != domain.size - 1
    a, b = a[here], b[here]
    if len(a) < 2 or a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])
