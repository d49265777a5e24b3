"""Category: one of a declared list of values, in no order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from vertwin.domains.labels import Labelled, as_labels


@final
@dataclass(frozen=True)
class Category(Labelled):
    """Values such as a country or a kind of contract, each declared as text."""

    categories: tuple[str, ...]

    kind: ClassVar[str] = "category"
    noun: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", as_labels(self.categories))
        super().__post_init__()

    @property
    def own_labels(self) -> tuple[str, ...]:
        return self.categories
