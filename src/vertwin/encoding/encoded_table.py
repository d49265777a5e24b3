"""A party's linked rows as codes in memory: 2 bytes a cell, and one-hot only for the block that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from vertwin.agreement import Column


@dataclass(frozen=True, repr=False, eq=False)
class EncodedTable:
    """Private. Row i is the same person at every party.

    `codes` has a row for each person and a column for each of the party's columns; -1 is a missing value that says
    nothing. The arrays cannot be written to.
    """

    party: str
    columns: tuple[Column, ...]
    rows: int
    codes: NDArray[np.int16] | NDArray[np.int32]
    _natural: dict[str, NDArray[np.float64]]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return tuple(column.domain.size for column in self.columns)

    @property
    def width(self) -> int:
        """The number of columns of the one-hot matrix."""
        return sum(self.sizes)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each column stands in the one-hot matrix."""
        ends = np.cumsum(self.sizes).tolist()
        return {name: slice(end - size, end) for name, size, end in zip(self.names, self.sizes, ends, strict=True)}

    def one_hot(self, start: int = 0, stop: int | None = None, dtype: DTypeLike = np.int32) -> NDArray[Any]:
        """Rows start to stop as 0 and 1, one column for each code; a column's part is all 0 where it says nothing."""
        codes = self.codes[start:stop]
        matrix = np.zeros((len(codes), self.width), dtype=dtype)
        for place, part in enumerate(self.slices.values()):
            there = np.flatnonzero(codes[:, place] >= 0)
            matrix[there, part.start + codes[there, place]] = 1
        return matrix

    def natural(self, name: str) -> NDArray[np.float64]:
        """A column's values as densities take them, NaN where missing.

        They are kept for the columns whose declared family is a density; of columns with labels they are the codes.
        """
        if name in self._natural:
            return self._natural[name]
        column = self.columns[self.names.index(name)]
        assert column.domain.kind not in ("count", "real"), f"natural values of {name!r} are not kept: see its family"
        codes = self.codes[:, self.names.index(name)]
        return np.where(codes < 0, np.nan, codes.astype(np.float64))

    def __repr__(self) -> str:
        return f"EncodedTable({len(self.columns)} columns, rows hidden)"
