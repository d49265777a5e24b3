"""The least noise that keeps mu squared within the limits of all viewers.

Pure arithmetic on groups of tables with the same owners: by symmetry and convexity, tables of one group get the same
noise. Let s_gh be the variance that owner h draws for each table of group g. The problem

    minimise  sum_g n_g sum_h s_gh   subject to   D_v sum over g not inside v of n_g / sum_{h not in v} s_gh <= L_v

is convex. Given prices w_v >= 0 of the limits it falls apart into groups, each solved in closed form; prices are
raised where a limit is exceeded and lowered where it is not met. The gap to the dual says how far from the optimum
the answer is; it is driven below `GAP`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

Shares = Mapping[tuple[str, ...], tuple[tuple[str, float], ...]]  # owners -> (holder, variance) for each

GAP: Final = 1e-6  # relative, of the sum of variances
_ROUNDS: Final = 20_000


@dataclass(frozen=True)
class TableGroup:
    """`count` tables that the same one or two parties own."""

    owners: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class Viewpoint:
    """A coalition, the squared distance that it is protected at per table, and the mu squared it may have."""

    coalition: frozenset[str]
    squared_distance: int
    limit: float

    def mu_squared(self, groups: Sequence[TableGroup], shares: Shares) -> float:
        total = 0.0
        for group in groups:
            if not self.coalition.issuperset(group.owners):
                hidden = sum(variance for holder, variance in shares[group.owners] if holder not in self.coalition)
                total += self.squared_distance * group.count / hidden
        return total


def equal_variances(groups: Sequence[TableGroup], viewpoints: Sequence[Viewpoint]) -> Shares:
    """One variance for every table, drawn in equal shares by its owners."""
    unit: Shares = {group.owners: tuple((holder, 1 / len(group.owners)) for holder in group.owners) for group in groups}
    return _scaled(unit, max((point.mu_squared(groups, unit) / point.limit for point in viewpoints), default=1.0))


def least_variances(groups: Sequence[TableGroup], viewpoints: Sequence[Viewpoint]) -> Shares:
    """The least sum of variances within all limits. Each owner of a table must be hidden from some viewpoint."""
    concerned = [point for point in viewpoints if any(not point.coalition.issuperset(group.owners) for group in groups)]
    start = equal_variances(groups, concerned)
    best, best_cost = start, total_variance(groups, start)
    # The optimum is homogeneous: with all limits L -> c L variances go as 1/c and prices as 1/c^2.
    prices = [best_cost / (len(concerned) * point.limit) for point in concerned]
    for _ in range(_ROUNDS):
        split = {group.owners: _split(group, concerned, prices) for group in groups}
        used = [point.mu_squared(groups, split) / point.limit for point in concerned]
        feasible = _scaled(split, max(used))
        if (cost := total_variance(groups, feasible)) < best_cost:
            best, best_cost = feasible, cost
        # The dual at these prices, the best over a common factor c of them: 2 sqrt(c) A - c B, A = cost, B = sum w L.
        floor = total_variance(groups, split) ** 2 / sum(
            w * point.limit for w, point in zip(prices, concerned, strict=True)
        )
        if best_cost <= floor * (1 + GAP):
            break
        prices = [max(w * u, 1e-12 * max(prices)) for w, u in zip(prices, used, strict=True)]
    return best


def _split(
    group: TableGroup, viewpoints: Sequence[Viewpoint], prices: Sequence[float]
) -> tuple[tuple[str, float], ...]:
    """What minimises the group's cost at these prices.

    One owner: s + all/s. Two owners a, b: (a + b) + both/(a + b) + first/a + second/b, where `both` sums the priced
    distances of those who know neither share, `first` of those who know b's alone. The minimum has
    a : b = sqrt(first) : sqrt(second).
    """

    def priced(*hidden: str) -> float:
        known = frozenset(group.owners) - frozenset(hidden)
        return sum(
            w * point.squared_distance
            for w, point in zip(prices, viewpoints, strict=True)
            if point.coalition & frozenset(group.owners) == known
        )

    both = priced(*group.owners)
    if len(group.owners) == 1:
        return ((group.owners[0], sqrt(both)),)
    a, b = group.owners
    first, second = sqrt(priced(a)), sqrt(priced(b))
    if first + second == 0:
        return ((a, sqrt(both) / 2), (b, sqrt(both) / 2))
    stretch = sqrt(1 + both / (first + second) ** 2)
    return ((a, first * stretch), (b, second * stretch))


def total_variance(groups: Sequence[TableGroup], shares: Shares) -> float:
    """Over all tables of all groups: what calibration keeps least."""
    return sum(group.count * sum(variance for _, variance in shares[group.owners]) for group in groups)


def _scaled(shares: Shares, factor: float) -> Shares:
    return {
        owners: tuple((holder, factor * variance) for holder, variance in split) for owners, split in shares.items()
    }
