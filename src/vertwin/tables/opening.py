"""From what the owner gives, a path or a data frame, to a source; no row is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from vertwin.errors import UserError, user_error
from vertwin.tables.arrow_source import ArrowSource
from vertwin.tables.csv_source import CsvSource
from vertwin.tables.frame_source import FrameSource
from vertwin.tables.parquet_source import ParquetSource
from vertwin.tables.source import Source

_BY_ENDING: Final[dict[str, Callable[[Path], Source]]] = {
    ".csv": CsvSource,
    ".tsv": CsvSource,
    ".parquet": ParquetSource,
    ".arrow": ArrowSource,
    ".arrows": ArrowSource,
    ".feather": ArrowSource,
    ".ipc": ArrowSource,
}
_BY_FIRST_BYTES: Final = (
    (b"PAR1", "Parquet file"),
    (b"ARROW1", "Arrow file"),
    (b"FEA1", "Feather file of the first version"),
    (b"PK\x03\x04", "zip archive or spreadsheet"),
    (b"\xd0\xcf\x11\xe0", "old spreadsheet"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x28\xb5\x2f\xfd", "zstandard archive"),
    (b"SQLite format 3", "SQLite database"),
)


def open_source(path_or_frame: Any) -> Source:
    """A source of rows. Raises a coded error if there is no such file, or if it is not what its name says."""
    if isinstance(path_or_frame, Source):
        return path_or_frame
    if not isinstance(path_or_frame, str | os.PathLike):
        return FrameSource(path_or_frame)
    path = Path(path_or_frame)
    opened = _BY_ENDING.get(path.suffix.lower())
    first_bytes = _first_bytes(path)
    if opened is None:
        ending = f'the ending "{path.suffix}" is' if path.suffix else "a file without an ending is"
        raise user_error("E251", f"{ending} not one of {', '.join(_BY_ENDING)}", place=path.name)
    looks_like = next((kind for start, kind in _BY_FIRST_BYTES if first_bytes.startswith(start)), None)
    if opened is CsvSource and (looks_like is not None or b"\0" in first_bytes):
        if first_bytes[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise user_error("E253", "this is text in UTF-16", place=path.name)
        raise user_error("E252", f"this is a {looks_like or 'binary file'}, not a table in text", place=path.name)
    return opened(path)


def storage_types(source: Source) -> tuple[tuple[str, str], ...]:
    """Name and storage type of each column, for `vertwin init`: of a text file "string", for no value is looked at.

    A first line that holds a number is a row, not a line of names: it is refused rather than shown.
    """
    if isinstance(source, CsvSource) and any(_is_number(name) for name in source.names):
        raise user_error("E262", "the first line holds a number where a column's name should be", place=source.name)
    return source.storage_types


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _first_bytes(path: Path) -> bytes:
    fault: UserError
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except FileNotFoundError:
        fault = user_error("E250", "there is no such file", place=str(path))
    except IsADirectoryError:
        fault = user_error("E250", "this is a directory, not a file", place=str(path))
    except OSError as error:
        fault = user_error("E250", f"the file cannot be opened: {error.strerror}", place=str(path))
    raise fault
