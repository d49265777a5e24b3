"""What a release holds: plain public data, checked as a whole against the agreement it carries.

Everything here was revealed on purpose or follows from what was. The same checks stand at both doors: a learner
cannot write a release that no reader would take, and a file from anywhere is taken only if they pass.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from vertwin.agreement import Agreement, MeasureOnce
from vertwin.errors import Faults
from vertwin.release.arrays import DType
from vertwin.version import VERSION

GRID: Final = 256  # noisy counts are integers in units of 1/256 of a count
NO_STATEMENT: Final = "no privacy statement yet"
TOLERANCE: Final = 1e-6  # by how much probabilities that sum to one may miss it
BETA_PARAMETERS: Final = (1e-9, 1e9)  # beyond these a Beta is a point, or two, and cannot be computed with
_ARRAY_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,59}")

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Form = Literal["categorical", "beta"]


@dataclass(frozen=True)
class Promise:
    """What one viewer is promised. `epsilon` None: no promise towards it, `assumptions` say why."""

    viewer: str
    coalition: tuple[str, ...]  # the parties that pool what they know; none for the analyst
    epsilon: float | None
    delta: float
    adjacency: str
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement:
    """The promises to all viewers; without any, `text` says so."""

    text: str = NO_STATEMENT
    promises: tuple[Promise, ...] = ()

    def towards(self, viewer: str) -> Promise | None:
        return next((promise for promise in self.promises if promise.viewer == viewer), None)


@dataclass(frozen=True)
class NoiseShare:
    """The noise that one holder drew for every cell of a table: its variance, in squared units of 1/256 of a count."""

    holder: str
    variance: Fraction


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts of one column, or of several crossed, with noise in every cell.

    `counts` are integers in units of 1/256 of a count, one axis per column, one cell per code of its domain.
    """

    columns: tuple[str, ...]
    owners: tuple[str, ...]  # the parties whose columns these are, each once, in the agreement's order
    noise: tuple[NoiseShare, ...]
    counts: Integers

    @property
    def variance(self) -> float:
        """Of the noise in one cell, in counts squared."""
        return float(sum((share.variance for share in self.noise), Fraction(0)) / GRID**2)


@dataclass(frozen=True, eq=False)
class TwinColumn:
    """One column of the fitted mixture. `values` has one row per component.

    categorical: the probabilities of the domain's codes (a Bernoulli column is one with two).
    beta: the two parameters over the values scaled into (0, 1) by the domain's bounds.
    """

    column: str
    form: Form
    values: Floats


@dataclass(frozen=True, eq=False)
class Twin:
    """The fitted mixture: what synthetic rows are drawn from. Columns in the agreement's order."""

    weights: Floats
    columns: tuple[TwinColumn, ...]


@dataclass(frozen=True, eq=False)
class Revealed:
    """Any other array that a learner revealed (dpvi: the end of its noisy trajectory), kept by name."""

    name: str
    values: Floats | Integers

    @property
    def dtype(self) -> DType:
        return "<i8" if self.values.dtype.kind == "i" else "<f8"


@dataclass(frozen=True, eq=False)
class Content:
    """All of a release but its signatures."""

    agreement: Agreement
    learner: str
    twin: Twin
    watermark: str | None
    statement: Statement = Statement()
    tables: tuple[NoisyTable, ...] = ()
    revealed: tuple[Revealed, ...] = ()
    rows_estimate: float | None = None
    notes: tuple[str, ...] = ()
    product_version: str = VERSION

    def raise_unless_sound(self, place: str = "") -> None:
        """Raises every contradiction within the content, and between it and the agreement, at once."""
        self.faults(place).raise_if_any()

    def faults(self, place: str = "") -> Faults:
        """The same, collected. Whether it is signed or watermarked is the release's matter, not the content's."""
        checker = _Checker(self, place)
        checker.check()
        return checker.found


