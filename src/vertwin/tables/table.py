"""A party's table after the check: private, streamed, blind in every representation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from vertwin.errors import user_error
from vertwin.tables.linkage_keys import key_texts
from vertwin.tables.source import Source

if TYPE_CHECKING:
    from vertwin.agreement import Column, Linkage


@dataclass(frozen=True, repr=False, eq=False)
class Table:
    """One party's columns, each row one person. Comes from `read`, which has checked every cell.

    Public: party, columns, linkage. Private: everything else, the number of rows included.
    """

    party: str
    columns: tuple[Column, ...]
    linkage: Linkage
    rows: int
    _source: Source = field(repr=False)

    def batches(self) -> Iterator[Any]:
        """Stream the party's columns again as Arrow record batches, in the agreement's order, without the keys."""
        return self._stream([column.name for column in self.columns])

    def keys(self) -> pa.Table | None:
        """The key columns as text, in memory, or None where the rows are aligned."""
        names = list(self.linkage.keys)
        if not names:
            return None
        arrays = [[key_texts(column) for column in batch.columns] for batch in self._stream(names)]
        columns = [pa.chunked_array([batch[place] for batch in arrays]) for place in range(len(names))]
        return pa.Table.from_arrays(columns, names=names)

    def _stream(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in self._source.batches(names):
            rows += batch.num_rows
            yield batch
        if rows != self.rows:
            raise user_error("E261", "the table has another number of rows than when it was checked", place=self.place)

    @property
    def place(self) -> str:
        """What errors call this table."""
        return self._source.name

    def __repr__(self) -> str:
        return f"Table({len(self.columns)} columns, rows hidden)"
