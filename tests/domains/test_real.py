"""Reals: what is no number, and the margin that keeps natural values off 0 and 1."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from vertwin.domains import NATURAL_MARGIN, EqualWidth, Real


def test_faults_by_row() -> None:
    domain = Real((0, 10), EqualWidth(2), missing="marginal")
    column = pa.array([0.0, float("nan"), float("inf"), float("-inf"), 10.0, 10.000001, -1e-9, 1e300, None])
    assert [(fault.row, fault.code) for fault in domain.encode(column).faults] == [
        (2, "E207"), (3, "E207"), (5, "E203"), (6, "E203"), (7, "E203"),
    ]  # fmt: skip
    text = pa.array(["0", "nan", "inf", "-Infinity", "10.0", "1e999", "ten", " 5. ", "?"])
    assert [(fault.row, fault.code) for fault in domain.encode(text).faults] == [
        (2, "E207"), (3, "E207"), (5, "E207"), (6, "E202"), (8, "E202"),
    ]  # fmt: skip
    assert domain.encode(text).codes.tolist() == [0, -1, -1, -1, 1, -1, -1, 1, -1]


def test_a_boolean_is_no_real() -> None:
    assert [fault.code for fault in Real((0, 1)).encode(pa.array([True])).faults] == ["E201"]


def test_natural_values_keep_off_zero_and_one() -> None:
    natural = Real((0, 10)).natural(pa.array([0.0, 10.0, 2.5, None, 11.0, float("inf")]))
    assert natural[:3] == pytest.approx([NATURAL_MARGIN, 1 - NATURAL_MARGIN, 0.25])
    assert np.isnan(natural[3:]).all()


def test_from_natural_stays_inside() -> None:
    domain = Real((-1.0, 0.1))
    values = domain.from_natural(np.array([0.0, 1.0, np.nextafter(1, 0), np.nan]), np.random.default_rng(0))
    assert domain.encode(values.drop_null()).faults == ()
    assert values[3].as_py() is None
