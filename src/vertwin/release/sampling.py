"""Synthetic rows from the fitted mixture: a component per row, then every column given the component.

All of it is post-processing of what was released, so the randomness here protects nobody: NumPy's generator, with a
public seed for whoever wants the same rows twice. (Noise that protects people comes from `vertwin.noise` alone.)

Rows are made in blocks of a fixed length, each with its own stream derived from (seed, block number). Blocks can so
be made by several threads, in bounded memory, and the rows do not depend on how many threads there are or on the
size of the batches that the caller asked for.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from vertwin.domains import Domain, Missing
from vertwin.release import arrow
from vertwin.release.arrow import Batch, Column, Schema
from vertwin.release.content import Content, Floats, TwinColumn

BLOCK_ROWS: Final = 1 << 16
_MOST_THREADS: Final = 4

Codes = npt.NDArray[np.int32]
Draw = Callable[[Codes, np.random.Generator], Column]


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Draws from one of K distributions over S codes in constant time per draw (the alias method, Walker 1977).

    Cell (k, i) keeps its own code with probability `keep`, else gives way to `other`. Exact up to the rounding of
    floats: the construction moves mass between codes, it does not cut any off.
    """

    keep: Floats  # (K * S,)
    other: Codes  # (K * S,)
    size: int

    @staticmethod
    def of(probabilities: Floats) -> AliasTable:
        """From a (K, S) matrix whose rows sum to one."""
        rows, size = probabilities.shape
        keep = np.ones((rows, size))
        other = np.tile(np.arange(size, dtype=np.int32), (rows, 1))
        for row in range(rows):
            _fill(probabilities[row] / probabilities[row].sum(), keep[row], other[row])
        return AliasTable(keep.ravel(), other.ravel(), size)

    def draw(self, rows: Codes, generator: np.random.Generator) -> Codes:
        """One code for each entry of `rows`, from the distribution of that number."""
        position = generator.random(rows.size)
        position *= self.size
        cell = position.astype(np.int32)  # below `size`: (1 - 2^-53) * size still rounds to less
        position -= cell
        place = rows * np.int32(self.size) + cell
        return np.where(position < self.keep[place], cell, self.other[place])


def _fill(probabilities: Floats, keep: Floats, other: Codes) -> None:
    scaled: list[float] = (probabilities * probabilities.size).tolist()
    small = [code for code, mass in enumerate(scaled) if mass < 1]
    large = [code for code, mass in enumerate(scaled) if mass >= 1]
    while small and large:
        poor, rich = small.pop(), large[-1]
        keep[poor], other[poor] = scaled[poor], rich
        scaled[rich] -= 1 - scaled[poor]
        if scaled[rich] < 1:
            small.append(large.pop())
    # What is left has mass one but for rounding, and keeps its cell. A code of no mass found a rich one before.


class Sampler:
    """Draws synthetic rows. Stateless: safe to use from several threads."""

    def __init__(self, content: Content) -> None:
        twin = content.twin
        weights = twin.weights / twin.weights.sum()
        self._component = AliasTable.of(weights[np.newaxis, :])
        domains = {column.name: column.domain for column in content.agreement.columns}
        names = [column.column for column in twin.columns]
        self._draws = [_drawer(domains[column.column], column, weights) for column in twin.columns]
        metadata = {"vertwin.watermark": content.watermark or "", "vertwin.agreement": content.agreement.digest}
        nothing = np.zeros(0, np.int32)
        empty = [draw(nothing, np.random.default_rng(0)) for draw in self._draws]
        self.schema: Schema = arrow.schema(dict(zip(names, empty, strict=True)), metadata)

    def block(self, rows: int, stream: np.random.SeedSequence) -> Batch:
        """This many rows from this stream."""
        generator = np.random.Generator(np.random.SFC64(stream))
        components = self._component.draw(np.zeros(rows, np.int32), generator)
        return arrow.batch((draw(components, generator) for draw in self._draws), self.schema)

    def blocks(self, rows: int, seed: int | None, threads: int | None = None) -> Iterator[Batch]:
        """All rows, block by block, a few of them in the making at any time."""
        entropy = np.random.SeedSequence(seed).entropy
        numbers = range(-(-rows // BLOCK_ROWS))

        def make(number: int) -> Batch:
            stream = np.random.SeedSequence(entropy, spawn_key=(number,))
            return self.block(min(BLOCK_ROWS, rows - number * BLOCK_ROWS), stream)

        workers = min(threads or min(os.cpu_count() or 1, _MOST_THREADS), len(numbers))
        if workers == 1:
            yield from map(make, numbers)
            return
        with ThreadPoolExecutor(workers, thread_name_prefix="vertwin-sample") as pool:
            waiting: deque[Future[Batch]] = deque()
            try:
                for number in numbers:
                    waiting.append(pool.submit(make, number))
                    if len(waiting) > workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def _drawer(domain: Domain, column: TwinColumn, weights: Floats) -> Draw:
    """How one column is drawn, given the rows' components."""
    if column.form == "beta":
        first: Floats = np.ascontiguousarray(column.values[:, 0])
        second: Floats = np.ascontiguousarray(column.values[:, 1])

        def draw_beta(components: Codes, generator: np.random.Generator) -> Column:
            values: Floats = generator.beta(first[components], second[components])
            return domain.from_natural(values, generator)

        return draw_beta

    table = AliasTable.of(column.values)
    if domain.kind in ("binary", "category", "ordinal"):
        words = arrow.words(domain.labels, domain.size - 1 if domain.missing is Missing.CATEGORY else None)

        def draw_word(components: Codes, generator: np.random.Generator) -> Column:
            return words(table.draw(components, generator))

        return draw_word

    decode = domain.decoder(weights @ (column.values / column.values.sum(axis=1, keepdims=True)))

    def draw_number(components: Codes, generator: np.random.Generator) -> Column:
        return decode(table.draw(components, generator), generator)

    return draw_number