class _Checker:
    """Collects what is wrong with one content."""

    def __init__(self, content: Content, place: str) -> None:
        self.content = content
        self.place = place
        self.found = Faults()
        self.parties = [party.name for party in content.agreement.parties]
        self.columns = {column.name: column for column in content.agreement.columns}

    def check(self) -> None:
        content = self.content
        if content.learner != content.agreement.learner.kind:
            self.wrong(f"it comes from the learner {content.learner}, which is not the agreement's")
        if content.rows_estimate is not None and not (math.isfinite(content.rows_estimate)):
            self.wrong("the number of rows is not a finite number")
        self.check_statement()
        self.check_tables()
        self.check_twin()
        names = [array.name for array in content.revealed]
        if names and isinstance(content.agreement.learner, MeasureOnce):
            self.wrong("measure_once reveals noisy tables and nothing else, and here are other arrays")
        for array in content.revealed:
            if not _ARRAY_NAME.fullmatch(array.name) or array.values.ndim > 4 or array.values.dtype.kind not in "if":
                self.wrong(f"the revealed array {array.name!r} has a name, shape or type that the format does not take")
            elif not np.isfinite(array.values).all():
                self.wrong(f"the revealed array {array.name!r} holds values that are not finite")
        self.no_repeats("revealed array", names)

    def wrong(self, sentence: str) -> None:
        self.found.add("E504", sentence, "", self.place)

    def no_repeats(self, what: str, names: Iterable[object]) -> None:
        seen: set[object] = set()
        for name in names:
            if name in seen:
                self.wrong(f"{what} {name} is there twice")
            seen.add(name)

    def check_statement(self) -> None:
        statement = self.content.statement
        self.no_repeats("viewer", [promise.viewer for promise in statement.promises])
        for promise in statement.promises:
            if promise.epsilon is not None and not (math.isfinite(promise.epsilon) and promise.epsilon >= 0):
                self.wrong(f"the epsilon towards {promise.viewer} is not a number of zero or more")
            if not 0 <= promise.delta < 1:
                self.wrong(f"the delta towards {promise.viewer} does not lie between 0 and 1")
            if promise.adjacency not in ("replace_one", "add_remove"):
                self.wrong(f"the promise towards {promise.viewer} names no adjacency that vertwin knows")
            for party in promise.coalition:
                if party not in self.parties:
                    self.wrong(f"{promise.viewer} is said to include {party}, which the agreement does not name")

    def check_tables(self) -> None:
        learner = self.content.agreement.learner
        looks = learner.stages if isinstance(learner, MeasureOnce) else 1
        times = Counter(" and ".join(sorted(table.columns)) for table in self.content.tables)
        for name, count in times.items():
            if count > looks:
                self.wrong(f"the table of {name} is there {count} times, and there were {looks} looks")
        for table in self.content.tables:
            title = f"the table of {' and '.join(table.columns)}"
            known = [self.columns[name] for name in table.columns if name in self.columns]
            if len(known) != len(table.columns) or not known or len(set(table.columns)) != len(table.columns):
                self.wrong(f"{title} is not over columns of the agreement, each once")
                continue
            if table.counts.shape != tuple(column.domain.size for column in known) or table.counts.dtype != np.int64:
                self.wrong(f"{title} has another shape or type than its domains need")
            owners = {column.party for column in known}
            if table.owners != tuple(party for party in self.parties if party in owners):
                self.wrong(f"{title} does not name the owners of its columns")
            holders = [share.holder for share in table.noise]
            if not set(holders) <= set(self.parties) or len(set(holders)) != len(holders):
                self.wrong(f"{title} has noise from somebody who is no party, or twice from one")
            drawers = self.drawers(table.owners)
            if set(holders) != drawers:
                self.wrong(f"{title} has noise from others than {' and '.join(sorted(drawers))}, who draw it")
            if not holders or any(share.variance <= 0 for share in table.noise):
                self.wrong(f"{title} lacks noise, or has some of no positive variance")

    def drawers(self, owners: tuple[str, ...]) -> set[str]:
        """Who draws the noise of a table: its owners, or the helper where the agreement says so."""
        agreement = self.content.agreement
        helps = agreement.learner.noise == "helper" and agreement.helper is not None
        return {agreement.helper.name} if helps and agreement.helper else set(owners)

    def check_twin(self) -> None:
        weights, columns = self.content.twin.weights, self.content.twin.columns
        if tuple(column.column for column in columns) != tuple(self.columns):
            self.wrong("the twin's columns are not the agreement's, in its order")
            return
        if weights.ndim != 1 or not weights.size or not _are_probabilities(weights):
            self.wrong("the twin's weights are not probabilities that sum to one")
        for column in columns:
            width = self.width_of(column)
            if column.values.shape != (weights.size, width) or column.values.dtype != np.float64:
                self.wrong(f"the twin's column {column.column} has another shape or type than its domain needs")
            elif column.form == "beta" and not _lie_within(column.values, *BETA_PARAMETERS):
                self.wrong(f"the twin's column {column.column} has Beta parameters that are not between 1e-9 and 1e9")
            elif column.form == "categorical" and not _are_probabilities(column.values):
                self.wrong(f"the twin's column {column.column} has probabilities that do not sum to one")

    def width_of(self, column: TwinColumn) -> int:
        domain = self.columns[column.column].domain
        if column.form == "beta" and domain.kind not in ("real", "count"):
            self.wrong(f"the twin's column {column.column} is neither real nor count, and cannot be a Beta")
        return 2 if column.form == "beta" else domain.size


def _lie_within(values: Floats, low: float, high: float) -> bool:
    return bool(((values >= low) & (values <= high)).all())  # false for NaN


def _are_probabilities(values: Floats) -> bool:
    with np.errstate(all="ignore"):
        sums = values.sum(axis=-1)
        return bool((values >= 0).all() and (values <= 1 + TOLERANCE).all() and (abs(sums - 1) <= TOLERANCE).all())
