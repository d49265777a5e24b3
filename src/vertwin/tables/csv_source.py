"""Tables in text files: comma, semicolon or tab between fields, names in the first line, UTF-8.

Every column is read as text, so that "007" stays what it is; its domain says what the text means. An empty field is a
missing value. A quoted field may hold line breaks. Reading is single-threaded, because only then are rows numbered.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, final

import pyarrow as pa
import pyarrow.csv as text

from vertwin.errors import UserError, user_error
from vertwin.tables.source import BrokenRows, Source

_BLOCK_BYTES: Final = 1 << 22  # a row is shorter than this
_QUOTE: Final = b'"'


@final
class CsvSource(Source):
    """A text file. Its separator is the one that its first line uses."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        self._separator = _separator(path)
        self._names = self._header()

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType | None]:
        return {name: pa.string() for name in columns}

    def batches(self, columns: Sequence[str], broken: BrokenRows | None = None) -> Iterator[pa.RecordBatch]:
        if broken is None:  # a check went before: what is wrong now was not so then
            yield from self._again(columns)
            return
        odd_quotes = self._look_through()
        good = 0
        for batch in self._stream(columns, broken):
            good += batch.num_rows
            yield batch
        if odd_quotes and good:
            self._check_last_row(broken, good)

    def _again(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        broken = BrokenRows()
        fault: UserError | None = None
        try:
            yield from self._stream(columns, broken)
        except UserError as error:
            fault = error
        if fault is not None and "E250" in fault.codes:
            raise fault
        if fault is not None or broken.numbers:
            raise user_error("E261", "it has broken rows that it did not have when it was checked", place=self.name)

    def _header(self) -> tuple[str, ...]:
        """The names, which are the first line that is not blank."""
        try:
            with self._path.open(encoding="utf-8-sig", newline="") as file:
                lines = csv.reader(file, delimiter=self._separator)
                names = next((tuple(line) for line in lines if line), None)
            if names is not None:
                return names
            fault = user_error("E257", "the file has no columns and no rows", place=self.name)
        except UnicodeDecodeError:
            fault = user_error("E253", "the first lines are not UTF-8", place=self.name)
        except csv.Error:
            fault = user_error("E254", "the first line is no list of names", place=self.name)
        except OSError as error:
            fault = self.unopened(_reason(error))
        raise fault

    def _look_through(self) -> bool:
        """One look at the bytes: raises where they are not UTF-8; gives whether the number of quotes is odd.

        pyarrow alone would not do: it ends without a row number, and a broken row that is not UTF-8 makes it print.
        """
        decoder = codecs.getincrementaldecoder("utf-8")()
        quotes, lines = 0, 0
        bad_line: int | None = None
        with self._path.open("rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                try:
                    decoder.decode(block)
                except UnicodeDecodeError as error:
                    bad_line = lines + error.object[: error.start].count(b"\n") + 1
                    break
                quotes += block.count(_QUOTE)
                lines += block.count(b"\n")
        if bad_line is not None:
            raise user_error("E253", f"line {bad_line} is not UTF-8", place=self.name)
        return quotes % 2 == 1

    def _open(self, columns: Sequence[str], broken: BrokenRows) -> text.CSVStreamingReader:
        def leave_out(row: text.InvalidRow) -> str:
            broken.add(row.number - 1)  # row 1 is the line of names
            return "skip"

        return text.open_csv(
            self._path,
            read_options=text.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=text.ParseOptions(
                delimiter=self._separator,
                newlines_in_values=True,
                invalid_row_handler=leave_out,
                ignore_empty_lines=len(self._names) != 1,  # in a table of one column a blank line is a missing value
            ),
            convert_options=text.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                include_columns=list(columns),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )

    def _stream(self, columns: Sequence[str], broken: BrokenRows) -> Iterator[pa.RecordBatch]:
        good = 0
        fault: UserError | None = None
        try:
            with self._open(columns, broken) as reader:
                for batch in reader:
                    good += batch.num_rows
                    yield batch
        except (pa.ArrowException, UnicodeDecodeError):
            after = f"after row {broken.number_of(good - 1)}" if good else "at the beginning"
            sentence = f"{after} the rows cannot be told apart"
            fault = user_error("E254", sentence, "Perhaps a quote is opened there and never closed.", self.name)
        except OSError as error:
            fault = self.unopened(_reason(error))
        if fault is not None:
            raise fault

    def _check_last_row(self, broken: BrokenRows, good: int) -> None:
        """A quote that is never closed swallows the rest of the file without a word from the reader.

        Then the number of quotes is odd, and the last row holds a line break. Both together in a sound file would
        need a stray quote inside a field *and* a last row with a quoted line break: it is refused too.
        """
        last: pa.RecordBatch | None = None
        for batch in self._stream(list(dict.fromkeys(self._names)), BrokenRows()):
            last = batch.slice(batch.num_rows - 1) if batch.num_rows else last
        fields = [column[0].as_py() for column in last.columns] if last is not None else []
        if any(field is not None and "\n" in field for field in fields):
            row = broken.number_of(good - 1)
            raise user_error("E254", f"a quote is opened in row {row} and never closed", place=self.name)


def _separator(path: Path) -> str:
    """Tab for .tsv; else the first of comma, semicolon, tab that stands in the first line."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    with path.open("rb") as file:
        first_line = file.readline(1 << 16)
    return next((mark for mark in (",", ";", "\t") if mark.encode() in first_line), ",")


def _reason(error: OSError) -> str:
    """What the system says is wrong; pyarrow's own OSErrors have no such text."""
    return error.strerror or "it cannot be read"
