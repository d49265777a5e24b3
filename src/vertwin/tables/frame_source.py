"""Data frames: whatever gives its columns through Arrow's stream interface, as pandas, polars and pyarrow do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

import pyarrow as pa

from vertwin.errors import UserError, user_error
from vertwin.tables.source import BrokenRows, Source, in_small_batches


@final
class FrameSource(Source):
    """A data frame in memory. It is not copied where its library shares its columns."""

    def __init__(self, frame: Any) -> None:
        self.name = "the data frame"
        if isinstance(frame, pa.RecordBatch):
            frame = pa.Table.from_batches([frame])
        if isinstance(frame, pa.RecordBatchReader):
            raise user_error("E251", "a RecordBatchReader can be read only once: pass the table itself")
        if not hasattr(frame, "__arrow_c_stream__"):
            raise user_error(
                "E251",
                f"an object of type {type(frame).__name__} is neither a path nor a data frame",
                "A data frame has the method __arrow_c_stream__: pandas 2.2 or later, polars (collected), pyarrow.",
            )
        self._frame: Any = frame
        self._is_pandas = hasattr(frame, "iloc")

    @property
    def names(self) -> tuple[str, ...]:
        if self._is_pandas:
            return tuple(str(name) for name in self._frame.columns)
        return tuple(pa.RecordBatchReader.from_stream(self._frame).schema.names)

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        """pandas learns the types of its columns by converting them, so each is converted by itself."""
        return {name: self._type(name) for name in columns}

    def _type(self, name: str) -> pa.DataType | None:
        try:
            reader = pa.RecordBatchReader.from_stream(self._narrowed([name]))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None
        return reader.schema.types[reader.schema.names.index(name)] if not self._is_pandas else reader.schema.types[0]

    def _narrowed(self, columns: Sequence[str]) -> Any:
        """Of a pandas frame only these columns, since it converts all that it has; others lend theirs for nothing."""
        if not self._is_pandas:
            return self._frame
        names = self.names
        return self._frame.iloc[:, [names.index(name) for name in columns]].reset_index(drop=True)

    def batches(self, columns: Sequence[str], broken: BrokenRows | None = None) -> Iterator[pa.RecordBatch]:
        fault: UserError | None = None
        try:
            reader = pa.RecordBatchReader.from_stream(self._narrowed(columns))
            places = [reader.schema.names.index(name) for name in columns]
            for batch in in_small_batches(reader):
                arrays = [batch.column(place) for place in places]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            fault = user_error("E201", "a column mixes kinds of values, so that it cannot be read", place=self.name)
        if fault is not None:
            raise fault
