"""Bins of a numeric domain: where the line is cut, and which values have a bin of their own.

A bin holds its lower edge; the upper bound of the domain belongs to the last bin. Heaps are values that many people
report (40 hours a week): each has a bin of its own, taken out of the bin around it. Codes follow the order of values.

Whole numbers are treated as the unit intervals [n, n + 1), so that counts and reals share every formula.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from vertwin.domains.arrow import Floats

MOST_BINS: Final = 1_000_000
NARROWEST: Final = 1e-12  # of the largest edge: a bin of a real must hold many floats, to be sampled inside


@dataclass(frozen=True, kw_only=True)
class Bins(ABC):
    """How a domain from `low` to `high` is cut."""

    heaps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "heaps", _numbers(self.heaps, "heap"))
        if len(set(self.heaps)) < len(self.heaps):
            raise ValueError("a heap is declared twice")
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Raise ValueError if the cut makes no sense by itself."""

    @abstractmethod
    def cuts(self, low: float, high: float, whole: bool) -> Floats:
        """All edges, the upper end included; for whole numbers that end is `high + 1`, which is outside."""

    def partition(self, low: float, high: float, whole: bool) -> Partition:
        """The bins of a domain with these bounds, both inside. ValueError if they do not fit."""
        for heap in self.heaps:
            if not low <= heap <= high:
                raise ValueError(f"the heap {number(heap)} lies outside the bounds {number(low)} to {number(high)}")
            if whole and not float(heap).is_integer():
                raise ValueError(f"the heap {number(heap)} of a count is no whole number")
        cuts = self.cuts(low, high, whole)
        widths = np.diff(cuts)
        if not whole and bool((widths < NARROWEST * np.abs(cuts).max()).any()):
            raise ValueError("a bin is too narrow for floating-point numbers to fill it")
        return Partition.of(cuts, np.sort(np.array(self.heaps, dtype=np.float64)), whole)


