"""Where rows come from: one abstract source, one file for each kind. Streams, so that size moves no wall.

What a source raises never quotes what pyarrow or pandas said: their messages hold cells and whole rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, final

import pyarrow as pa

from vertwin.errors import UserError, user_error

BATCH_ROWS: Final = 65_536


class Source(ABC):
    """A table that can be streamed again and again. `name` is what errors call it: a file's name, never its path."""

    name: str

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of all columns, in order, twice where a name is there twice."""

    @abstractmethod
    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        """How these columns are stored; None for one that mixes kinds of values."""

    @abstractmethod
    def batches(self, columns: Sequence[str], broken: BrokenRows | None = None) -> Iterator[pa.RecordBatch]:
        """Stream these columns, which are there once each, in at most BATCH_ROWS rows (text files: a few megabytes).

        Rows that cannot be taken apart are left out and written into `broken`; without it they end the stream.
        """

    @property
    def storage_types(self) -> tuple[tuple[str, str], ...]:
        """Name and storage type of every column, for one who writes an agreement."""
        types = self.types(self.names)
        return tuple((name, "mixed" if (kind := types[name]) is None else str(kind)) for name in self.names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, rows hidden)"

    def unreadable(self, what: str) -> UserError:
        """This file is not what its name says, or it is damaged."""
        return user_error("E252", f"this is no readable {what}", place=self.name)

    def unopened(self, reason: str) -> UserError:
        return user_error("E250", f"the file cannot be opened: {reason}", place=self.name)


@final
class BrokenRows:
    """The data rows (counted from 1) that a text file's reader left out, and so the true numbers of all others."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._good_before: list[int] = []  # rows that were read, before each broken row

    def add(self, number: int) -> None:
        assert not self._numbers or number > self._numbers[-1], "rows are read in order"
        self._good_before.append(number - 1 - len(self._numbers))
        self._numbers.append(number)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(self._numbers)

    def number_of(self, index: int) -> int:
        """The number of the data row that was read as the index-th, counted from 0."""
        return index + 1 + bisect_right(self._good_before, index)


def in_small_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, at most BATCH_ROWS at a time, without copying."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)
