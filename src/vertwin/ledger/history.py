"""What a ledger's entries say together: pure, no file. Everything that is counted is read from here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TypeVar

from vertwin.ledger.budget import (
    Spending,
    composed_epsilon,
    event_towards,
    keys_of,
    spending_of_entry,
    viewer_name,
    viewers_with_budget,
)
from vertwin.ledger.chain import Head, Line
from vertwin.ledger.entries import (
    Budget,
    Closed,
    Countersigned,
    Exchange,
    Forgotten,
    Kept,
    Linked,
    Opened,
    PeerHead,
    Rehearsed,
    Sealed,
    Spent,
)
from vertwin.ledger.events import Composer, GaussianEvent, gaussian_composer
from vertwin.privacy.closed_form import gaussian_epsilon, gaussian_mu

_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Attempt:
    """One spending, and what became of it at this party."""

    spent: Spent
    line: Line
    exchanged: bool
    release: str | None
    closed: bool
    forgotten: bool
    kept: bool

    @property
    def counted(self) -> bool:
        return not self.forgotten

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be done about it with the peers."""
        return self.closed or self.forgotten or self.kept


@dataclass(frozen=True)
class Balance:
    """One viewer: what it learned at most, and what is left of its budget."""

    viewer: str
    epsilon: float
    delta: float
    budget: float | None
    left: float | None  # the epsilon of one more Gaussian run that the budget would still allow


class History:
    """The entries of one ledger, as read."""

    def __init__(self, lines: Sequence[Line]) -> None:
        assert lines and isinstance(lines[0].entry, Opened)
        self.lines = tuple(lines)
        self._opened = lines[0].entry

    @property
    def data_set(self) -> str:
        return self._opened.data_set

    @property
    def party(self) -> str:
        return self._opened.party

    @property
    def head(self) -> Head:
        return self.lines[-1].head

    def head_at(self, count: int) -> Head | None:
        """The head when the ledger had so many entries; None if it never did."""
        return self.lines[count - 1].head if 1 <= count <= len(self.lines) else None

    @property
    def budgets(self) -> tuple[Budget, ...]:
        return self._all(Budget)

    @property
    def linkages(self) -> tuple[Linked, ...]:
        return self._all(Linked)

    @property
    def rehearsals(self) -> tuple[Rehearsed, ...]:
        return self._all(Rehearsed)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every spending, forgotten ones included, in order."""
        exchanged = {entry.attempt for entry in self._all(Exchange)}
        releases = {entry.attempt: entry.release for entry in self._all(Sealed)}
        closed = {entry.attempt for entry in self._all(Closed)}
        forgotten = {entry.attempt for entry in self._all(Forgotten)}
        kept = {entry.attempt for entry in self._all(Kept)}
        return tuple(
            Attempt(
                line.entry,
                line,
                line.entry.attempt in exchanged,
                releases.get(line.entry.attempt),
                line.entry.attempt in closed,
                line.entry.attempt in forgotten,
                line.entry.attempt in kept,
            )
            for line in self.lines
            if isinstance(line.entry, Spent)
        )

    def attempt(self, attempt: str) -> Attempt | None:
        return next((known for known in self.attempts if known.spent.attempt == attempt), None)

    @property
    def counted(self) -> tuple[tuple[Spending, str], ...]:
        """Every spending that counts, with its attempt."""
        return tuple((spending_of_entry(a.spent), a.spent.attempt) for a in self.attempts if a.counted)

    @property
    def runs(self) -> tuple[Spending, ...]:
        return tuple(spending for spending, _ in self.counted)

    def remembered(self, peer: str) -> PeerHead | None:
        """Where that peer's ledger stood when it last said so."""
        return self._last(PeerHead, lambda entry: entry.peer == peer)

    def countersigned(self, peer: str) -> Countersigned | None:
        return self._last(Countersigned, lambda entry: entry.peer == peer)

    @property
    def peers(self) -> tuple[str, ...]:
        """Every other party that this ledger has met."""
        names = [name for run in self.runs for name, _ in run.parties] + [entry.peer for entry in self._all(PeerHead)]
        return tuple(dict.fromkeys(name for name in names if name != self.party))

    def balances(self, composer: Composer = gaussian_composer) -> tuple[Balance, ...]:
        """The analyst, every party seen and every viewer with a budget; at the budget's delta or the largest used."""
        runs = self.runs
        limits = viewers_with_budget(self.budgets, runs, self.party)
        usual = max((run.delta for run in runs), default=1e-6)
        found: list[Balance] = []
        viewers: list[tuple[str, ...]] = [(), *((peer,) for peer in self.peers), *limits]
        for viewer in dict.fromkeys(viewers):
            limit = limits.get(viewer)
            delta = usual if limit is None else limit.delta
            epsilon = composed_epsilon(viewer, runs, delta, composer)
            left = None if limit is None else self._left(viewer, limit, epsilon)
            found.append(Balance(viewer_name(viewer), epsilon, delta, limit.epsilon if limit else None, left))
        return tuple(found)

    def _left(self, viewer: tuple[str, ...], limit: Budget, spent: float) -> float | None:
        """Exact where all was Gaussian; None (unknown) where an event of another kind was composed."""
        if spent >= limit.epsilon or limit.epsilon == 0:
            return 0.0
        keys = keys_of(self.runs)
        events = [event_towards(viewer, run, keys) for run in self.runs]
        used = sum((event.replacing for event in events if isinstance(event, GaussianEvent)), Fraction(0))
        if not all(isinstance(event, GaussianEvent) for event in events):
            return None
        allowed = Fraction(gaussian_mu(limit.epsilon, limit.delta)) ** 2
        return gaussian_epsilon(sqrt(allowed - used), limit.delta) if allowed > used else 0.0

    def _all(self, kind: type[_Kind]) -> tuple[_Kind, ...]:
        return tuple(line.entry for line in self.lines if isinstance(line.entry, kind))

    def _last(self, kind: type[_Kind], wanted: Callable[[_Kind], bool]) -> _Kind | None:
        return next((entry for entry in reversed(self._all(kind)) if wanted(entry)), None)
