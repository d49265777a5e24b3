"""Keys that name a person: how they are read from any storage, and how two rows of one person are found."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables.standing_in import COLUMNS, Agreement, Linkage

from vertwin.errors import UserError
from vertwin.tables import read
from vertwin.tables.faulty_rows import FaultyRowTally
from vertwin.tables.linkage_keys import PersonCheck, key_texts
from vertwin.tables.source import BrokenRows


def agreement(*keys: str) -> Agreement:
    return Agreement(COLUMNS[:1], Linkage("exact", keys))


def fault(frame: pa.Table, *keys: str) -> list[tuple[str, str]]:
    with pytest.raises(UserError) as caught:
        read(frame, agreement(*keys), "clinic")
    return [(fault.code, fault.sentence) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([17, None]), ["17", None]),
        (pa.array([17.0, None, float("nan")]), ["17", None, None]),
        (pa.array([" 17 ", "", "017", "17.0"]), ["17", None, "017", "17"]),
        (pa.array(["cafe\u0301"]), ["caf\u00e9"]),
        (pa.array([datetime.date(2001, 2, 3)]), ["2001-02-03"]),
        (pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
        (pa.array([2**63 - 1]), ["9223372036854775807"]),
    ],
)
def test_keys_as_text(column: pa.Array, expected: list[str | None]) -> None:
    assert key_texts(column).to_pylist() == expected
    assert key_texts(column).type == pa.string()


def test_one_person_in_several_rows() -> None:
    frame = pa.table({"age": [1, 2, 3, 4, 5], "id": ["a", "b", "a ", "a", "b"]})
    assert fault(frame, "id") == [("E260", 'by "id", row 3 repeats row 1, row 4 repeats row 1, row 5 repeats row 2')]


def test_at_most_twenty_repeats_are_named() -> None:
    ((_, sentence),) = fault(pa.table({"age": [1] * 50, "id": ["s3cr3t"] * 50}), "id")
    assert sentence.count("repeats") == 20 and sentence.endswith("and 29 more")
    assert "s3cr3t" not in sentence


def test_two_keys_are_one_name() -> None:
    frame = pa.table({"age": [1, 2, 3], "first": ["ab", "a", "ab"], "last": ["c", "bc", "c"]})
    assert fault(frame, "first", "last") == [("E260", 'by "first" and "last", row 3 repeats row 1')]


def test_an_empty_part_of_a_key_is_named_and_repeats_nothing() -> None:
    frame = pa.table({"age": [1, 2, 3, 4], "first": ["a", "a", "", None], "last": [None, " ", "c", "c"]})
    assert sorted(fault(frame, "first", "last")) == [("E259", "no key: rows 1 and 2"), ("E259", "no key: rows 3 and 4")]


def test_storages_that_are_no_key() -> None:
    for column in (pa.array([True]), pa.array([[1]]), pa.nulls(1)):
        ((code, _),) = fault(pa.table({"age": [1], "id": column}), "id")
        assert code == "E201"


def test_keys_that_are_not_there() -> None:
    assert [code for code, _ in fault(pa.table({"age": [1]}), "id")] == ["E256"]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.lists(st.sampled_from("abcdefgh") | st.none(), max_size=6), max_size=4))
def test_the_check_finds_what_a_dictionary_finds(batches: list[list[str | None]]) -> None:
    check, tally, rows = PersonCheck(["id"], "t"), FaultyRowTally(), 0
    for batch in batches:
        check.add(pa.RecordBatch.from_pydict({"id": pa.array(batch, pa.string())}), rows, tally)
        rows += len(batch)
    first: dict[str, int] = {}
    repeats = [
        f"row {row} repeats row {first[key]}"
        for row, key in enumerate((key for batch in batches for key in batch), start=1)
        if key is not None and first.setdefault(key, row) != row
    ]
    faults = check.faults(BrokenRows())
    assert [fault.sentence for fault in faults] == ([f'by "id", {", ".join(repeats)}'] if repeats else [])
