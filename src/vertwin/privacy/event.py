"""What a viewer can attack, once everything it knows is taken out: the event that an accounting oracle reads.

An event is plain numbers. It documents its mechanism so fully that an oracle (`oracle.py`, `accountant.py`) computes
epsilon from it alone, a ledger can store it and add it to others, and a second run is the same event twice. Distances
are between neighbouring tables; sd is the noise that the viewer did not draw itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from math import isnan, nextafter, sqrt
from typing import Any, ClassVar, Literal, cast, final

from vertwin.errors import Faults, user_error

Adjacency = Literal["replace_one", "add_remove"]


class Event(ABC):
    """One composition of releases as one viewer meets it."""

    kind: ClassVar[str]

    @abstractmethod
    def repeated(self, times: int) -> Event:
        """The same again with fresh noise, `times` times in all."""

    @property
    def parameters(self) -> dict[str, Any]:
        """All of it but its kind, as plain data for ledgers; `read_event` is the way back."""
        return {entry.name: getattr(self, entry.name) for entry in fields(cast(Any, self))}


@final
@dataclass(frozen=True)
class GaussianEvent(Event):
    """Any adaptive sequence of Gaussian releases: mu = sqrt(sum of squared distance / variance). 0: nothing is left
    to learn; infinity: nothing is hidden."""

    kind: ClassVar[str] = "gaussian"
    mu: float

    def __post_init__(self) -> None:
        if isnan(self.mu) or self.mu < 0:
            raise user_error("E702", "mu, the distance in units of the noise, must be zero or more")

    def repeated(self, times: int) -> GaussianEvent:
        return replace(self, mu=nextafter(self.mu * sqrt(times), float("inf")) if self.mu else 0.0)


@final
@dataclass(frozen=True)
class KnownSamplesEvent(Event):
    """`steps` Gaussian releases of `mu` each over Poisson samples that this viewer is told: no amplification.

    A record takes part in K ~ Binomial(steps, probability) of them, and which ones says nothing about its values; so
    delta is the mean over K of the Gaussian's delta with sqrt(K) mu. (Truncating the samples only takes uses away.)
    """

    kind: ClassVar[str] = "known_samples"
    mu: float
    probability: float
    steps: int

    def __post_init__(self) -> None:
        faults = Faults()
        if not 0 < self.mu < float("inf"):
            faults.add("E702", "mu, the distance in units of the noise, must be positive and finite")
        _check_sampling(self.probability, self.steps, faults)
        faults.raise_if_any()

    def repeated(self, times: int) -> KnownSamplesEvent:
        return replace(self, steps=self.steps * times)


@final
@dataclass(frozen=True)
class SecretSamplesEvent(Event):
    """`steps` Gaussian releases, each over a fresh Poisson sample that this viewer does not know.

    `noise_multiplier` = sd / c where one record contributes at most norm c, and under replace_one two contributions
    are at most `distance` c apart, 0 < distance <= 2. With `rows` and `batch_at_most` a sample with more records than
    that is cut to it at random (batches are padded to a fixed size; the adjacency is then replace_one).
    """

    kind: ClassVar[str] = "secret_samples"
    noise_multiplier: float
    probability: float
    steps: int
    adjacency: Adjacency = "replace_one"
    distance: float = 2.0
    rows: int | None = None
    batch_at_most: int | None = None

    def __post_init__(self) -> None:
        faults = Faults()
        if not 0 < self.noise_multiplier < float("inf"):
            faults.add("E702", "a noise multiplier must be positive and finite")
        _check_sampling(self.probability, self.steps, faults)
        if not 0 < self.distance <= 2:
            faults.add("E705", "two contributions of norm 1 are apart by more than 0 and at most 2")
        if (self.rows is None) != (self.batch_at_most is None):
            faults.add("E705", "a largest batch and the number of rows go together")
        if self.rows is not None and self.batch_at_most is not None:
            if not 1 <= self.batch_at_most <= self.rows:
                faults.add("E705", "the largest batch has at least one row and at most all")
            if self.adjacency == "add_remove":
                faults.add("E705", "cut batches depend on the number of rows: they go with replace_one only")
        faults.raise_if_any()

    def repeated(self, times: int) -> SecretSamplesEvent:
        return replace(self, steps=self.steps * times)

    @property
    def alike(self) -> GaussianEvent:
        """What is left where sampling takes every record every time: never less than the event itself."""
        distance = self.distance if self.adjacency == "replace_one" else 1.0
        return GaussianEvent(nextafter(distance * sqrt(self.steps) / self.noise_multiplier, float("inf")))


def read_event(kind: str, parameters: Mapping[str, Any]) -> Event:
    """The event as a ledger wrote it; what it cannot have meant is refused."""
    for known in (GaussianEvent, KnownSamplesEvent, SecretSamplesEvent):
        if kind == known.kind:
            try:
                return known(**parameters)
            except TypeError:
                break
    raise user_error("E705", f"an event of kind {kind!r} with {len(parameters)} numbers is none that can be composed")


class Mechanism(ABC):
    """What is revealed and under how much noise, as data; for every viewer the event that it composes to.

    A viewer is known by its coalition: the parties that pool what they saw (none of them: the analyst, who sees
    only what is released). A coalition's own columns are fixed between neighbouring tables, it can subtract the noise
    that it drew itself, and it knows every minibatch that one of its members is told.
    """

    adjacency: Adjacency

    @abstractmethod
    def event(self, coalition: Iterable[str] = ()) -> Event:
        """What this coalition can attack."""

    @abstractmethod
    def without_share_of(self, holder: str) -> Mechanism:
        """The same with this party secretly drawing no noise for what others hold a part of; itself if it draws none.

        Noise that it alone draws for its own columns is left: whoever skips that gives its own table away, which no
        protocol can hinder."""

    def adjacency_for(self, coalition: Iterable[str] = ()) -> Adjacency:
        """Towards a party a record is always replaced: that a person is in the table, it knows from the linkage."""
        return "replace_one" if tuple(coalition) else self.adjacency


def _check_sampling(probability: float, steps: int, faults: Faults) -> None:
    if not 0 < probability <= 1 or steps < 1:
        faults.add("E705", "a sampling probability lies in (0, 1] and there is at least one step")
