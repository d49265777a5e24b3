"""Shares as bytes: what comes back is what went in, and nothing else is taken."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.engine.share_codec import decode_shares, encode_shares
from vertwin.errors import UserError

shares = st.lists(
    st.tuples(st.binary(max_size=9), st.lists(st.binary(max_size=20), min_size=1, max_size=3)), max_size=4
)


@given(shares)
@settings(deadline=None, max_examples=50)
def test_round_trip(held):
    assert decode_shares(encode_shares(held), len(held), "clinic") == held


@given(shares, st.data())
@settings(deadline=None, max_examples=80)
def test_anything_else_is_refused(held, data):
    whole = encode_shares(held)
    cut = data.draw(st.integers(0, len(whole) - 1))
    for broken in (whole[:cut], whole + b"x"):
        with pytest.raises(UserError) as caught:
            decode_shares(broken, len(held), "clinic")
        assert caught.value.codes == ("E412",)
    with pytest.raises(UserError):
        decode_shares(whole, len(held) + 1, "clinic")
