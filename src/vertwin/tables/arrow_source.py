"""Tables in Arrow's own files: the file format (.arrow, .feather) and the stream format (.arrows)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import final

import pyarrow as pa

from vertwin.errors import UserError
from vertwin.tables.source import BrokenRows, Source, in_small_batches


@final
class ArrowSource(Source):
    """An Arrow IPC file or stream, whichever its first bytes say. Mapped into memory, not loaded."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        with path.open("rb") as file:
            self._is_file = file.read(6) == b"ARROW1"
        with self._open(None) as reader:
            self._schema: pa.Schema = reader.schema

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._schema.names)

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        return {name: self._schema.types[self._schema.names.index(name)] for name in columns}

    def batches(self, columns: Sequence[str], broken: BrokenRows | None = None) -> Iterator[pa.RecordBatch]:
        wanted = [self._schema.names.index(name) for name in columns]
        fault: UserError | None = None
        try:
            with self._open(wanted) as reader:
                for batch in in_small_batches(self._batches_of(reader)):
                    batch.validate(full=True)  # the bytes are not ours: an offset outside would crash later
                    yield batch.select(list(columns))
        except (pa.ArrowException, OSError):
            fault = self.unreadable("Arrow file: it is damaged")
        if fault is not None:
            raise fault

    def _batches_of(self, reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
        if self._is_file:
            return (reader.get_batch(number) for number in range(reader.num_record_batches))
        return iter(reader)

    @contextmanager
    def _open(self, fields: list[int] | None) -> Iterator[pa.RecordBatchFileReader | pa.RecordBatchStreamReader]:
        fault: UserError | None = None
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        try:
            with pa.memory_map(str(self._path)) as file:
                open_ipc = pa.ipc.open_file if self._is_file else pa.ipc.open_stream
                with open_ipc(file, options=options) as reader:
                    yield reader
        except FileNotFoundError:
            fault = self.unopened("it is not there any more")
        except (pa.ArrowException, OSError):
            fault = self.unreadable("Arrow file")
        if fault is not None:
            raise fault
