"""Domains of numbers between declared bounds: what counts and reals share."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from vertwin.domains import arrow
from vertwin.domains.arrow import Column, Flags, Floats
from vertwin.domains.bins import Bins, EqualWidth, Partition, number
from vertwin.domains.density import Density
from vertwin.domains.domain import Decoder, Domain, Reading

NATURAL_MARGIN: Final = 1e-3  # natural values of reals stay this far from 0 and 1, where log densities are infinite
_LARGEST: Final = 2**53  # whole numbers below it are exact as floats


@dataclass(frozen=True)
class Numeric(Domain):
    """A domain of numbers. Without bins it has one bin, and only its natural values say anything."""

    bounds: tuple[float, float]
    bins: Bins | None = None

    whole: ClassVar[bool]

    def _check(self) -> None:
        object.__setattr__(self, "bounds", self._checked_bounds())
        bins: Any = self.bins
        if bins is not None and not isinstance(bins, Bins):
            raise ValueError("bins are of the kind equal_width or edges")
        _ = self._partition  # a cut that does not fit is found now, not when the first row is read

    def _checked_bounds(self) -> tuple[float, float]:
        bounds: Any = self.bounds
        if isinstance(bounds, str) or len(bounds) != 2:
            raise ValueError("there are two bounds, the smallest and the largest value")
        for bound in bounds:
            if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
                raise ValueError(f"the bound {bound!r} is no finite number")
            if abs(bound) >= _LARGEST:
                raise ValueError(f"the bound {number(bound)} is too large: 2^53 is the limit")
            if self.whole and not float(bound).is_integer():
                raise ValueError(f"the bound {number(bound)} of a count is no whole number")
        low, high = (int(bound) for bound in bounds) if self.whole else (float(bound) for bound in bounds)
        if not low < high:
            raise ValueError(f"the lower bound {number(low)} is not below the upper bound {number(high)}")
        return low, high

    @cached_property
    def _partition(self) -> Partition:
        low, high = self.bounds
        return (self.bins or EqualWidth(1)).partition(low, high, self.whole)

    @property
    def own_labels(self) -> tuple[str, ...]:
        return self._partition.labels

    @property
    def spans(self) -> tuple[tuple[float, float], ...]:
        """The smallest and largest value of each bin, in the order of codes; a missing value has none."""
        ends = self._partition.last_inside if self.whole else self._partition.ends
        return tuple(zip(self._partition.starts.tolist(), ends.tolist(), strict=True))

    @property
    def edges(self) -> Floats:
        """The cuts between bins before heaps were taken out. A count's last edge is the first number outside."""
        return self._partition.cuts.copy()

    @abstractmethod
    def _column(self, values: Floats, missing: Flags) -> Column:
        """Values inside the domain, in the type's storage; null where missing."""

    @abstractmethod
    def _scale(self, values: Floats) -> Floats: ...

    @abstractmethod
    def _unscale(self, natural: Floats) -> Floats: ...

    def _codes(self, values: Floats) -> NDArray[np.int32]:
        return self._partition.find(values)

    def _wrong(self, values: Floats) -> tuple[tuple[str, str, Flags], ...]:
        infinite = np.isinf(values)
        low, high = self.bounds
        outside = ((values < low) | (values > high)) & ~infinite
        return (
            ("E207", "an infinite number", infinite),
            ("E203", f"outside the declared {number(low)} to {number(high)}", outside),
        )

    def _read(self, chunk: Column) -> Reading:
        read = arrow.numbers(chunk)
        wrong = (("E202", "not a number", read.unreadable), *self._wrong(read.values))
        return Reading(self._codes(read.values), read.missing, wrong)

    def _natural(self, chunk: Column) -> Floats:
        assert self.accepts(arrow.type_of(chunk)), "natural values are taken of columns that were checked"
        values = arrow.numbers(chunk).values
        for _, _, faulty in self._wrong(values):
            values = np.where(faulty, np.nan, values)
        return self._scale(values)

    def from_natural(self, values: Floats, rng: np.random.Generator) -> Column:
        missing = np.isnan(values)
        low, high = self.bounds
        return self._column(np.clip(self._unscale(np.where(missing, 0.5, values)), low, high), missing)

    def _decoder(self, masses: Floats | None) -> Decoder:
        density = Density(self._partition, masses)

        def decode(codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> Column:
            absent = self.absent(codes)
            there = np.where(absent, 0, codes) if absent.any() else codes
            return self._column(density.draw(there, rng), absent)

        return decode
