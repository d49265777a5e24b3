"""Domains whose values are declared one by one: binary, category, ordinal. A value is matched as text.

The exact text comes first. What does not match is tried again without spaces at its ends and in Unicode's composed
form, then as a whole number that was written with a point ("3.0"), then as one of the declared aliases. A number in
the table matches a label that writes the same number plainly: 7 is "7", but not "007", which is a text of its own.
"""

from __future__ import annotations

import re
import unicodedata
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vertwin.domains import arrow
from vertwin.domains.arrow import Column, Flags, Floats, Positions, Storage
from vertwin.domains.domain import MISSING_LABEL, Decoder, Domain, Missing, Reading

_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class Labelled(Domain):
    """A domain that lists its values."""

    storages: ClassVar[frozenset[Storage]] = frozenset(Storage) - {Storage.OTHER}
    noun: ClassVar[str]  # what one value of the list is called

    @property
    @abstractmethod
    def own_labels(self) -> tuple[str, ...]: ...

    def _check(self) -> None:
        check_labels(self.own_labels, self.noun)
        if self.missing is Missing.CATEGORY and MISSING_LABEL in self.own_labels:
            raise ValueError(f'"{MISSING_LABEL}" is a declared {self.noun}, and missing = "category" adds one so named')

    @property
    def aliases(self) -> dict[str, int]:
        """Other texts, in lower case, that mean a label: here true and false, for tables that store booleans."""
        folded = [label.lower() for label in self.own_labels]
        return {word: folded.index(word) for word in ("false", "true") if folded.count(word) == 1}

    def _read(self, chunk: Column) -> Reading:
        match arrow.storage(arrow.type_of(chunk)):
            case Storage.NUMBER:
                codes, missing = self._find_numbers(arrow.numbers(chunk))
            case Storage.NOTHING:
                codes, missing = np.zeros(arrow.rows_of(chunk), dtype=np.int64), arrow.nulls(chunk)
            case _:
                codes, missing = self._find_texts(arrow.texts(chunk))
        unknown = (codes < 0) & ~missing
        return Reading(codes, missing, (("E204", self._unknown, unknown),))

    @property
    def _unknown(self) -> str:
        return f"none of the {self.own_size} declared values"

    def _find_texts(self, column: Column) -> tuple[Positions, Flags]:
        codes = arrow.find_texts(column, self.own_labels)
        missing = arrow.nulls(column)
        for attempt in (self._find_composed, self._find_without_point, self._find_alias):
            rows = np.flatnonzero((codes < 0) & ~missing)
            if not len(rows):
                break
            rest = arrow.composed(arrow.pick(column, rows))
            codes[rows] = attempt(rest)
            missing[rows] |= arrow.empty(rest)
        return codes, missing

    def _find_composed(self, rest: Column) -> Positions:
        return arrow.find_texts(rest, [_composed(label) for label in self.own_labels])

    def _find_without_point(self, rest: Column) -> Positions:
        return self._find_composed(arrow.without_point(rest))

    def _find_alias(self, rest: Column) -> Positions:
        return self._through(self.aliases, arrow.find_texts(arrow.lower(rest), list(self.aliases)))

    def _find_numbers(self, read: arrow.Numbers) -> tuple[Positions, Flags]:
        return self._through(self._numbers, arrow.find_floats(read.values, list(self._numbers))), read.missing

    @cached_property
    def _numbers(self) -> dict[float, int]:
        """Labels that write a number plainly, by that number; two labels for one number match nothing."""
        pairs = [(float(label), code) for label, code in self._written.items() if _PLAIN_NUMBER.fullmatch(label)]
        counts = [number for number, _ in pairs]
        return {number: code for number, code in pairs if counts.count(number) == 1}

    @property
    def _written(self) -> dict[str, int]:
        return self.aliases | {label: code for code, label in enumerate(self.own_labels)}

    @staticmethod
    def _through(table: dict[str, int] | dict[float, int], places: Positions) -> Positions:
        """From places in the table's order to the codes that it holds; -1 stays."""
        return np.array([*table.values(), -1], dtype=np.int64)[places]

    def _natural(self, chunk: Column) -> Floats:
        """The code; NaN where a missing value has none."""
        codes = self.encode(chunk).codes
        return np.where(codes < 0, np.nan, codes.astype(np.float64))

    def from_natural(self, values: Floats, rng: np.random.Generator) -> Column:
        there = ~np.isnan(values)
        codes = np.full(len(values), -1, dtype=np.int64)
        codes[there] = np.clip(np.rint(values[there]), 0, self.size - 1).astype(np.int64)
        return self.decode(codes, rng)

    def _decoder(self, masses: Floats | None) -> Decoder:
        def decode(codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> Column:
            return arrow.column_of_texts(self.own_labels, codes, self.absent(codes))

        return decode


def check_labels(labels: Sequence[Any], noun: str) -> None:
    """Raise ValueError unless these are different, printable texts."""
    if not labels:
        raise ValueError(f"no {noun} is declared")
    seen: set[str] = set()
    for label in labels:
        if not isinstance(label, str):
            raise ValueError(f"a {noun} is written as text, in quotes: {label!r}")
        if not label.strip():
            raise ValueError(f"a {noun} is empty: an empty field is a missing value")
        if label != label.strip():
            raise ValueError(f"the {noun} {label!r} begins or ends with a space")
        if _composed(label) in seen:
            raise ValueError(f'the {noun} "{label}" is declared twice')
        seen.add(_composed(label))


def as_labels(labels: Any) -> tuple[Any, ...]:
    """A list of labels as a tuple; a bare text would fall apart into its letters."""
    if isinstance(labels, str):
        raise ValueError(f"a list of values is wanted, not the text {labels!r}")
    return tuple(labels)


def _composed(label: str) -> str:
    return unicodedata.normalize("NFC", label)
