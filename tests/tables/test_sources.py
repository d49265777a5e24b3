"""The same table from every kind of file and frame, and files and objects that are not what they seem."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from tables.standing_in import ALIGNED, EXACT, HEADER, ROWS, Agreement

from vertwin.errors import UserError
from vertwin.tables import BATCH_ROWS, open_source, read, storage_types

WORDS = {
    "person_id": ["p1", "p2", "p3", "p4"],
    "age": [30, 71, 5, 44],
    "smokes": [False, True, None, True],
    "ward": ["A", "007", "B", None],
    "bmi": [22.5, 31.0, 15.0, 28.1],
}
ARROW = pa.table(WORDS)


def as_file(path: Path, table: pa.Table, rows: int = 3) -> Path:
    """Written in groups of so many rows."""
    match path.suffix:
        case ".parquet":
            pq.write_table(table, path, row_group_size=rows)
        case ".arrows":
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=rows)
        case ".arrow":
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=rows)
        case ".feather":
            feather.write_feather(table, str(path), compression="lz4")
        case _:
            path.write_text(HEADER + "\n".join(ROWS) + "\n")
    return path


FRAMES = {
    "arrow": lambda: ARROW,
    "batch": lambda: ARROW.to_batches()[0],
    "pandas": lambda: ARROW.to_pandas(),
    "pandas, indexed": lambda: ARROW.to_pandas().set_index(np.array([9, 9, 7, 8])),
    "pandas, categorical": lambda: ARROW.to_pandas().astype({"ward": "category", "smokes": "boolean", "age": "Int8"}),
    "pandas, arrow": lambda: ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.from_arrow(ARROW),
    "polars, categorical": lambda: pl.DataFrame(WORDS).with_columns(pl.col("ward").cast(pl.Categorical)),
}


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".arrows", ".feather"])
def test_files(tmp_path: Path, ending: str) -> None:
    path = as_file(tmp_path / f"t{ending}", ARROW)
    same_codes(path)
    same_codes(str(path))


@pytest.mark.parametrize("frame", FRAMES)
def test_frames(frame: str) -> None:
    same_codes(FRAMES[frame]())


def same_codes(source: Any) -> None:
    table = read(source, EXACT, "clinic")
    assert table.rows == 4
    codes: dict[str, list[int]] = {column.name: [] for column in table.columns}
    for batch in table.batches():
        for column in table.columns:
            codes[column.name] += column.domain.encode(batch.column(column.name)).codes.tolist()
    assert codes == {"age": [1, 3, 0, 2], "smokes": [0, 1, -1, 1], "ward": [0, 2, 1, 3], "bmi": [1, 2, 0, 1]}
    keys = table.keys()
    assert keys is not None and keys["person_id"].to_pylist() == WORDS["person_id"]


def test_reprs_are_blind(tmp_path: Path) -> None:
    for source in (open_source(as_file(tmp_path / "t.csv", ARROW)), open_source(ARROW)):
        assert "p1" not in repr(source) and "007" not in repr(source) and "rows hidden" in repr(source)


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows", ".feather"])
def test_large_tables_come_in_small_batches(tmp_path: Path, ending: str) -> None:
    rows = BATCH_ROWS * 2 + 5
    table = pa.table({"a": np.arange(rows), "b": np.zeros(rows)})
    for source in (open_source(as_file(tmp_path / f"t{ending}", table, 100_000)), open_source(table)):
        batches = list(source.batches(["a"]))
        assert max(batch.num_rows for batch in batches) <= BATCH_ROWS
        assert np.array_equal(np.concatenate([batch.column("a").to_numpy() for batch in batches]), np.arange(rows))
        assert all(batch.schema.names == ["a"] for batch in batches)


def refused(source: Any) -> str:
    with pytest.raises(UserError) as caught:
        read(source, ALIGNED, "clinic")
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, UserError)
    (code,) = caught.value.codes
    return code


@pytest.mark.parametrize("written", [".csv", ".parquet", ".arrow", ".feather"])
@pytest.mark.parametrize("named", [".csv", ".parquet", ".arrow"])
def test_a_file_that_is_not_what_its_name_says(tmp_path: Path, written: str, named: str) -> None:
    path = as_file(tmp_path / f"t{written}", ARROW)
    other = path.rename(tmp_path / f"other{named}")
    if {written, named} <= {".arrow", ".feather"} or written == named:
        assert read(other, ALIGNED, "clinic").rows == 4
    else:
        assert refused(other) == "E252"


@pytest.mark.parametrize("content", [b"PK\x03\x04 a spreadsheet", b"\x1f\x8b", b"a,b\n\0,\0\n", b"SQLite format 3\0"])
def test_a_text_file_that_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    assert refused(tmp_path / "t.csv") == "E252"


def test_text_in_utf_16(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,ward\n1,A\n", encoding="utf-16")
    assert refused(tmp_path / "t.csv") == "E253"


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows", ".feather"])
def test_damaged_files(tmp_path: Path, ending: str) -> None:
    path = as_file(tmp_path / f"t{ending}", pa.table({name: values * 500 for name, values in WORDS.items()}))
    sound = path.read_bytes()
    path.unlink()
    assert refused(path) == "E250"
    path.write_bytes(b"")
    assert refused(path) == "E252"
    path.write_bytes(sound[: len(sound) // 2])
    assert refused(path) == "E252"
    if ending == ".parquet":
        path.write_bytes(sound[:4] + bytes(len(sound) // 2) + sound[4 + len(sound) // 2 :])
        assert refused(path) == "E252"


def test_paths_that_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(tmp_path / "no.csv") == "E250"
    (tmp_path / "dir.csv").mkdir()
    assert refused(tmp_path / "dir.csv") == "E250"
    path = as_file(tmp_path / "t.csv", ARROW)

    def deny(self: Path, *_: Any, **__: Any) -> None:
        raise builtins.PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", deny)
    assert refused(path) == "E250"


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.sav"])
def test_unknown_endings(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    assert refused(tmp_path / name) == "E251"


def test_objects_that_are_no_tables() -> None:
    for thing in (3, {"age": [1]}, None, pl.DataFrame(WORDS).lazy(), ARROW.to_reader()):
        assert refused(thing) == "E251"


def test_storage_types_for_one_who_writes_an_agreement(tmp_path: Path) -> None:
    assert storage_types(open_source(as_file(tmp_path / "t.csv", ARROW))) == tuple((name, "string") for name in WORDS)
    expected = (("person_id", "string"), ("age", "int64"), ("smokes", "bool"), ("ward", "string"), ("bmi", "double"))
    for ending in (".parquet", ".arrow", ".arrows", ".feather"):
        assert storage_types(open_source(as_file(tmp_path / f"t{ending}", ARROW))) == expected
    assert storage_types(open_source(ARROW)) == expected
    assert storage_types(open_source(pd.DataFrame({"a": [1, "x"], 7.5: [1.5, 2]})))[0] == ("a", "mixed")


def test_a_first_line_of_values_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("4711,s3cr3t\n4712,x\n")
    with pytest.raises(UserError) as caught:
        storage_types(open_source(tmp_path / "t.csv"))
    assert caught.value.codes == ("E262",)
    assert "s3cr3t" not in str(caught.value) and "4711" not in str(caught.value)


def test_other_columns_of_a_frame_are_not_looked_at() -> None:
    frame = ARROW.to_pandas().assign(note=["s3cr3t", 1, None, object()])
    assert read(frame, ALIGNED, "clinic").rows == 4
    assert read(frame, Agreement(ALIGNED.columns[:1]), "clinic").rows == 4
