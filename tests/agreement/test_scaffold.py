"""A scaffold is sound TOML made from names and storage types; parse() of it reports exactly its holes."""

from __future__ import annotations

import tomllib

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.agreement import parse, scaffold
from vertwin.errors import UserError

_CLINIC = [
    ("person_id", pa.string()),
    ("age", pa.int64()),
    ("bmi", pa.float64()),
    ("smoker", pa.bool_()),
    ("diagnosis", pa.dictionary(pa.int8(), pa.string())),
    ("seen", pa.timestamp("us")),
]
_INSURER = [("person_id", pa.string()), ("plan", pa.large_string()), ("age", pa.uint8()), ("cost", pa.decimal128(9, 2))]


def holes_of(text: str) -> list[str]:
    with pytest.raises(UserError) as caught:
        parse(text)
    assert set(caught.value.codes) == {"E111"}
    assert all(fault.hint for fault in caught.value.faults)
    return [fault.place for fault in caught.value.faults]


def test_two_tables() -> None:
    text = scaffold({"clinic": _CLINIC, "insurer": _INSURER}, keys=["person_id"])
    document = tomllib.loads(text)
    assert [(column["name"], column["type"]) for column in document["columns"]] == [
        ("age", "count"),
        ("bmi", "real"),
        ("smoker", "binary"),
        ("diagnosis", "category"),
        ("plan", "category"),
        ("cost", "real"),
    ]
    assert document["linkage"]["keys"] == ["person_id"]
    assert sorted(holes_of(text)) == sorted(
        ["name", "purpose", "data_set"]
        + [f'columns[1] "age" {key}' for key in ("bounds", "bins", "source")]
        + [f'columns[2] "bmi" {key}' for key in ("bounds", "bins", "source")]
        + ['columns[3] "smoker" source']
        + [f'columns[4] "diagnosis" {key}' for key in ("categories", "source")]
        + [f'columns[5] "plan" {key}' for key in ("categories", "source")]
        + [f'columns[6] "cost" {key}' for key in ("bounds", "bins", "source")]
    )
    assert '"age" is named like a column of "clinic"' in text
    assert '"seen" is stored as "timestamp[us]"' in text


def test_it_says_why_the_domains_are_open() -> None:
    text = scaffold({"clinic": _CLINIC})
    assert "not at one value" in text
    assert "would disclose it" in text


@pytest.mark.parametrize("learner", ["measure_once", "dpvi"])
def test_filled_in_it_is_an_agreement(learner: str) -> None:
    text = scaffold(
        {"clinic": [("age", "int64"), ("bmi", "double")], "insurer": [("plan", "string")]},
        name="ours",
        learner="dpvi" if learner == "dpvi" else "measure_once",
    )
    for hole, filling in [
        ('purpose = "?"', 'purpose = "planning"'),
        ('data_set = "?"', 'data_set = "town"'),
        ('keys = "?"', 'keys = ["id"]'),
        ('bounds = "?"', "bounds = [0, 120]"),
        ('bins = "?"', 'bins = {kind = "equal_width", count = 12}'),
        ('categories = "?"', 'categories = ["a", "b"]'),
        ('source = "?"', 'source = "code book"'),
    ]:
        assert hole in text
        text = text.replace(hole, filling)
    agreement = parse(text)
    assert agreement.name == "ours"
    assert agreement.learner.kind == learner
    assert [column.domain.size for column in agreement.columns] == [12, 12, 2]


def test_one_table_leaves_the_other_party_open() -> None:
    assert "parties[2] name" in holes_of(scaffold({"clinic": [("age", "int64")]}))


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(
        st.text(max_size=30), st.sampled_from(["int64", "double", "string", "bool", "date32[day]", "\n[x]"]), min_size=1
    )
)
def test_no_name_breaks_out_of_the_text(columns: dict[str, str]) -> None:
    columns["age"] = "int64"
    text = scaffold({"clinic": list(columns.items()), "insurer": [("plan of ours", "string")]})
    document = tomllib.loads(text)
    assert set(document) == {
        "format", "name", "purpose", "data_set", "parties", "linkage", "columns", "learner", "privacy"
    }  # fmt: skip
    assert holes_of(text)
