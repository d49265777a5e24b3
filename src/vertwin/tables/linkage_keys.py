"""Keys that name a person: read as text, and checked so that every person has one row.

To find two rows of one person, 16 bytes of a hash and the row's number are held for each row, never the keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
import pyarrow as pa

from vertwin.domains.arrow import Storage, chunks, composed, empty_as_null, nulls, numbers, storage, without_point
from vertwin.errors import Fault
from vertwin.tables.faulty_rows import ROWS_NAMED, FaultyRowTally
from vertwin.tables.source import BrokenRows

_HASH_BYTES: Final = 16


def accepts_key(column_type: pa.DataType) -> bool:
    """Keys are text, whole numbers or dates; a float is taken where it holds whole numbers only (pandas)."""
    return storage(column_type) in (Storage.TEXT, Storage.WHOLE, Storage.NUMBER) or pa.types.is_temporal(column_type)


def key_texts(column: pa.Array) -> pa.Array:
    """A key column as text: without spaces at its ends, composed, "17.0" as "17"; null where there is none."""
    (plain,) = chunks(column)
    if storage(plain.type) is Storage.NUMBER:
        read = numbers(plain)
        whole = np.isfinite(read.values) & (np.floor(read.values) == read.values) & (np.abs(read.values) < 2**53)
        plain = pa.array(np.where(whole, read.values, 0).astype(np.int64), mask=~whole)
    text = composed(plain if storage(plain.type) is Storage.TEXT else plain.cast(pa.string()))
    return without_point(empty_as_null(text)).cast(pa.string())


class PersonCheck:
    """Sees the keys of every row once; then knows which rows have none, and which persons have two rows."""

    def __init__(self, keys: Sequence[str], place: str) -> None:
        self._keys = tuple(keys)
        self._place = place
        self._hashes = bytearray()
        self._rows: list[np.ndarray] = []

    def add(self, batch: pa.RecordBatch, first_row: int, tally: FaultyRowTally) -> None:
        columns = [key_texts(batch.column(name)) for name in self._keys]
        there = np.ones(batch.num_rows, dtype=bool)
        for name, column in zip(self._keys, columns, strict=True):
            empty = nulls(column)
            rows = np.flatnonzero(empty) + first_row
            if len(rows):
                tally.add(f'{self._place}, column "{name}"', "E259", "no key", rows[:ROWS_NAMED].tolist(), len(rows))
            there &= ~empty
        self._rows.append(np.flatnonzero(there) + first_row)
        lists = [column.filter(pa.array(there)).to_pylist() for column in columns]
        for key in zip(*lists, strict=True):
            text = key[0] if len(key) == 1 else "".join(f"{len(part)}:{part}" for part in key)
            self._hashes += blake2b(text.encode(), digest_size=_HASH_BYTES).digest()

    def faults(self, broken: BrokenRows) -> list[Fault]:
        if not self._rows:
            return []
        rows = np.concatenate(self._rows)
        hashes = np.frombuffer(self._hashes, dtype=np.uint64).reshape(-1, 2)
        order = np.lexsort((rows, hashes[:, 1], hashes[:, 0]))
        same = (hashes[order[1:]] == hashes[order[:-1]]).all(axis=1)
        if not same.any():
            return []
        starts = np.maximum.accumulate(np.where(np.append(False, same), 0, np.arange(len(order))))
        repeats = np.flatnonzero(np.append(False, same))
        pairs = sorted((int(rows[order[i]]), int(rows[order[starts[i]]])) for i in repeats)
        shown = [f"row {broken.number_of(b)} repeats row {broken.number_of(a)}" for b, a in pairs[:ROWS_NAMED]]
        more = f", and {len(pairs) - len(shown)} more" if len(pairs) > len(shown) else ""
        names = " and ".join(f'"{name}"' for name in self._keys)
        return [Fault("E260", f"by {names}, {', '.join(shown)}{more}", place=self._place)]
