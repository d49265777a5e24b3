"""From linked batches to codes, one batch in memory at a time; the arrays that they fill are allocated once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from vertwin.encoding.encoded_table import EncodedTable
from vertwin.errors import user_error

if TYPE_CHECKING:
    from vertwin.agreement import Agreement, Column

DENSITIES: Final = frozenset({"beta"})  # families that take natural values; all others take codes


class Linked(Protocol):
    """What encoding needs of a linked table."""

    @property
    def party(self) -> str: ...

    @property
    def rows(self) -> int: ...

    def batches(self) -> Iterator[Any]: ...


def encode(linked: Linked, agreement: Agreement) -> EncodedTable:
    """Encode the party's rows. The check has seen every cell before, so a fault here means that the table changed."""
    columns = agreement.columns_of(linked.party)
    codes = _empty_codes(linked.rows, columns)
    natural = {column.name: np.empty(linked.rows) for column in columns if column.family in DENSITIES}
    done = 0
    for batch in linked.batches():
        stop = done + batch.num_rows
        if stop > linked.rows:
            raise _changed(linked)
        for place, column in enumerate(columns):
            codes[done:stop, place] = _codes(linked, column, batch.column(column.name))
            if column.name in natural:
                natural[column.name][done:stop] = column.domain.natural(batch.column(column.name))
        done = stop
    if done < linked.rows:
        raise _changed(linked)
    for array in (codes, *natural.values()):
        array.setflags(write=False)
    return EncodedTable(linked.party, columns, linked.rows, codes, natural)


def _empty_codes(rows: int, columns: tuple[Column, ...]) -> NDArray[np.int16] | NDArray[np.int32]:
    """Two bytes a cell, four where a domain has more codes than that."""
    if max(column.domain.size for column in columns) <= np.iinfo(np.int16).max:
        return np.empty((rows, len(columns)), dtype=np.int16)
    return np.empty((rows, len(columns)), dtype=np.int32)


def _codes(linked: Linked, column: Column, values: Any) -> NDArray[np.int32]:
    encoded = column.domain.encode(values)
    if encoded.faulty:
        raise _changed(linked)
    return encoded.codes


def _changed(linked: Linked) -> Exception:
    return user_error("E261", "the table is not what it was when it was checked", place=linked.party)
