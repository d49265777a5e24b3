"""The mechanism of `measure_once`: every one-way and two-way table of counts, noised and revealed once.

The bound. In one table a record is in at most one cell (in none, where a column of the table is missing and the
domain says that a missing value says nothing). Replacing a record takes 1 from at most one cell and adds 1 to at
most one other: squared distance at most 2 per table. Adding or removing one: at most 1. Tables are released with
independent noise, so with s_t the variance of table t, mu^2 = D sum_t 1/s_t, D = 2 or 1.

Towards a coalition C of parties: tables whose owners are all in C depend on fixed columns alone and drop out; of the
noise of the others C knows its own shares. So (DESIGN 5.2)

    mu_C^2 = D sum over tables t with owners not inside C of 1 / (sum over h not in C of s_th).

A coalition may have a *smaller* mu than one of its members: more of the columns are its own. With the protected
tables held fixed, a bigger coalition has a larger mu.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import inf, sqrt
from typing import TYPE_CHECKING, Final, Literal

from vertwin.errors import user_error
from vertwin.privacy.calibration import (
    Shares,
    TableGroup,
    Viewpoint,
    equal_variances,
    least_variances,
    total_variance,
)
from vertwin.privacy.closed_form import gaussian_mu
from vertwin.privacy.gaussian_release import (
    Adjacency,
    GaussianRelease,
    NoiseShare,
    grid_units,
    hidden_variance,
    on_grid,
    require_share,
    rounded_up,
)

if TYPE_CHECKING:
    from vertwin.agreement import Agreement

TOLERANCE: Final = 0.004  # of the least sum of variances: what promises that nobody asked for may cost
GRID_BITS: Final = 8  # noise is drawn in units of 2^-8 of a count: fine enough that being discrete costs nothing
SQUARED_DISTANCE: Final[Mapping[Adjacency, int]] = {"replace_one": 2, "add_remove": 1}  # per table, in counts


@dataclass(frozen=True)
class MeasuredTable:
    """One table of counts: of one column or of two, the parties that own them, and who draws how much noise."""

    columns: tuple[str, ...]
    owners: tuple[str, ...]
    noise: tuple[NoiseShare, ...]

    @property
    def variance(self) -> Fraction:
        """Of one cell's whole noise, in counts squared."""
        return sum((share.variance for share in self.noise), Fraction(0))

    @property
    def noise_sd(self) -> float:
        """Standard deviation of one cell's whole noise, in counts."""
        return sqrt(self.variance)

    def grid_variance(self, holder: str) -> int:
        """What this holder's sampler draws with, in squared units of 2^-GRID_BITS of a count; 0 if it draws nothing."""
        return sum(grid_units(share.variance, GRID_BITS) for share in self.noise if share.holder == holder)


@dataclass(frozen=True)
class PairTables(GaussianRelease):
    """All tables of one release, one-way tables first, each in the order of the agreement's columns.

    Formal guarantees (each a test):
      - replacing a record moves the released tables by at most sqrt(2 x number of tables), adding one by its root;
      - `mu_squared` is at least what the formula above gives, for every coalition;
      - variances are whole squared grid units, never below what calibration asked for.
    """

    tables: tuple[MeasuredTable, ...]
    adjacency: Adjacency = "replace_one"

    def __post_init__(self) -> None:
        for table in self.tables:
            for share in table.noise:
                require_share(share.variance, GRID_BITS)

    def mu_squared(self, coalition: Iterable[str] = ()) -> float:
        known = frozenset(coalition)
        distance = SQUARED_DISTANCE[self.adjacency_for(known)]
        total = Fraction(0)
        for (owners, noise), count in self._kinds.items():
            if not known.issuperset(owners):
                hidden = hidden_variance(noise, known, GRID_BITS)
                if not hidden:
                    return inf
                total += distance * count / hidden
        return rounded_up(total) if total else 0.0

    def without_share_of(self, holder: str) -> PairTables:
        """As if this holder had drawn no noise for the tables that it shares with others."""
        tables = tuple(
            replace(table, noise=tuple(share for share in table.noise if share.holder != holder))
            if any(share.holder != holder for share in table.noise)
            else table
            for table in self.tables
        )
        return replace(self, tables=tables)

    @cached_property
    def _kinds(self) -> dict[tuple[tuple[str, ...], tuple[NoiseShare, ...]], int]:
        """Tables that differ in their columns alone, counted: a wide release has thousands of them."""
        kinds: dict[tuple[tuple[str, ...], tuple[NoiseShare, ...]], int] = {}
        for table in self.tables:
            kinds[table.owners, table.noise] = kinds.get((table.owners, table.noise), 0) + 1
        return kinds

    @cached_property
    def by_columns(self) -> Mapping[tuple[str, ...], MeasuredTable]:
        return {table.columns: table for table in self.tables}

    def table(self, *columns: str) -> MeasuredTable:
        """The table of these columns, in the order of the agreement; KeyError if it is not measured."""
        return self.by_columns[columns]


