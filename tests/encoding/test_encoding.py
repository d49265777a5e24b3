"""Codes, one-hot blocks and natural values of a linked table, and a table that changed since its check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables.standing_in import ALIGNED, COLUMNS, Agreement, Column

from vertwin.domains import Category, Count, EqualWidth, Missing
from vertwin.encoding import EncodedTable, encode
from vertwin.errors import UserError


@dataclass
class Linked:
    """A linked table in memory, cut into batches of three rows."""

    frame: pa.Table
    rows: int
    party: str = "clinic"

    def batches(self) -> Iterator[pa.RecordBatch]:
        return iter(self.frame.to_batches(max_chunksize=3))


def encoded(frame: pa.Table, agreement: Agreement = ALIGNED) -> EncodedTable:
    return encode(Linked(frame, frame.num_rows), agreement)  # type: ignore[arg-type]


FRAME = pa.table(
    {
        "age": ["30", "71", "5", "44", "120"],
        "smokes": [False, True, None, True, None],
        "ward": ["A", "007", "B", None, "A"],
        "bmi": [22.5, 31.0, 15.0, 28.1, 60.0],
    }
)


def test_codes() -> None:
    table = encoded(FRAME)
    assert table.codes.tolist() == [[1, 0, 0, 1], [3, 1, 2, 2], [0, -1, 1, 0], [2, 1, 3, 1], [3, -1, 0, 4]]
    assert table.codes.dtype == np.int16
    assert (table.party, table.rows, table.sizes, table.width) == ("clinic", 5, (4, 2, 4, 5), 15)
    assert table.names == ("age", "smokes", "ward", "bmi")
    assert repr(table) == str(table) == "EncodedTable(4 columns, rows hidden)"


def test_the_arrays_cannot_be_written_to() -> None:
    table = encoded(FRAME, Agreement((*COLUMNS[:3], replace(COLUMNS[3], family="beta"))))
    for array in (table.codes, table.natural("bmi")):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        table.rows = 3  # type: ignore[misc]


def test_one_hot_of_a_block() -> None:
    table = encoded(FRAME)
    block = table.one_hot(1, 3)
    assert block.tolist() == [
        [0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0],
        [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0],
    ]
    assert block.dtype == np.int32 and table.one_hot(dtype=np.float32).dtype == np.float32
    assert np.array_equal(table.one_hot(), np.vstack([table.one_hot(0, 2), table.one_hot(2, 5)]))
    assert table.slices == {"age": slice(0, 4), "smokes": slice(4, 6), "ward": slice(6, 10), "bmi": slice(10, 15)}
    assert table.one_hot(5, 5).shape == (0, 15)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.none() | st.integers(0, 3)), min_size=1, max_size=20))
def test_one_hot_against_its_definition(rows: list[tuple[str | None, int | None]]) -> None:
    columns = (
        Column("c", Category(("a", "b"), missing=Missing.CATEGORY)),
        Column("n", Count((0, 3), EqualWidth(4), missing=Missing.MARGINAL)),
    )
    frame = pa.table({"c": pa.array([c for c, _ in rows], pa.string()), "n": pa.array([n for _, n in rows], pa.int8())})
    table = encoded(frame, Agreement(columns))
    expected = [[c == "a", c == "b", c is None, *(n == number for number in range(4))] for c, n in rows]
    assert table.one_hot().tolist() == np.array(expected, dtype=int).tolist()


def test_natural_values_are_kept_for_densities_only() -> None:
    agreement = Agreement((replace(COLUMNS[0], family="beta"), *COLUMNS[1:]))
    table = encoded(FRAME, agreement)
    assert table.natural("age") == pytest.approx((np.array([30, 71, 5, 44, 120]) + 0.5) / 121)
    assert np.array_equal(table.natural("smokes"), [0, 1, np.nan, 1, np.nan], equal_nan=True)
    assert table.natural("ward").tolist() == [0, 2, 1, 3, 0]
    with pytest.raises(AssertionError):
        table.natural("bmi")


def test_domains_of_many_codes_take_wider_integers() -> None:
    columns = (Column("n", Count((0, 40_000), EqualWidth(40_001))),)
    table = encoded(pa.table({"n": [0, 40_000]}), Agreement(columns))
    assert table.codes.dtype == np.int32 and table.codes[:, 0].tolist() == [0, 40_000]


@pytest.mark.parametrize("rows", [4, 6])
def test_a_table_with_another_number_of_rows_than_checked(rows: int) -> None:
    with pytest.raises(UserError) as caught:
        encode(Linked(FRAME, rows), ALIGNED)  # type: ignore[arg-type]
    assert caught.value.codes == ("E261",)


def test_a_cell_that_was_sound_when_it_was_checked() -> None:
    frame = FRAME.set_column(2, "ward", pa.array(["A", "B", "s3cr3t", None, "A"]))
    with pytest.raises(UserError) as caught:
        encoded(frame)
    assert caught.value.codes == ("E261",) and "s3cr3t" not in str(caught.value)
