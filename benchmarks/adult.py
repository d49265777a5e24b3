"""The Adult (Census Income) data for benchmarks: found, checked by a digest, never kept in the project.

    python benchmarks/adult.py --from FOLDER

fills the git-ignored folder data/adult from UCI's own `adult.data` and `adult.test` (https://archive.ics.uci.edu,
data set "Adult"; Becker and Kohavi, 1996; licence CC BY 4.0). `load()` looks in $VERTWIN_ADULT first, then there.

UCI's files have stray spaces, `?` for a missing value, a full stop after each label of the second file and a line to
skip at its head. Ours have none of that: train.csv and test.csv with a header, an empty field for a missing value.
The digest is taken over the decoded rows, so it is the same whatever the files looked like.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

VARIABLE: Final = "VERTWIN_ADULT"
FILLED: Final = Path(__file__).resolve().parent.parent / "data" / "adult"
COLUMNS: Final = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
    "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
)  # fmt: skip
NUMBERS: Final = frozenset({"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"})
FILES: Final = {"train.csv": "adult.data", "test.csv": "adult.test"}
COMPLETE_ROWS: Final = {"train.csv": 30_162, "test.csv": 15_060}
DIGESTS: Final = {
    "train.csv": "0ef8cfca09bdaa8a351082e5be92208f2743869d8506c935836fc7959466dff7",
    "test.csv": "f794d040f1f0ec06ebf2f8bf3b18ab32e791642587a4135634af51bd3086e7ea",
}

Row = tuple[str, ...]


class AdultNotFound(Exception):
    """Neither place has the data; the message says how to get them. A test that wants them skips with it."""


class AdultDamaged(Exception):
    """The files are there and are not the Adult data, whole and unchanged."""


@dataclass(frozen=True)
class Adult:
    """The rows without a missing value: what the paper's experiments, and ours, are run on."""

    train: pa.Table
    test: pa.Table


def load() -> Adult:
    """The complete rows of both files, once their digests are right."""
    where = folder()
    tables = {name: _complete(read_rows(where / name), name) for name in FILES}
    return Adult(train=tables["train.csv"], test=tables["test.csv"])


def folder() -> Path:
    """The folder with train.csv and test.csv."""
    named = os.environ.get(VARIABLE)
    places = ([Path(named)] if named else []) + [FILLED]
    for place in places:
        if all((place / name).is_file() for name in FILES):
            return place
    looked = f"the folder that ${VARIABLE} names, {named}" if named else f"${VARIABLE}, which is not set"
    raise AdultNotFound(
        f"the Adult data are not here: looked in {looked}, and in {FILLED}. Get adult.data and adult.test from UCI "
        "(https://archive.ics.uci.edu, data set Adult) and run: make adult FROM=<folder with these files>"
    )


def read_rows(path: Path) -> list[Row]:
    """One of our files, decoded and checked."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        if tuple(next(reader, ())) != COLUMNS:
            raise AdultDamaged(f"{path} does not begin with the names of Adult's columns")
        rows = [tuple(row) for row in reader]
    _check(rows, path.name, path)
    return rows


def read_uci(path: Path, name: str) -> list[Row]:
    """One of UCI's files, decoded into rows as ours have them. `name` is what ours is called."""
    rows: list[Row] = []
    with path.open(encoding="utf-8", newline="") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip() or line.startswith("|"):
                continue
            fields = [field.strip() for field in line.split(",")]
            if len(fields) != len(COLUMNS):
                raise AdultDamaged(f"{path}, line {number}: {len(fields)} fields where Adult has {len(COLUMNS)}")
            fields[-1] = fields[-1].removesuffix(".")
            rows.append(tuple("" if field == "?" else field for field in fields))
    _check(rows, name, path)
    return rows


def digest(rows: Iterable[Row]) -> str:
    """SHA-256 over the rows, in order, each field and each row closed by a byte that no field holds."""
    total = hashlib.sha256()
    for row in rows:
        total.update("".join(f"{field}\x1f" for field in row).encode() + b"\x1e")
    return total.hexdigest()


def fill(uci: Path, into: Path = FILLED) -> None:
    """Write our two files from UCI's, both or neither."""
    missing = [name for name in FILES.values() if not (uci / name).is_file()]
    if missing:
        raise AdultNotFound(f"{uci} has no {' and no '.join(missing)}; UCI's archive of the data set Adult has both")
    decoded = {ours: read_uci(uci / theirs, ours) for ours, theirs in FILES.items()}
    into.mkdir(parents=True, exist_ok=True)
    for name, rows in decoded.items():
        partial = into / f"{name}.partial"
        with partial.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
        partial.replace(into / name)


def _check(rows: Sequence[Row], name: str, path: Path) -> None:
    found = digest(rows)
    if found != DIGESTS[name]:
        raise AdultDamaged(
            f"{path} is not Adult's {FILES[name]}, whole and unchanged: its {len(rows):,} rows have the digest "
            f"{found[:16]}..., not {DIGESTS[name][:16]}..."
        )


def _complete(rows: Sequence[Row], name: str) -> pa.Table:
    complete = [row for row in rows if "" not in row]
    if len(complete) != COMPLETE_ROWS[name]:
        raise AdultDamaged(f"{name} has {len(complete):,} rows without a missing value, not {COMPLETE_ROWS[name]:,}")
    fields = zip(*complete, strict=True)
    return pa.table(
        {
            column: pa.array([int(value) for value in values]) if column in NUMBERS else pa.array(values)
            for column, values in zip(COLUMNS, fields, strict=True)
        }
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fill data/adult from UCI's adult.data and adult.test.")
    parser.add_argument("--from", dest="uci", type=Path, required=True, help="folder with adult.data and adult.test")
    parser.add_argument("--into", type=Path, default=FILLED, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    try:
        fill(chosen.uci, chosen.into)
    except (AdultNotFound, AdultDamaged, OSError, UnicodeDecodeError) as error:
        print(f"make adult: {error}", file=sys.stderr)
        return 2
    print(f"{chosen.into}: train.csv and test.csv, digests right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
