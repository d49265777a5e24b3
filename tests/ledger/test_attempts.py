"""What parties decide about an attempt: the same everywhere, and nothing is forgotten that may have left."""

from __future__ import annotations

from itertools import product

import pytest

from vertwin.errors import UserError
from vertwin.ledger.attempts import AttemptState, Step, decide, decode_states, encode_states

S = AttemptState
TRIPLES = list(product(S, repeat=3))


@pytest.mark.parametrize("states", [dict(zip("abc", triple, strict=True)) for triple in TRIPLES])
def test_all_resume_or_none_does(states: dict[str, AttemptState]):
    steps = {party: decide(party, states) for party in states}
    assert len({step is Step.RESUME for step in steps.values()}) == 1
    for party, step in steps.items():
        state = states[party]
        if step is Step.RESUME:
            assert state in (S.STORED, S.ALL_STORED, S.SEALED), "only stored shares are exchanged again"
        if step is Step.FORGET:
            assert state in (S.NONE, S.STORED), "what may have left is counted"
        if step is Step.CLOSE:
            assert state in (S.SEALED, S.CLOSED), "only who has the release closes"
        if state is S.LOST:
            assert step is Step.KEEP


@pytest.mark.parametrize(
    ("mine", "theirs", "step"),
    [
        (S.STORED, S.STORED, Step.RESUME),
        (S.STORED, S.ALL_STORED, Step.RESUME),
        (S.ALL_STORED, S.SEALED, Step.RESUME),  # the peer has the release and still its shares: it sends them again
        (S.SEALED, S.SEALED, Step.CLOSE),
        (S.SEALED, S.CLOSED, Step.CLOSE),
        (S.STORED, S.NONE, Step.FORGET),
        (S.NONE, S.STORED, Step.FORGET),
        (S.NONE, S.NONE, Step.FORGET),
        (S.ALL_STORED, S.NONE, Step.KEEP),
        (S.ALL_STORED, S.CLOSED, Step.KEEP),
        (S.LOST, S.STORED, Step.KEEP),
        (S.STORED, S.LOST, Step.FORGET),
        (S.SEALED, S.LOST, Step.CLOSE),
    ],
)
def test_two_parties(mine: AttemptState, theirs: AttemptState, step: Step):
    assert decide("me", {"me": mine, "peer": theirs}) is step


def test_states_go_and_come():
    states = {"0" * 32: S.STORED, "1" * 32: S.ALL_STORED}
    assert decode_states(encode_states(states), "insurer") == states


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b"3", b'{"x":"stored"}', b'{"%s":"eaten"}' % (b"0" * 32), b"\xff", b"null"]
)
def test_a_peers_states_that_cannot_be_read(payload: bytes):
    with pytest.raises(UserError) as caught:
        decode_states(payload, "insurer")
    assert caught.value.codes == ("E548",)
