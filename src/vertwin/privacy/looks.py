"""Two looks within one budget: all tables first, then those again that are worth it.

What a viewer may have in all is what one look at the same targets would give it; each look gets a share of that.
Budgets of Gaussian releases add in mu squared, for every viewer and coalition apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Literal

from vertwin.privacy.pair_tables import MeasuredTable, PairTables, calibrate


def limits_within(whole: PairTables, holders: Iterable[str]) -> dict[frozenset[str], float]:
    """mu squared of everyone who is promised something: the analyst and every coalition that leaves a holder out."""
    names = tuple(holders)
    everyone = [frozenset(members) for size in range(len(names)) for members in combinations(names, size)]
    return {coalition: value for coalition in everyone if (value := whole.mu_squared(coalition)) > 0}


def first_look(
    whole: PairTables, holders: Iterable[str], share: float, variances: Literal["best", "equal"] = "equal"
) -> PairTables:
    """Every table of `whole`, with `share` of every viewer's mu squared."""
    limits = {coalition: share * value for coalition, value in limits_within(whole, holders).items()}
    return calibrate(_named(whole.tables), limits, whole.adjacency, variances)


def second_look(
    whole: PairTables,
    first: PairTables,
    chosen: Iterable[tuple[str, ...]],
    holders: Iterable[str],
    variances: Literal["best", "equal"] = "equal",
) -> PairTables:
    """The chosen tables again, with what the first look has left of every viewer's mu squared.

    Formal guarantee: for the analyst and every coalition, the mu squared of both looks together is at most that of
    `whole`, whichever tables are chosen: so the choice may look at the first, and what is promised is what `whole`
    promises. What a choice leaves unused is nobody's gain: it depends on the noisy tables, so it cannot be promised.
    """
    wanted = set(chosen)
    limits = {
        coalition: value - first.mu_squared(coalition) for coalition, value in limits_within(whole, holders).items()
    }
    tables = _named(table for table in whole.tables if table.columns in wanted)
    return calibrate(tables, limits, whole.adjacency, variances)


def together(looks: Iterable[PairTables]) -> PairTables:
    """All looks as the one Gaussian release that they are."""
    all_looks = tuple(looks)
    return PairTables(tuple(table for look in all_looks for table in look.tables), all_looks[0].adjacency)


def _named(tables: Iterable[MeasuredTable]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    return tuple((table.columns, table.owners) for table in tables)
