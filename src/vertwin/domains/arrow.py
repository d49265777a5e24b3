# pyright: basic
"""The edge to Arrow: columns of any storage type come in as NumPy arrays or plain text, and go out again.

pyarrow has no type information, so everything that touches it in this folder stands here, behind typed functions.
No function lets pyarrow's own messages out: they quote the values that they stumble over.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

Column: TypeAlias = Any  # pa.Array or pa.ChunkedArray
ColumnType: TypeAlias = Any  # pa.DataType
Flags: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.int64]

pc: Any = pyarrow.compute  # its functions are made at import: a type checker cannot see them

_NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$|^(?i:[+-]?(?:nan|inf|infinity))$"
_WHOLE_WITH_POINT = r"^([+-]?\d+)\.0*$"


class Storage(Enum):
    """How a column is stored, as far as a domain cares."""

    WHOLE = "whole numbers"
    NUMBER = "numbers"
    TEXT = "text"
    BOOLEAN = "booleans"
    NOTHING = "nothing but missing values"
    OTHER = "other"


def storage(column_type: ColumnType) -> Storage:
    """The storage of a column of this Arrow type; of a dictionary, that of its values."""
    kind = column_type.value_type if pa.types.is_dictionary(column_type) else column_type
    if pa.types.is_integer(kind):
        return Storage.WHOLE
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Storage.NUMBER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return Storage.TEXT
    if pa.types.is_boolean(kind):
        return Storage.BOOLEAN
    if pa.types.is_null(kind):
        return Storage.NOTHING
    return Storage.OTHER


def type_of(column: Column) -> ColumnType:
    return column.type


def rows_of(column: Column) -> int:
    return len(column)


def chunks(column: Column) -> list[Column]:
    """The column as plain arrays: dictionaries looked up, every kind of text as one kind."""
    parts = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [_plain(part) for part in parts]


def _plain(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        return _plain(array.dictionary).take(array.indices)
    if pa.types.is_string_view(array.type):
        return pc.cast(array, pa.large_string())
    return array


def nulls(array: Column) -> Flags:
    if array.null_count == 0:
        return np.zeros(len(array), dtype=bool)
    return pc.is_null(array).to_numpy(zero_copy_only=False)


@dataclass(frozen=True, repr=False, eq=False)
class Numbers:
    """A column read as numbers: NaN where missing or unreadable, which the two masks tell apart."""

    values: Floats
    missing: Flags
    unreadable: Flags


def numbers(array: Column) -> Numbers:
    """Read whole numbers, floats, decimals, booleans or text; NaN and empty text are missing."""
    unreadable = np.zeros(len(array), dtype=bool)
    if storage(array.type) is Storage.TEXT:
        array, unreadable = _numbers_in_text(array)
    values = _floats(array)
    return Numbers(values, np.isnan(values) & ~unreadable, unreadable)


def _floats(array: pa.Array) -> Floats:
    """Null becomes NaN. A whole number beyond 2^53 is rounded: no domain's bounds reach that far."""
    return pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _numbers_in_text(array: pa.Array) -> tuple[pa.Array, Flags]:
    clean = _cast_or_none(array)
    if clean is not None:
        return clean, np.zeros(len(array), dtype=bool)
    trimmed = empty_as_null(pc.utf8_trim_whitespace(array))
    readable = pc.fill_null(pc.match_substring_regex(trimmed, _NUMBER), True)
    values = pc.cast(pc.if_else(readable, trimmed, pa.scalar(None, trimmed.type)), pa.float64())
    return values, ~readable.to_numpy(zero_copy_only=False)


def _cast_or_none(array: pa.Array) -> pa.Array | None:
    """Clean columns are the common case, and three times faster than looking at every text first."""
    try:
        return pc.cast(array, pa.float64())
    except pa.ArrowInvalid:
        return None


def texts(array: Column) -> Column:
    """Whole numbers and booleans as the text that a code book would write; text as it is."""
    return array if storage(array.type) is Storage.TEXT else pc.cast(array, pa.string())


def find_texts(array: Column, wanted: Sequence[str]) -> Positions:
    """For each text its place among the wanted ones, or -1."""
    found = pc.index_in(array, value_set=pa.array(wanted, type=array.type))
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def find_floats(values: Floats, wanted: Sequence[float]) -> Positions:
    found = pc.index_in(pa.array(values), value_set=pa.array(wanted, type=pa.float64()))
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def pick(array: Column, rows: Positions) -> Column:
    return array.take(pa.array(rows))


def composed(array: Column) -> Column:
    """Without spaces at the ends, and in Unicode's composed form: two spellings of a letter that look alike are one.

    pyarrow's own utf8_normalize does not compose (in 25.0: form "NFC" gives what "NFD" gives), so this is Python's.
    """
    trimmed = pc.utf8_trim_whitespace(array)
    if pc.all(pc.string_is_ascii(trimmed), min_count=0).as_py():
        return trimmed
    spelled = [None if text is None else unicodedata.normalize("NFC", text) for text in trimmed.to_pylist()]
    return pa.array(spelled, type=trimmed.type)


def empty(array: Column) -> Flags:
    return pc.equal(array, "").to_numpy(zero_copy_only=False)


def empty_as_null(array: Column) -> Column:
    return pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array)


def without_point(array: Column) -> Column:
    """ "3.0" as "3": what a program writes for whole numbers once one of them is missing."""
    return pc.replace_substring_regex(array, _WHOLE_WITH_POINT, r"\1")


def lower(array: Column) -> Column:
    return pc.utf8_lower(array)


def column_of_numbers(values: NDArray[np.float64] | NDArray[np.int64], missing: Flags) -> Column:
    return pa.array(values, mask=missing) if missing.any() else pa.array(values)


def column_of_texts(labels: Sequence[str], codes: NDArray[np.integer[Any]], missing: Flags) -> Column:
    places = pa.array(codes, mask=missing) if missing.any() else pa.array(codes)
    return pa.array(labels, type=pa.string()).take(places)