@final
@dataclass(frozen=True)
class EqualWidth(Bins):
    """So many bins of equal width (for whole numbers, of widths that differ by one at most)."""

    count: int

    def _check(self) -> None:
        given: Any = self.count
        if isinstance(given, bool) or not isinstance(given, int):
            raise ValueError(f"the number of bins is a whole number, not {given!r}")
        if not 1 <= self.count <= MOST_BINS:
            raise ValueError(f"there are 1 to {MOST_BINS} bins, not {self.count}")

    def cuts(self, low: float, high: float, whole: bool) -> Floats:
        if not whole:
            return np.append(low + (high - low) / self.count * np.arange(self.count), high)
        numbers = int(high) - int(low) + 1
        if self.count > numbers:
            raise ValueError(f"{self.count} bins are declared for {numbers} whole numbers")
        return np.array([int(low) + step * numbers // self.count for step in range(self.count + 1)], dtype=np.float64)


@final
@dataclass(frozen=True)
class Edges(Bins):
    """Bins between declared edges: the first is the lower bound, the last the upper bound.

    For a count the last edge may also be written as the upper bound plus one, the first number outside: then a last
    bin of one number can be written too.
    """

    edges: tuple[float, ...]

    def _check(self) -> None:
        object.__setattr__(self, "edges", _numbers(self.edges, "edge"))
        if len(self.edges) < 2:
            raise ValueError("there are at least two edges, the lower and the upper bound")
        if len(self.edges) > MOST_BINS:
            raise ValueError(f"there are at most {MOST_BINS} bins")
        for before, after in zip(self.edges, self.edges[1:], strict=False):
            if not before < after:
                raise ValueError(f"the edges do not increase: {number(after)} comes after {number(before)}")

    def cuts(self, low: float, high: float, whole: bool) -> Floats:
        if self.edges[0] != low:
            raise ValueError(f"the first edge {number(self.edges[0])} is not the lower bound {number(low)}")
        last = self.edges[-1]
        if last != high and not (whole and last == high + 1):
            also = f", nor {number(high + 1)}, the first number beyond it" if whole else ""
            raise ValueError(f"the last edge {number(last)} is not the upper bound {number(high)}{also}")
        if whole and not all(edge.is_integer() for edge in self.edges):
            raise ValueError("an edge of a count is no whole number")
        return np.array([*self.edges[:-1], high + 1 if whole else high], dtype=np.float64)


@final
@dataclass(frozen=True, eq=False)
class Partition:
    """Bins of one domain as arrays. Intervals are [start, end); a heap is a point (a unit interval, if whole)."""

    cuts: Floats  # of the intervals before heaps are taken out
    heaps: Floats  # in rising order
    whole: bool
    starts: Floats  # per code; of a heap, the value
    ends: Floats  # per code; of a heap of a real, the value again
    interval_codes: NDArray[np.int32]  # per interval of `cuts`; -1 where heaps took every number
    heap_codes: NDArray[np.int32]  # per heap
    labels: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, cuts: Floats, heaps: Floats, whole: bool) -> Partition:
        """Take the heaps out of the intervals, and number what is left in the order of values."""
        unit = 1.0 if whole else 0.0
        taken = set(heaps.tolist())
        spans: list[tuple[float, int, float, int]] = [(h, 0, h + unit, i) for i, h in enumerate(heaps.tolist())]
        for place, (start, end) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)):
            first, last = start, end
            while whole and first in taken:
                first += 1
            while whole and last - 1 in taken and last > first:
                last -= 1
            if last > first:
                spans.append((first, 1, last, place))
        spans.sort()
        interval_codes = np.full(len(cuts) - 1, -1, dtype=np.int32)
        heap_codes = np.empty(len(heaps), dtype=np.int32)
        for code, (_, is_interval, _, place) in enumerate(spans):
            (interval_codes if is_interval else heap_codes)[place] = code
        starts = np.array([span[0] for span in spans], dtype=np.float64)
        ends = np.array([span[2] for span in spans], dtype=np.float64)
        labels = tuple(_label(a, b, bool(i), whole, b == cuts[-1], heaps) for a, i, b, _ in spans)
        return cls(cuts, heaps, whole, starts, ends, interval_codes, heap_codes, labels)

    @property
    def size(self) -> int:
        return len(self.starts)

    @property
    def last_inside(self) -> Floats:
        """Per code the largest float (whole number) that belongs to it."""
        if self.whole:
            return self.ends - 1
        last = np.nextafter(self.ends, -np.inf)
        last[self.ends == self.cuts[-1]] = self.cuts[-1]
        last[self.heap_codes] = self.heaps
        return last

    def find(self, values: Floats) -> NDArray[np.int32]:
        """The code of each value; values outside (and NaN) get any code."""
        places = np.searchsorted(self.cuts[1:-1], values, side="right")
        codes = self.interval_codes[places]
        if len(self.heaps):
            places = self.find_heaps(values)
            codes[places >= 0] = self.heap_codes[places[places >= 0]]
        return codes

    def find_heaps(self, values: Floats) -> NDArray[np.intp]:
        """For each value its place among the heaps, or -1. There must be heaps."""
        places = np.minimum(np.searchsorted(self.heaps, values), len(self.heaps) - 1)
        return np.where(self.heaps[places] == values, places, -1)


def number(value: float) -> str:
    """A number as a person would write it: 40, 22.5, 1e-07."""
    if float(value).is_integer() and abs(value) < 1e16:
        return str(int(value))
    short = f"{value:.6g}"
    return short if float(short) == value else repr(float(value))


def _label(start: float, end: float, interval: bool, whole: bool, last: bool, heaps: Floats) -> str:
    if not interval:
        return number(start)
    holes = [number(heap) for heap in heaps if start <= heap < end or (last and not whole and heap == end)]
    without = f" without {', '.join(holes)}" if holes else ""
    if whole:
        return number(start) + ("" if end == start + 1 else f"..{number(end - 1)}") + without
    return f"[{number(start)}, {number(end)}{']' if last else ')'}{without}"


def _numbers(values: Sequence[Any], noun: str) -> tuple[float, ...]:
    """The values as floats; ValueError if one is no finite number."""
    if isinstance(values, str):
        raise ValueError(f"a list of {noun}s is wanted, not a text")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"the {noun} {value!r} is no finite number")
    return tuple(float(value) for value in values)
