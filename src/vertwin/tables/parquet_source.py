"""Tables in Parquet files, read batch by batch out of their row groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import final

import pyarrow as pa
import pyarrow.parquet as parquet

from vertwin.errors import UserError
from vertwin.tables.source import BATCH_ROWS, BrokenRows, Source


@final
class ParquetSource(Source):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        with self._open() as file:
            self._schema: pa.Schema = file.schema_arrow

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._schema.names)

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        return {name: self._schema.types[self._schema.names.index(name)] for name in columns}

    def batches(self, columns: Sequence[str], broken: BrokenRows | None = None) -> Iterator[pa.RecordBatch]:
        fault: UserError | None = None
        try:
            with self._open() as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=list(columns), use_threads=False):
                    yield batch.select(list(columns))
        except (pa.ArrowException, OSError):
            fault = self.unreadable("Parquet file: it is damaged")
        if fault is not None:
            raise fault

    def _open(self) -> parquet.ParquetFile:
        try:
            return parquet.ParquetFile(self._path, memory_map=False, pre_buffer=False)
        except FileNotFoundError:
            fault = self.unopened("it is not there any more")
        except (pa.ArrowException, OSError):
            fault = self.unreadable("Parquet file")
        raise fault
