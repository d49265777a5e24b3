"""The example of three organisations: aligned tables, domains that hold them, two agreements."""

from __future__ import annotations

import runpy
from pathlib import Path

import pyarrow.parquet
import pytest

from vertwin import agreement as agreements
from vertwin.agreement import Dpvi, MeasureOnce
from vertwin.rehearsal import town_files

HERE = Path(__file__).resolve().parents[2] / "examples" / "three"


@pytest.mark.parametrize(("file", "learner"), [("agreement.toml", MeasureOnce), ("dpvi.toml", Dpvi)])
def test_the_agreements_hold_the_tables(file: str, learner: type) -> None:
    terms, tables = agreements.load(HERE / file), town_files.make_three()
    assert isinstance(terms.learner, learner)
    assert [party.name for party in terms.holders] == list(tables)
    for column in terms.columns:
        encoded = column.domain.encode(tables[column.party][column.name])
        assert not encoded.faults, column.name
        assert column.domain.size <= 7
    for party, table in tables.items():
        assert table.num_rows == town_files.THREE_PEOPLE
        assert table.column_names == ["person_id", *(column.name for column in terms.columns_of(party))]


def test_the_tables_are_aligned_and_the_same_every_time() -> None:
    first, second = town_files.make_three(), town_files.make_three()
    people = first["clinic"]["person_id"]
    assert len(set(people.to_pylist())) == len(people)
    for party, table in first.items():
        assert table["person_id"].equals(people)
        assert table.equals(second[party])


def test_the_script_writes_them(tmp_path: Path) -> None:
    runpy.run_path(str(HERE / "make_three.py"))["main"](["--out", str(tmp_path)])
    for party, table in town_files.make_three().items():
        assert pyarrow.parquet.read_table(tmp_path / f"{party}.parquet").equals(table)
        assert (tmp_path / f"{party}.csv").is_file()
