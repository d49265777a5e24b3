"""Ordinal: one of a declared list of levels, from the lowest to the highest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from vertwin.domains.labels import Labelled, as_labels


@final
@dataclass(frozen=True)
class Ordinal(Labelled):
    """Levels such as grades or years of schooling; the code is the rank, so estimates may score it."""

    levels: tuple[str, ...]

    kind: ClassVar[str] = "ordinal"
    noun: ClassVar[str] = "level"

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", as_labels(self.levels))
        super().__post_init__()

    @property
    def own_labels(self) -> tuple[str, ...]:
        return self.levels
