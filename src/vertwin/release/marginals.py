"""One- and two-way tables of a release: as they were measured, with the noise's variance, or as the twin has them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from vertwin.agreement import Column
from vertwin.domains import Count, Domain, Real
from vertwin.errors import user_error
from vertwin.release import arrow, beta
from vertwin.release.arrow import Table
from vertwin.release.content import GRID, Content, Floats, TwinColumn

_MOST_CELLS: Final = 10**8
MarginalSource = Literal["measured", "twin"]


@dataclass(frozen=True, eq=False)
class Marginal:
    """A table of counts over the codes of one or two columns.

    `measured`: the noisy counts as released, which may be negative; `variance` is that of the noise in every cell.
    It does not hold the sampling variation of the people themselves.
    `twin`: what the fitted mixture expects; `variance` is None, since a fit's error is no noise of known size. Where
    the number of rows is not released, these are shares that sum to one.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: Floats
    variance: float | None
    source: MarginalSource

    @property
    def standard_deviation(self) -> float | None:
        return None if self.variance is None else float(np.sqrt(self.variance))

    def to_table(self) -> Table:
        """One row per cell: its labels, `count`, and `sd`, the standard deviation of the noise in it."""
        return arrow.cells(self.columns, self.labels, self.counts, self.standard_deviation)


def measured(content: Content, columns: tuple[str, ...]) -> Marginal:
    """The noisy table of these columns, its axes in the order asked for; measured twice, averaged by precision."""
    chosen = _look_up(content, columns)
    looks = [table for table in content.tables if sorted(table.columns) == sorted(columns)]
    if looks:
        weights = np.array([1 / table.variance for table in looks]) / sum(1 / table.variance for table in looks)
        turned = [table.counts.transpose([table.columns.index(name) for name in columns]) for table in looks]
        counts = sum(weight * table for weight, table in zip(weights, turned, strict=True)) / GRID
        variance = 1 / sum(1 / table.variance for table in looks)
        return Marginal(columns, _labels(chosen), np.asarray(counts), variance, "measured")
    raise user_error(
        "E523",
        f"{' and '.join(columns)} was not measured: this release has {len(content.tables)} noisy tables, not this one",
        'source="twin" gives what the fitted twin expects',
    )


def expected(content: Content, columns: tuple[str, ...]) -> Marginal:
    """What the twin expects for these columns."""
    chosen = _look_up(content, columns)
    by_name = {column.column: column for column in content.twin.columns}
    cells = math.prod(column.domain.size for column in chosen)
    if cells > _MOST_CELLS:
        raise user_error("E521", f"this table would have {cells:,} cells", "sample rows and count those")
    weights = content.twin.weights / content.twin.weights.sum()
    masses = [_code_masses(column.domain, by_name[column.name]) for column in chosen]
    shares = weights @ masses[0] if len(masses) == 1 else (masses[0] * weights[:, np.newaxis]).T @ masses[1]
    rows = content.rows_estimate
    return Marginal(columns, _labels(chosen), shares * (1.0 if rows is None else rows), None, "twin")


def _look_up(content: Content, columns: tuple[str, ...]) -> list[Column]:
    known = {column.name: column for column in content.agreement.columns}
    for name in columns:
        if name not in known:
            raise user_error("E522", f"this release has no column {name!r}", f"it has {', '.join(known)}"[:500])
    if not 1 <= len(columns) <= 2 or len(set(columns)) != len(columns):
        raise user_error("E522", "a marginal is over one column, or over two different ones")
    return [known[name] for name in columns]


def _labels(columns: list[Column]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(column.domain.labels) for column in columns)


def _code_masses(domain: Domain, fitted: TwinColumn) -> Floats:
    """Per component, the probability of each code."""
    if fitted.form == "categorical":
        return fitted.values / fitted.values.sum(axis=1, keepdims=True)
    assert isinstance(domain, Count | Real), "the content was checked: a Beta has bounds"
    return beta_masses(domain, fitted.values)


def beta_masses(domain: Count | Real, parameters: Floats) -> Floats:
    """What of each component's Beta falls into each bin of the domain.

    A whole number n is the interval from n to n + 1 of the scale, as in sampling. A heap inside a bin is no part of
    that bin; of a real it has no mass under a density.
    """
    low, high = domain.bounds
    unit = 1.0 if domain.whole else 0.0
    spans = np.array(domain.spans) + np.array([0.0, unit])
    edges = (spans - low) / (high - low + unit)
    below = beta.cumulative(edges.ravel(), parameters[:, :1], parameters[:, 1:]).reshape(-1, len(spans), 2)
    masses = below[:, :, 1] - below[:, :, 0]
    around = 0
    for code in range(1, len(spans)):  # codes follow the order of values: a heap comes after the bin around it
        if spans[code, 1] <= spans[around, 1]:
            masses[:, around] -= masses[:, code]
        else:
            around = code
    missing = np.zeros((len(masses), domain.size - len(spans)))  # a density gives a missing value no mass
    return np.hstack([np.maximum(masses, 0.0), missing])
