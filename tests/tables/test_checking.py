"""The check of a table: every fault of every column at once, by column and row, and never a cell."""

from __future__ import annotations

import dataclasses
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables.standing_in import ALIGNED, COLUMNS, EXACT, HEADER, ROWS, Agreement, Column, Linkage

from vertwin.domains import Category, Count, EqualWidth
from vertwin.errors import CODES, UserError
from vertwin.tables import Table, read


def written(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text(header + "".join(row + "\n" for row in rows), encoding="utf-8")
    return path


def faults_of(source: Any, agreement: Any = ALIGNED, party: str = "clinic") -> list[tuple[str, str, str]]:
    """(code, place, sentence) of each fault; and nothing private in the error or in anything that it hangs on to."""
    with pytest.raises(UserError) as caught:
        read(source, agreement, party)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None, "the library's own error would be shown by a logger"
    text = "".join(traceback.format_exception(caught.value))
    assert "s3cr3t" not in text and "4711" not in text
    assert all(fault.code in CODES for fault in caught.value.faults)
    return [(fault.code, fault.place, fault.sentence) for fault in caught.value.faults]


def test_a_sound_table(tmp_path: Path) -> None:
    table = read(written(tmp_path / "t.csv", *ROWS), EXACT, "clinic")
    assert (table.party, table.rows, table.columns) == ("clinic", 4, COLUMNS)
    assert repr(table) == str(table) == "Table(4 columns, rows hidden)"
    (batch,) = table.batches()
    assert batch.schema.names == ["age", "smokes", "ward", "bmi"]
    assert batch.column("ward").to_pylist() == ["A", "007", "B", None]
    keys = table.keys()
    assert keys is not None and keys.to_pydict() == {"person_id": ["p1", "p2", "p3", "p4"]}
    assert read(tmp_path / "t.csv", ALIGNED, "clinic").keys() is None


def test_every_fault_at_once(tmp_path: Path) -> None:
    path = written(
        tmp_path / "t.csv",
        "p1,30,no,A,22.5",
        "p2,4711,s3cr3t,A,x4711",
        ",30.5,no,s3cr3t,",
        "p1,,no,A,inf",
        "p2,30,maybe,A,22.5",
    )
    missing = 'missing, where the agreement says missing = "refuse": '
    assert sorted(faults_of(path, dataclasses.replace(EXACT, rows_at_most=4))) == [
        ("E202", 't.csv, column "bmi"', "not a number: row 2"),
        ("E203", 't.csv, column "age"', "outside the declared 0 to 120: row 2"),
        ("E204", 't.csv, column "smokes"', "none of the 2 declared values: rows 2 and 5"),
        ("E204", 't.csv, column "ward"', "none of the 3 declared values: row 3"),
        ("E205", 't.csv, column "age"', missing + "row 4"),
        ("E205", 't.csv, column "bmi"', missing + "row 3"),
        ("E206", 't.csv, column "age"', "not a whole number: row 3"),
        ("E207", 't.csv, column "bmi"', "an infinite number: row 4"),
        ("E258", "t.csv", "the table has more than the 4 rows that were agreed"),
        ("E259", 't.csv, column "person_id"', "no key: row 3"),
        ("E260", "t.csv", 'by "person_id", row 4 repeats row 1, row 5 repeats row 2'),
    ]


def test_at_most_twenty_rows_are_named_and_all_are_counted() -> None:
    frame = pa.table({"age": np.where(np.arange(200_000) % 2, 4711, 30)})
    agreement = Agreement(COLUMNS[:1])
    ((_, _, sentence),) = faults_of(frame, agreement)
    named = ", ".join(str(row) for row in range(2, 42, 2))
    assert sentence == f"outside the declared 0 to 120: rows {named} and 99980 more"


def test_columns_that_are_not_there_or_there_twice(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "1,1,no,4711", header="age,age,Smokes ,s3cr3t\n")
    assert faults_of(path) == [
        ("E255", 't.csv, column "age"', "2 columns of the table have this name"),
        ("E256", 't.csv, column "smokes"', "the agreement names this column, and the table does not have it"),
        ("E256", 't.csv, column "ward"', "the agreement names this column, and the table does not have it"),
        ("E256", 't.csv, column "bmi"', "the agreement names this column, and the table does not have it"),
    ]
    with pytest.raises(UserError) as caught:
        read(path, ALIGNED, "clinic")
    assert "capital letters or spaces" in caught.value.faults[1].hint


def test_missing_columns_and_faulty_rows_of_others_come_together(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "4711,no", header="age,smokes\n")
    assert [code for code, _, _ in faults_of(path)] == ["E256", "E256", "E203"]


def test_wrong_storage_types() -> None:
    frame = pa.table(
        {"age": pa.array([[30]]), "smokes": pa.array([True]), "ward": pa.array([b"A"]), "bmi": pa.array([True])}
    )
    lists = frame["age"].type
    assert faults_of(frame) == [
        ("E201", 'the data frame, column "age"', f"stored as {lists}, and a count cannot be read from that"),
        ("E201", 'the data frame, column "ward"', "stored as binary, and a category cannot be read from that"),
        ("E201", 'the data frame, column "bmi"', "stored as bool, and a real cannot be read from that"),
    ]


def test_a_pandas_column_of_mixed_kinds_is_named() -> None:
    frame = pd.DataFrame({"age": [30, 4711], "smokes": ["no", "yes"], "ward": ["A", 4711], "bmi": ["s3cr3t", 22.0]})
    codes = [(code, place) for code, place, _ in faults_of(frame)]
    assert codes == [
        ("E201", 'the data frame, column "ward"'),
        ("E201", 'the data frame, column "bmi"'),
        ("E203", 'the data frame, column "age"'),
    ]


def test_empty_tables(tmp_path: Path) -> None:
    assert faults_of(written(tmp_path / "t.csv")) == [("E257", "t.csv", "the table has no rows")]
    assert [code for code, _, _ in faults_of(written(tmp_path / "e.csv", header=""))] == ["E257"]
    assert [code for code, _, _ in faults_of(written(tmp_path / "n.csv", header="\n"))] == ["E257"]
    frame = pd.DataFrame({"age": [], "smokes": [], "ward": [], "bmi": []})
    assert [code for code, _, _ in faults_of(frame)] == ["E257"]
    pq.write_table(pa.table({"age": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    assert [code for code, _, _ in faults_of(tmp_path / "t.parquet", Agreement(COLUMNS[:1]))] == ["E257"]


def test_more_rows_than_agreed(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", *ROWS)
    assert read(path, dataclasses.replace(ALIGNED, rows_at_most=4), "clinic").rows == 4
    ((code, _, sentence),) = faults_of(path, dataclasses.replace(ALIGNED, rows_at_most=3))
    assert (code, sentence) == ("E258", "the table has more than the 3 rows that were agreed")


def test_broken_rows_are_counted_and_shift_no_other_number(tmp_path: Path) -> None:
    rows = [*ROWS, "p5,1,s3cr3t", "p6,30,no,A,22.5", "p7,1,no,A,22.5,4711", "", "p8,4711,no,A,22.5", "p1,3,no,A,20"]
    assert faults_of(written(tmp_path / "t.csv", *rows), EXACT) == [
        ("E254", "t.csv", "another number of fields than the first line has: rows 5 and 7"),
        ("E203", 't.csv, column "age"', "outside the declared 0 to 120: row 8"),
        ("E260", "t.csv", 'by "person_id", row 9 repeats row 1'),
    ]


def test_a_changed_table_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", *ROWS)
    table = read(path, ALIGNED, "clinic")
    written(path, *ROWS[:2])
    with pytest.raises(UserError) as caught:
        list(table.batches())
    assert caught.value.codes == ("E261",)
    written(path, *ROWS[:2], "s3cr3t", *ROWS[2:])
    with pytest.raises(UserError) as caught:
        list(table.batches())
    assert caught.value.codes == ("E261",)
    path.unlink()
    with pytest.raises(UserError) as caught:
        list(table.batches())
    assert caught.value.codes == ("E250",)


def test_only_the_partys_own_columns_are_asked_for(tmp_path: Path) -> None:
    agreement = Agreement((*COLUMNS, Column("claims", Count((0, 9), EqualWidth(2)), party="insurer")))
    assert read(written(tmp_path / "t.csv", *ROWS), agreement, "clinic").rows == 4


def test_a_column_may_be_key_and_column() -> None:
    agreement = Agreement((Column("ward", Category(("A", "B"))),), Linkage("exact", ("ward",)))
    assert isinstance(read(pa.table({"ward": ["A", "B"]}), agreement, "clinic"), Table)
    assert [code for code, _, _ in faults_of(pa.table({"ward": ["A", "A"]}), agreement)] == ["E260"]


def test_a_large_table_streams_in_bounded_memory(tmp_path: Path) -> None:
    """40 MB of text; the check may hold a few batches of it, not all."""
    rows = 1_000_000
    path = tmp_path / "t.csv"
    with path.open("w") as file:
        file.write("age,note\n")
        file.writelines(["30,%s\n" % ("x" * 40)] * rows)
    pool = pa.default_memory_pool()
    before = pool.max_memory()
    table = read(path, Agreement(COLUMNS[:1]), "clinic")
    assert table.rows == rows
    assert max(pool.max_memory() - before, 0) < 64 * 2**20
