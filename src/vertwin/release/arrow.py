# pyright: basic
"""The edge to Arrow: synthetic columns go out as Arrow arrays, and as Parquet or CSV.

pyarrow has no type information, so everything in this folder that touches it stands here, behind typed functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
from numpy.typing import NDArray

Column: TypeAlias = Any  # pa.Array
Batch: TypeAlias = Any  # pa.RecordBatch
Table: TypeAlias = Any  # pa.Table
Schema: TypeAlias = Any  # pa.Schema

_ROW_GROUP: Final = 1 << 18


def words(labels: Sequence[str], missing: int | None) -> Callable[[NDArray[np.int32]], Column]:
    """Codes -> an Arrow dictionary: codes are its indices, so nothing is looked up. `missing` is the code of null."""
    dictionary = pa.array([label for code, label in enumerate(labels) if code != missing], pa.string())
    if missing is None:
        return lambda codes: pa.DictionaryArray.from_arrays(pa.array(codes), dictionary)
    return lambda codes: pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes == missing), dictionary)


def schema(columns: Mapping[str, Column], metadata: Mapping[str, str]) -> Schema:
    """The schema of these columns."""
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    return pa.schema(fields, metadata={key: text.encode() for key, text in metadata.items()})


def batch(columns: Iterable[Column], of: Schema) -> Batch:
    return pa.record_batch(list(columns), schema=of)


def table(batches: Iterable[Batch], of: Schema) -> Table:
    return pa.Table.from_batches(batches, schema=of)


def bytes_per_row(probe: Batch) -> float:
    return probe.nbytes / probe.num_rows


def cells(
    names: Sequence[str], labels: Sequence[Sequence[str]], counts: NDArray[np.float64], deviation: float | None
) -> Table:
    """A table of counts as rows: one for each cell, with its labels."""
    places = np.meshgrid(*(np.arange(len(axis)) for axis in labels), indexing="ij")
    columns = [pa.array(axis).take(pa.array(place.ravel())) for axis, place in zip(labels, places, strict=True)]
    columns += [pa.array(counts.ravel()), pa.array([deviation] * counts.size, pa.float64())]
    return pa.Table.from_arrays(columns, names=[*names, "count", "sd"])


def rebatch(batches: Iterable[Batch], rows: int) -> Iterator[Batch]:
    """The same rows in batches of this length, the last one shorter."""
    waiting: list[pa.RecordBatch] = []
    have = 0
    for block in batches:
        waiting.append(block)
        have += block.num_rows
        while have >= rows:
            whole = pa.Table.from_batches(waiting).combine_chunks()
            yield from whole.slice(0, rows).to_batches()
            rest = whole.slice(rows)
            waiting, have = rest.to_batches(), rest.num_rows
    if have:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def write_parquet(path: Path, of: Schema, batches: Iterable[Batch]) -> None:
    """Dictionaries where values repeat; reals would only cost a search for repeats that are not there."""
    repeating: Any = [field.name for field in of if not pa.types.is_floating(field.type)]
    with parquet.ParquetWriter(path, of, use_dictionary=repeating, compression="snappy") as writer:
        for block in rebatch(batches, _ROW_GROUP):
            writer.write_batch(block)


def write_csv(path: Path, of: Schema, batches: Iterable[Batch]) -> None:
    """With a header; texts in quotes, a missing value is an empty field."""
    plain = pa.schema([pa.field(field.name, _plain(field.type)) for field in of])
    with csv.CSVWriter(path, plain) as writer:
        for block in batches:
            writer.write_table(pa.Table.from_batches([block]).cast(plain))


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
