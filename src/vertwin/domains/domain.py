"""What every declared domain can do: read a column into codes, say what is wrong with which row, and go back.

Formal guarantees:
- A fault names a row and a rule, never a value.
- decode gives values inside the declared domain only (null where a value is missing), for every sequence of codes.
- encode(decode(codes)) is codes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vertwin.domains import arrow
from vertwin.domains.arrow import Column, ColumnType, Flags, Floats, Storage

Codes: TypeAlias = NDArray[np.int32]
Decoder: TypeAlias = Callable[[NDArray[np.integer[Any]], np.random.Generator], Column]

MISSING_LABEL = "missing"
NOTHING_SAID = -1  # the code of a missing value that says nothing ("marginal"), and of a faulty row


class Missing(StrEnum):
    """What a missing value means: an error, a value of its own, or nothing at all."""

    REFUSE = "refuse"
    CATEGORY = "category"
    MARGINAL = "marginal"


@dataclass(frozen=True)
class RowFault:
    """One faulty row, counted from 0 within the column that was read. `why` never holds the value."""

    row: int
    code: str
    why: str


@dataclass(frozen=True, eq=False)
class FaultyRows:
    """All rows of a column that break one rule."""

    code: str
    why: str
    rows: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"FaultyRows({self.code}, {self.why!r}, {len(self.rows)} rows)"


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column as codes (-1: says nothing, or faulty) and what was wrong with it."""

    codes: Codes
    faulty: tuple[FaultyRows, ...]

    @property
    def faults(self) -> tuple[RowFault, ...]:
        """Every fault by itself, in the order of the rows."""
        each = [RowFault(int(row), rule.code, rule.why) for rule in self.faulty for row in rule.rows]
        return tuple(sorted(each, key=lambda fault: (fault.row, fault.code)))

    def __repr__(self) -> str:
        return f"Encoded(rows hidden, {sum(len(rule.rows) for rule in self.faulty)} faults)"


@dataclass(frozen=True, eq=False)
class Reading:
    """What one type makes of a chunk: a code for each row, and masks that overrule it."""

    codes: NDArray[np.integer[Any]]
    missing: Flags
    wrong: tuple[tuple[str, str, Flags], ...]  # (error code, why, rows)

    def __repr__(self) -> str:
        return "Reading(rows hidden)"


@dataclass(frozen=True, kw_only=True)
class Domain(ABC):
    """A column's declared domain. Frozen, hashable, public: it stands in the agreement that all parties sign."""

    missing: Missing = Missing.REFUSE
    source: str = ""  # where the domain is written down, e.g. a page of a code book

    kind: ClassVar[str]
    storages: ClassVar[frozenset[Storage]]  # what a column of this type may be stored as

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", Missing(self.missing))
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Raise ValueError, with a sentence for the one who declares, if the declaration makes no sense."""

    @property
    @abstractmethod
    def own_labels(self) -> tuple[str, ...]:
        """A text for each code of a value that is there."""

    @abstractmethod
    def _read(self, chunk: Column) -> Reading: ...

    @abstractmethod
    def _natural(self, chunk: Column) -> Floats: ...

    @abstractmethod
    def _decoder(self, masses: Floats | None) -> Decoder:
        """A decoder for codes of values that are there; rows whose code is below 0 may come out as anything."""

    @abstractmethod
    def from_natural(self, values: Floats, rng: np.random.Generator) -> Column:
        """The inverse of `natural`, up to rounding: values of the declared domain, null for NaN."""

    @property
    def own_size(self) -> int:
        """The number of codes for values that are there."""
        return len(self.own_labels)

    @property
    def size(self) -> int:
        """The number of codes; where a missing value is a category, the last code is that one."""
        return self.own_size + (self.missing is Missing.CATEGORY)

    @property
    def labels(self) -> tuple[str, ...]:
        """A text for each code."""
        return self.own_labels + ((MISSING_LABEL,) if self.missing is Missing.CATEGORY else ())

    def accepts(self, column_type: ColumnType) -> bool:
        """Whether a column of this Arrow type can be read at all."""
        return arrow.storage(column_type) in self.storages

    def encode(self, column: Column) -> Encoded:
        """Read a column (pa.Array or pa.ChunkedArray) into codes; faults come back, they are not raised."""
        rows = arrow.rows_of(column)
        if not self.accepts(arrow.type_of(column)):
            why = f"stored in a way that no {self.kind} can be read from"
            nothing = np.full(rows, NOTHING_SAID, dtype=np.int32)
            return Encoded(nothing, (FaultyRows("E201", why, np.arange(rows)),) if rows else ())
        codes = np.empty(rows, dtype=np.int32)
        found: dict[tuple[str, str], list[NDArray[np.int64]]] = {}
        start = 0
        for chunk in arrow.chunks(column):
            reading = self._read(chunk)
            part = codes[start : start + arrow.rows_of(chunk)]
            part[:] = reading.codes
            part[reading.missing] = self._code_of_missing
            wrong = reading.wrong
            if self.missing is Missing.REFUSE:
                wrong += (("E205", 'missing, where the agreement says missing = "refuse"', reading.missing),)
            for code, why, mask in wrong:
                if mask.any():
                    part[mask] = NOTHING_SAID
                    found.setdefault((code, why), []).append(np.flatnonzero(mask) + start)
            start += len(part)
        return Encoded(codes, tuple(FaultyRows(code, why, np.concatenate(r)) for (code, why), r in found.items()))

    def decode(self, codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> Column:
        """A value of the declared domain for each code, null where it is missing."""
        return self.decoder(None)(codes, rng)

    def decoder(self, masses: NDArray[np.floating[Any]] | None = None) -> Decoder:
        """What decodes many batches. `masses`, one per code, lets reals and counts slope towards fuller bins."""
        return self._decoder(self._own_masses(masses))

    def natural(self, column: Column) -> Floats:
        """The values as the paper's learner takes them, NaN where missing (or faulty: check with encode first)."""
        parts = [self._natural(chunk) for chunk in arrow.chunks(column)]
        return np.concatenate(parts) if parts else np.empty(0)

    def absent(self, codes: NDArray[np.integer[Any]]) -> Flags:
        """Where a code stands for a value that is not there. Asserts that all of them are codes of this domain."""
        assert codes.size == 0 or (codes.min() >= NOTHING_SAID and codes.max() < self.size), "no code of this domain"
        return (codes < 0) | (codes >= self.own_size)

    @property
    def _code_of_missing(self) -> int:
        return self.own_size if self.missing is Missing.CATEGORY else NOTHING_SAID

    def _own_masses(self, masses: NDArray[np.floating[Any]] | None) -> Floats | None:
        if masses is None:
            return None
        given = np.asarray(masses, dtype=np.float64)
        assert given.shape == (self.size,), "one mass for each code"
        assert bool(np.isfinite(given).all()), "masses are finite"
        return np.maximum(given[: self.own_size], 0.0)
