"""Binary: one of two declared values, the first counted as 0, the second as 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, final

from vertwin.domains import arrow
from vertwin.domains.arrow import ColumnType, Storage
from vertwin.domains.labels import Labelled, as_labels

NO_WORDS: Final[tuple[str, ...]] = ("no", "n", "false", "f", "0")
YES_WORDS: Final[tuple[str, ...]] = ("yes", "y", "true", "t", "1")


@final
@dataclass(frozen=True)
class Binary(Labelled):
    """Two values, such as no and yes.

    A table often stores such a column as booleans or as 0 and 1. Where the declared values are themselves a word for
    no and a word for yes, any other pair of such words is read too, by its meaning, in whichever order the two are
    declared. Where they are not ("female", "male"), nothing says which one is true, and booleans are refused.
    """

    values: tuple[str, str]

    kind: ClassVar[str] = "binary"
    noun: ClassVar[str] = "value"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", as_labels(self.values))
        super().__post_init__()

    def _check(self) -> None:
        if len(self.values) != 2:
            raise ValueError(f"a binary column has two values, and {len(self.values)} are declared")
        super()._check()

    @property
    def own_labels(self) -> tuple[str, ...]:
        return self.values

    @property
    def aliases(self) -> dict[str, int]:
        first, second = (value.lower() for value in self.values)
        if first in NO_WORDS and second in YES_WORDS:
            no, yes = 0, 1
        elif first in YES_WORDS and second in NO_WORDS:
            no, yes = 1, 0
        else:
            return {}
        return dict.fromkeys(NO_WORDS, no) | dict.fromkeys(YES_WORDS, yes)

    def accepts(self, column_type: ColumnType) -> bool:
        if arrow.storage(column_type) is Storage.BOOLEAN and not self.aliases:
            return False
        return super().accepts(column_type)
