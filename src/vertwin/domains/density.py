"""Sampling a number inside its bin, by a density that is continuous across bins and keeps every bin's mass.

A histogram's steps are an artefact of the bins. Here the density is linear from each edge of a bin to its middle and
on to the other edge. At an edge its height h_e lies between those of the two bins, and nowhere above twice either of
them; the middle of bin i then has height 2 h_i - (h_left + h_right) / 2 >= 0, which makes the bin's mass exactly what
it was. So the code of a value never changes: the density only says where in its bin the value lies. A bin without
mass, and every bin when no masses are known, is filled evenly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from vertwin.domains.arrow import Floats
from vertwin.domains.bins import Partition

_BLOCK: Final = 16_384  # rows at a time: what the processor's cache holds
_TINY: Final = 1e-300
_ROUNDS: Final = 32


@final
class Density:
    """Draws a value for each code. Tables hold two linear pieces for each code, left and right of the bin's middle.

    Formal guarantees:
    - A value drawn for a code lies in that code's bin, and `Partition.find` gives the code again.
    - A heap's code gives the heap itself, exactly.
    """

    def __init__(self, partition: Partition, masses: Floats | None) -> None:
        self._partition = partition
        left, right = edge_heights(partition, masses)
        middle = 2.0 - (left + right) / 2  # heights are relative to the bin's own mean height, 1
        at_left, at_right = (left + middle) / 4, (middle + right) / 4  # the masses of the two pieces, in [1/4, 3/4]
        self._split = at_left
        self._offset = _pairs(np.zeros_like(left), at_left)
        self._scale = _pairs(1 / at_left, 1 / at_right)
        self._first = _pairs(left / (2 * at_left), middle / (2 * at_right))  # a piece from height a to b, (a+b)/2 = 1
        self._slope = 4 * (1 - self._first)  # 2 (b - a)
        half = (partition.ends - partition.starts) / 2
        half[partition.heap_codes] = 0.0
        self._width = _pairs(half, half)
        self._start = _pairs(partition.starts, partition.starts + half)
        self._last = partition.last_inside
        self._is_heap = np.zeros(partition.size, dtype=bool)
        self._is_heap[partition.heap_codes] = True

    def draw(self, codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> Floats:
        """A value for each code; codes are those of values that are there."""
        values = np.empty(len(codes), dtype=np.float64)
        for rows in _blocks(len(codes)):
            block = codes[rows].astype(np.intp)
            values[rows] = self._draw_block(block, rng)
            self._redraw_heaps(block, values[rows], rng)
        return values

    def _draw_block(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Inverse of each piece's distribution function a t + (b - a) t^2 / 2, in the form that never cancels."""
        uniform = rng.random(len(codes))
        piece = 2 * codes
        piece += uniform >= self._split.take(codes)
        uniform -= self._offset.take(piece)
        uniform *= self._scale.take(piece)
        first = self._first.take(piece)
        root = self._slope.take(piece)
        root *= uniform
        root += first * first
        np.maximum(root, 0.0, out=root)
        np.sqrt(root, out=root)
        root += first
        np.maximum(root, _TINY, out=root)
        uniform *= 2.0
        uniform /= root
        uniform *= self._width.take(piece)
        uniform += self._start.take(piece)
        if self._partition.whole:
            np.floor(uniform, out=uniform)
        return np.minimum(uniform, self._last.take(codes), out=uniform)

    def _redraw_heaps(self, codes: NDArray[np.intp], values: Floats, rng: np.random.Generator) -> None:
        """A draw that hits a heap inside another bin is drawn again, and in the end moved below the heap.

        A real never gets that far; a count only where heaps fill most of a bin. A bin of a count begins with a number
        that is no heap, so moving down stays inside it.
        """
        if not len(self._partition.heaps):
            return
        rows = np.flatnonzero(~self._is_heap.take(codes))
        for _ in range(_ROUNDS):
            rows = rows[self._partition.find_heaps(values[rows]) >= 0]
            if not len(rows):
                return
            values[rows] = self._draw_block(codes[rows], rng)
        while len(rows := rows[self._partition.find_heaps(values[rows]) >= 0]):
            values[rows] -= 1


def edge_heights(partition: Partition, masses: Floats | None) -> tuple[Floats, Floats]:
    """The density at the left and right end of each code's bin, relative to the bin's mean height."""
    left, right = np.ones(partition.size), np.ones(partition.size)
    intervals = np.array(sorted(code for code in partition.interval_codes.tolist() if code >= 0), dtype=np.intp)
    if masses is None or len(intervals) < 2:
        return left, right
    starts, ends = partition.starts[intervals], partition.ends[intervals]
    heights = masses[intervals] / (ends - starts)
    middles = (starts + ends) / 2
    slopes = np.diff(heights) / np.diff(middles)
    after = np.append(heights[:-1] + slopes * (ends[:-1] - middles[:-1]), 0.0)
    before = np.append(0.0, heights[1:] - slopes * (middles[1:] - starts[1:]))
    most = 2 * np.minimum(heights[:-1], heights[1:])
    after[:-1], before[1:] = np.minimum(after[:-1], most), np.minimum(before[1:], most)
    before[0] = np.clip(heights[0] - slopes[0] * (middles[0] - starts[0]), 0.0, 2 * heights[0])
    after[-1] = np.clip(heights[-1] + slopes[-1] * (ends[-1] - middles[-1]), 0.0, 2 * heights[-1])
    full = heights > 0
    left[intervals[full]] = before[full] / heights[full]
    right[intervals[full]] = after[full] / heights[full]
    return left, right


def _pairs(left: Floats, right: Floats) -> Floats:
    """Left and right pieces by turns: piece 2 c is code c's left one, 2 c + 1 its right one."""
    return np.column_stack([left, right]).ravel()


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK, rows)) for start in range(0, rows, _BLOCK))