def all_tables(
    owner_of: Mapping[str, str], parties: Sequence[str] = ()
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """(columns, owners) of every one-way and every pair table, columns in the order of the mapping, owners in that of
    `parties` (of the mapping's owners where none are given)."""
    order = list(parties) or list(dict.fromkeys(owner_of.values()))
    singles = [((name,), (owner,)) for name, owner in owner_of.items()]
    pairs = [((a, b), tuple(sorted({owner_of[a], owner_of[b]}, key=order.index))) for a, b in combinations(owner_of, 2)]
    return (*singles, *pairs)


def calibrate(
    tables: Sequence[tuple[tuple[str, ...], tuple[str, ...]]],
    limits: Mapping[frozenset[str], float],
    adjacency: Adjacency,
    variances: Literal["best", "equal"] = "equal",
) -> PairTables:
    """The least noise with which mu squared stays within `limits` for every coalition named there.

    "equal": one variance for all tables, drawn in equal shares by a table's owners. "best": the least sum of the
    tables' variances, free over tables and over how owners split a table. A party without a limit of its own keeps the
    one it would have under "equal" as far as that costs less than TOLERANCE of the sum; where it costs more, a
    multiple of it, since a promise that nobody asked for shall not be paid for by those that somebody did.
    """
    counts: dict[tuple[str, ...], int] = {}
    for _, owners in tables:
        counts[owners] = counts.get(owners, 0) + 1
    groups = [TableGroup(owners, count) for owners, count in counts.items()]
    viewpoints = [
        Viewpoint(coalition, SQUARED_DISTANCE["replace_one" if coalition else adjacency], limit)
        for coalition, limit in limits.items()
    ]
    shares = equal_variances(groups, viewpoints)
    if variances == "best":
        shares = _best_shares(groups, viewpoints, shares)
    factor = Fraction(1)
    while True:
        noise = {
            owners: tuple(
                NoiseShare(holder, on_grid(factor * Fraction(variance), GRID_BITS)) for holder, variance in split
            )
            for owners, split in shares.items()
        }
        release = PairTables(
            tuple(MeasuredTable(columns, owners, noise[owners]) for columns, owners in tables), adjacency
        )
        excess = max((release.mu_squared(coalition) / limit for coalition, limit in limits.items()), default=0.0)
        if excess <= 1:
            return release
        factor *= Fraction(excess) * Fraction(1_000_000_001, 1_000_000_000)


def _best_shares(groups: Sequence[TableGroup], viewpoints: Sequence[Viewpoint], equal: Shares) -> Shares:
    """The least variances within all limits, and nobody left without any promise."""
    given = {point.coalition for point in viewpoints}
    holders = sorted({holder for group in groups for holder in group.owners})
    implied = [
        Viewpoint(coalition, 2, value)
        for coalition in (frozenset({holder}) for holder in holders)
        if coalition not in given and (value := Viewpoint(coalition, 2, 1.0).mu_squared(groups, equal)) > 0
    ]
    if not implied:
        return least_variances(groups, viewpoints)
    ceiling = total_variance(groups, least_variances(groups, viewpoints)) * (1 + TOLERANCE)

    def loosened(factor: float) -> Shares:
        looser = [Viewpoint(point.coalition, 2, point.limit * factor) for point in implied]
        return least_variances(groups, [*viewpoints, *looser])

    low, high = 1.0, 1.0
    best = loosened(high)
    while total_variance(groups, best) > ceiling and high < 2.0**60:
        low, high = high, 2 * high
        best = loosened(high)
    for _ in range(10 if high > 1 else 0):
        middle = sqrt(low * high)
        tried = loosened(middle)
        if total_variance(groups, tried) <= ceiling:
            best, high = tried, middle
        else:
            low = middle
    return best


def limits_of(agreement: Agreement) -> dict[frozenset[str], float]:
    """The largest mu squared that each target of the agreement allows, by coalition (the analyst: the empty one)."""
    targets = agreement.targets()
    if not targets:
        raise user_error("E703", "no epsilon is given for any viewer", place="privacy.epsilon")
    delta = agreement.privacy.delta
    return {coalition_of(viewer): gaussian_mu(epsilon, delta) ** 2 * (1 - 1e-14) for viewer, epsilon in targets.items()}


def coalition_of(viewer: str) -> frozenset[str]:
    """The coalition of a viewer that an agreement names: the analyst is the empty one."""
    return frozenset() if viewer == "analyst" else frozenset({viewer})


def plan_pair_tables(agreement: Agreement) -> PairTables:
    """The pair tables that an agreement with the learner `measure_once` asks for, every given target met."""
    assert agreement.learner.kind == "measure_once"
    owner_of = {column.name: column.party for column in agreement.columns}
    parties = [party.name for party in agreement.parties]
    return calibrate(
        all_tables(owner_of, parties), limits_of(agreement), agreement.privacy.adjacency, agreement.learner.variances
    )
