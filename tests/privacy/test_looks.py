"""Two looks: together within what one look would have spent, for every viewer, whatever is chosen."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.privacy.closed_form import gaussian_mu
from vertwin.privacy.looks import first_look, limits_within, second_look, together
from vertwin.privacy.pair_tables import all_tables, calibrate

OWNER_OF = {"a": "p", "b": "p", "c": "q", "d": "q", "e": "r"}
HOLDERS = ("p", "q", "r")
TABLES = all_tables(OWNER_OF)
PAIRS = [columns for columns, _ in TABLES if len(columns) == 2]


def whole(adjacency="replace_one"):
    return calibrate(TABLES, {frozenset(): gaussian_mu(1.0, 1e-6) ** 2}, adjacency)


@given(
    st.sets(st.sampled_from(PAIRS), min_size=1), st.sampled_from(["replace_one", "add_remove"]), st.floats(0.05, 0.9)
)
@settings(deadline=None, max_examples=30)
def test_both_looks_together_spend_no_more_than_one_would_towards_anyone(chosen, adjacency, share):
    one = whole(adjacency)
    first = first_look(one, HOLDERS, share)
    both = together([first, second_look(one, first, chosen, HOLDERS)])
    for size in range(len(HOLDERS)):
        for coalition in combinations(HOLDERS, size):
            assert both.mu_squared(coalition) <= one.mu_squared(coalition) * (1 + 1e-12)


def test_the_tightest_limit_is_used_up():
    one = whole()
    first = first_look(one, HOLDERS, 0.3)
    both = together([first, second_look(one, first, PAIRS, HOLDERS)])
    used = {c: both.mu_squared(c) / limit for c, limit in limits_within(one, HOLDERS).items()}
    assert max(used.values()) == pytest.approx(1, rel=1e-3)


def test_a_second_look_as_precise_as_the_first_whole_would_break_the_bound():
    """What the guarantee is worth: without the split, two looks at the noise of one spend twice as much."""
    one = whole()
    assert together([one, one]).mu_squared() == pytest.approx(2 * one.mu_squared())
