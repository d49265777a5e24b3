"""Where the line is cut: edges, bounds, heaps, labels, and the cuts that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.domains import Bins, Count, Edges, EqualWidth, Real

AGE = Edges((17, 20, 25, 90))


def real_codes(bins: Bins, *values: float) -> list[int]:
    return bins.partition(0, 10, whole=False).find(np.array(values, dtype=float)).tolist()


def test_a_real_bin_holds_its_lower_edge_and_the_last_one_the_upper_bound() -> None:
    assert real_codes(Edges((0, 2, 5, 10)), 0, 1.999, 2, 4.9, 5, 9, 10) == [0, 0, 1, 1, 2, 2, 2]
    assert Edges((0, 2, 5, 10)).partition(0, 10, whole=False).labels == ("[0, 2)", "[2, 5)", "[5, 10]")


def test_a_count_has_its_upper_bound_inside_in_both_ways_of_writing() -> None:
    for last in (90, 91):
        partition = Edges((17, 20, 25, last)).partition(17, 90, whole=True)
        assert partition.find(np.array([17.0, 19, 20, 24, 25, 90])).tolist() == [0, 0, 1, 1, 2, 2]
        assert partition.labels == ("17..19", "20..24", "25..90")
    assert Edges((0, 1, 2, 3)).partition(0, 2, whole=True).labels == ("0", "1", "2")


def test_equal_width() -> None:
    assert EqualWidth(4).partition(0, 10, whole=False).cuts.tolist() == [0, 2.5, 5, 7.5, 10]
    assert EqualWidth(3).partition(0, 9, whole=True).labels == ("0..2", "3..5", "6..9")
    assert EqualWidth(3).partition(-1, 1, whole=True).labels == ("-1", "0", "1")


@settings(deadline=None, max_examples=100)
@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(1, 200))
def test_equal_width_ends_at_the_bounds_and_increases(low: float, width: float, count: int) -> None:
    high = low + width
    try:
        cuts = EqualWidth(count).partition(low, high, whole=False).cuts
    except ValueError:
        assert width / count < 2e-12 * max(abs(low), abs(high))
        return
    assert cuts[0] == low and cuts[-1] == high and len(cuts) == count + 1
    assert (np.diff(cuts) > 0).all()


def test_a_heap_has_a_bin_of_its_own_in_the_order_of_values() -> None:
    hours = Edges((1, 35, 40, 45, 100), heaps=(40,)).partition(1, 99, whole=True)
    assert hours.labels == ("1..34", "35..39", "40", "41..44", "45..99")
    assert hours.find(np.array([39.0, 40, 41])).tolist() == [1, 2, 3]
    inside = Edges((0, 10), heaps=(5, 7)).partition(0, 10, whole=False)
    assert inside.labels == ("[0, 10] without 5, 7", "5", "7")
    assert inside.find(np.array([4.0, 5, 6, 7, 8])).tolist() == [0, 1, 0, 2, 0]
    assert Edges((0, 5, 10), heaps=(5, 10)).partition(0, 10, whole=False).labels == (
        "[0, 5)",
        "5",
        "[5, 10] without 5, 10",
        "10",
    )
    assert Edges((0, 10), heaps=(5,)).partition(0, 9, whole=True).labels == ("0..9 without 5", "5")


def test_heaps_that_take_a_whole_bin_leave_none() -> None:
    partition = Edges((0, 2, 3, 9), heaps=(2, 0, 1, 9)).partition(0, 9, whole=True)
    assert partition.labels == ("0", "1", "2", "3..8", "9")
    assert partition.find(np.arange(10.0)).tolist() == [0, 1, 2, 3, 3, 3, 3, 3, 3, 4]


def test_numbers_in_labels_are_written_as_a_person_would() -> None:
    labels = Edges((0, 0.1, 1 / 3, 2.5e7)).partition(0, 2.5e7, whole=False).labels
    assert labels == ("[0, 0.1)", "[0.1, 0.3333333333333333)", "[0.3333333333333333, 25000000]")


def test_without_bins_there_is_one() -> None:
    assert Real((0, 1)).labels == ("[0, 1]",)
    assert Count((0, 5)).labels == ("0..5",)


def test_spans_and_edges() -> None:
    count = Count((0, 9), Edges((0, 1, 9), heaps=(9,)))
    assert count.spans == ((0, 0), (1, 8), (9, 9))
    assert count.edges.tolist() == [0, 1, 10]
    assert Real((0, 9), Edges((0, 1, 9))).spans == ((0, 1), (1, 9))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Edges((0,)), "two edges"),
        (lambda: Edges((0, 2, 1)), "do not increase: 1 comes after 2"),
        (lambda: Edges((0, 1, 1)), "do not increase"),
        (lambda: Edges((0, float("inf"))), "no finite number"),
        (lambda: Edges((0, "1")), "no finite number"),
        (lambda: Edges((0, True)), "no finite number"),
        (lambda: Edges("01"), "not a text"),
        (lambda: EqualWidth(0), "1 to"),
        (lambda: EqualWidth(10**9), "1 to"),
        (lambda: EqualWidth(2.5), "whole number"),
        (lambda: EqualWidth(True), "whole number"),
        (lambda: EqualWidth(2, heaps=(1, 1)), "twice"),
        (lambda: EqualWidth(2, heaps=(float("nan"),)), "no finite number"),
        (lambda: Real((0, 10), Edges((1, 10))), "first edge 1 is not the lower bound 0"),
        (lambda: Real((0, 10), Edges((0, 11))), "last edge 11 is not the upper bound 10$"),
        (lambda: Count((0, 10), Edges((0, 12))), "last edge 12 is not the upper bound 10, nor 11"),
        (lambda: Count((0, 10), Edges((0, 2.5, 10))), "edge of a count"),
        (lambda: Count((0, 10), EqualWidth(2, heaps=(2.5,))), "heap 2.5 of a count"),
        (lambda: Count((0, 10), EqualWidth(12)), "12 bins are declared for 11 whole numbers"),
        (lambda: Real((0, 10), EqualWidth(2, heaps=(11,))), "heap 11 lies outside the bounds 0 to 10"),
        (lambda: Real((0, 1), Edges((0, 1e-13, 1))), "too narrow"),
        (lambda: Real((1, 0), EqualWidth(2)), "lower bound 1 is not below the upper bound 0"),
        (lambda: Real((1, 1)), "not below"),
        (lambda: Real((0, float("nan"))), "no finite number"),
        (lambda: Real((0, float("inf"))), "no finite number"),
        (lambda: Real((0, 2.0**60)), "too large"),
        (lambda: Real((0, 1, 2)), "two bounds"),
        (lambda: Real("01"), "two bounds"),
        (lambda: Count((0.5, 2)), "no whole number"),
        (lambda: Count((False, True)), "no finite number"),
        (lambda: Count((0, 1), bins=3), "equal_width or edges"),
    ],
)
def test_cuts_and_bounds_that_make_no_sense(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


def test_age() -> None:
    assert Count((17, 90), AGE).labels == ("17..19", "20..24", "25..90")
