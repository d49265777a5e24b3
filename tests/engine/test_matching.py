"""The plain matcher: rows of the common people in one order, for any number of parties; nobody waits for ever."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import in_threads
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.engine.matching import PlainMatcher, PlainMatchingHub, rows_in_order
from vertwin.errors import UserError


def hashes(people):
    return np.array([f"{person:032x}".encode() for person in people], dtype="S32")


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 2**128 - 1) | st.integers(0, 12), min_size=1, unique=True), min_size=2, max_size=3)
)
def test_the_same_people_in_the_same_order_at_every_party(tables):
    parties = {f"party {i}": people for i, people in enumerate(tables)}
    hub = PlainMatchingHub(tuple(parties))
    rows = in_threads(
        {name: lambda name=name: PlainMatcher(hub, name).intersect(hashes(parties[name])) for name in parties}
    )
    common = set.intersection(*map(set, tables))
    for name, people in parties.items():
        assert [people[row] for row in rows[name]] == sorted(common)
        assert rows[name].dtype == np.int64


def test_a_party_that_stops_frees_those_who_wait():
    hub = PlainMatchingHub(("clinic", "insurer"))

    def waits():
        with pytest.raises(UserError) as caught:
            PlainMatcher(hub, "clinic").intersect(hashes([1]))
        return caught.value.codes

    codes = in_threads({"clinic": waits, "insurer": lambda: hub.abandon("insurer")})
    assert codes["clinic"] == ("E401",)


@pytest.mark.parametrize("stranger", [0, 5, 10])
def test_a_person_who_is_in_no_row_is_our_bug(stranger):
    with pytest.raises(AssertionError, match="not in this party's table"):
        rows_in_order(hashes([1, 3, 9]), hashes([3, stranger]))
