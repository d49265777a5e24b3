"""Counts: what is no count, and the half-integer scale of their natural values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.domains import Count, Edges, EqualWidth


def test_faults_by_row() -> None:
    domain = Count((0, 10), EqualWidth(2))
    column = pa.array(["0", "2.5", "x", "11", "-1", "inf", "", "10", "1e1", "1,5", "0x1"])
    faults = [(fault.row, fault.code) for fault in domain.encode(column).faults]
    assert faults == [
        (1, "E206"), (2, "E202"), (3, "E203"), (4, "E203"), (5, "E207"), (6, "E205"), (9, "E202"), (10, "E202"),
    ]  # fmt: skip
    assert domain.encode(column).codes.tolist() == [0, -1, -1, -1, -1, -1, -1, 1, 1, -1, -1]


def test_numbers_beyond_the_exact_floats_are_out_of_bounds() -> None:
    domain = Count((0, 2**53 - 1), EqualWidth(2))
    assert [fault.code for fault in domain.encode(pa.array([2**53 - 1, 2**53, 2**63 - 1])).faults] == ["E203", "E203"]


def test_booleans_count() -> None:
    assert Count((0, 3), EqualWidth(4)).encode(pa.array([True, False])).codes.tolist() == [1, 0]


def test_natural_values_of_the_bounds_are_half_a_unit_inside() -> None:
    natural = Count((17, 90)).natural(pa.array([17, 90, None, 91]))
    assert natural[:2] == pytest.approx([0.5 / 74, 73.5 / 74])
    assert np.isnan(natural[2:]).all()


def test_from_natural_stays_inside() -> None:
    values = Count((17, 90)).from_natural(np.array([0.0, 1.0, 0.5, np.nan]), np.random.default_rng(0))
    assert values.to_pylist() == [17, 90, 54, None]
    assert values.type == pa.int64()


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 200_000), min_size=1))
def test_searching_gives_what_the_table_gives(low: int, offsets: list[int]) -> None:
    """Domains of few numbers look their codes up; larger ones search."""
    values = pa.array([low + offset % 1000 for offset in offsets])
    small = Count((low, low + 999), Edges((low, low + 5, low + 700, low + 999), heaps=(low + 7,)))
    large = Count((low, low + 10**6), Edges((low, low + 5, low + 700, low + 10**6), heaps=(low + 7,)))
    assert small.encode(values).codes.tolist() == large.encode(values).codes.tolist()
