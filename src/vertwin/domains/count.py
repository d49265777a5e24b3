"""Count: a whole number between two bounds, such as visits in a year, or an age in years."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from vertwin.domains import arrow
from vertwin.domains.arrow import Column, Flags, Floats, Storage
from vertwin.domains.numeric import Numeric

_TABLE: Final = 1 << 16  # numbers for which codes are looked up rather than searched


@final
@dataclass(frozen=True)
class Count(Numeric):
    """A whole number from bounds[0] to bounds[1], both inside.

    Its natural value takes the number n as the middle of [n - 1/2, n + 1/2], so that neither bound becomes 0 or 1.
    """

    kind: ClassVar[str] = "count"
    whole: ClassVar[bool] = True
    storages: ClassVar[frozenset[Storage]] = frozenset(Storage) - {Storage.OTHER}

    @cached_property
    def _table(self) -> NDArray[np.int32] | None:
        low, high = self.bounds
        return self._partition.find(np.arange(low, high + 1, dtype=np.float64)) if high - low < _TABLE else None

    def _codes(self, values: Floats) -> NDArray[np.int32]:
        if self._table is None:
            return self._partition.find(values)
        low, high = self.bounds
        places = np.clip(np.nan_to_num(values, nan=low), low, high) - low
        return self._table.take(places.astype(np.intp))

    def _wrong(self, values: Floats) -> tuple[tuple[str, str, Flags], ...]:
        broken = np.isfinite(values) & (values != np.floor(values))
        return (*super()._wrong(values), ("E206", "not a whole number", broken))

    def _column(self, values: Floats, missing: Flags) -> Column:
        return arrow.column_of_numbers(values.astype(np.int64), missing)

    def _scale(self, values: Floats) -> Floats:
        low, high = self.bounds
        return (values - low + 0.5) / (high - low + 1)

    def _unscale(self, natural: Floats) -> Floats:
        low, high = self.bounds
        return np.floor(low + natural * (high - low + 1))
