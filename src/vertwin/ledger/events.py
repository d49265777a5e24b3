"""Events: what one run told one viewer, as data; and their composition, so that epsilons are never added.

All composition here is under `replace_one`. A Gaussian event that was accounted under add_remove bounds the step from
a table to the same without one record; replacing a record is two such steps, so its distance counts twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, nextafter, sqrt
from typing import Any, final

from vertwin.errors import user_error
from vertwin.privacy.closed_form import gaussian_epsilon
from vertwin.privacy.gaussian_release import Adjacency


class Event(ABC):
    """What an accountant needs to know of one run towards one viewer; `None` in its place means: no promise."""

    @property
    @abstractmethod
    def kind(self) -> str: ...

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """As written in the ledger: texts, numbers, and lists of them."""


Composer = Callable[[Sequence[Event], float], float]
"""(events, delta) -> the epsilon of all of them together under replace_one, rounded up."""


@final
@dataclass(frozen=True)
class GaussianEvent(Event):
    """A release with Gaussian noise, however many tables or steps it has: squared distances add."""

    mu_squared: float
    adjacency: Adjacency

    def __post_init__(self) -> None:
        if not (isfinite(self.mu_squared) and self.mu_squared >= 0):
            raise user_error("E702", "mu squared of an event must be a finite number of zero or more")
        if self.adjacency not in ("replace_one", "add_remove"):
            raise user_error("E551", f"an event under the unknown adjacency {self.adjacency!r}")

    @property
    def kind(self) -> str:
        return "gaussian"

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"mu_squared": self.mu_squared, "adjacency": self.adjacency}

    @property
    def replacing(self) -> Fraction:
        """mu squared towards neighbours in which one record is replaced."""
        return Fraction(self.mu_squared) * (4 if self.adjacency == "add_remove" else 1)


@final
@dataclass(frozen=True)
class OtherEvent(Event):
    """An event of a kind that this module cannot compose itself: kept as it was written, for a composer that can."""

    name: str
    written: tuple[tuple[str, Any], ...]

    @property
    def kind(self) -> str:
        return self.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        return dict(self.written)


def read_event(kind: str, parameters: Mapping[str, Any]) -> Event:
    """The event as it stands in a ledger."""
    if kind == "gaussian" and set(parameters) == {"mu_squared", "adjacency"}:
        return GaussianEvent(parameters["mu_squared"], parameters["adjacency"])
    return OtherEvent(kind, tuple(sorted(parameters.items())))


def gaussian_composer(events: Sequence[Event], delta: float) -> float:
    """Gaussian events alone, in closed form; any order, adaptively chosen."""
    return gaussian_epsilon(_mu(events), delta)


def compose(events: Iterable[Event | None], delta: float, composer: Composer = gaussian_composer) -> float:
    """The epsilon of all events together at `delta`, rounded up; infinite if one of them promises nothing."""
    known: list[Event] = []
    for event in events:
        if event is None:
            return inf
        known.append(event)
    return composer(known, delta)


def _mu(events: Sequence[Event]) -> float:
    total = Fraction(0)
    for event in events:
        if not isinstance(event, GaussianEvent):
            raise user_error(
                "E551",
                f"the ledger holds an event of the kind {event.kind!r}, which cannot be composed here",
                'install the party extra: pip install "vertwin[party]"',
            )
        total += event.replacing
    return nextafter(sqrt(nextafter(float(total), inf)), inf) if total else 0.0
