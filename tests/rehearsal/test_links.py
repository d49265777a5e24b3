"""The link between processes: in order and whole, and a peer that is gone or silent is named in time."""

from __future__ import annotations

import socket
import time

import pytest
from conftest import in_threads

from vertwin.errors import UserError
from vertwin.rehearsal import links
from vertwin.rehearsal.links import SocketLink, queue_links


@pytest.fixture
def pair():
    a, b = socket.socketpair()
    both = (
        SocketLink("clinic", ("clinic", "insurer"), {"insurer": a}),
        SocketLink("insurer", ("clinic", "insurer"), {"clinic": b}),
    )
    yield both
    for link in both:
        link.close()


def test_messages_arrive_in_order_and_whole(pair):
    clinic, insurer = pair
    large = bytes(range(256)) * 20_000
    sent = [b"", b"one", large, b"two"]

    def give():
        for payload in sent:
            clinic.send("insurer", payload)

    got = in_threads({"clinic": give, "insurer": lambda: [insurer.receive("clinic") for _ in sent]})["insurer"]
    assert got == sent


def test_everyone_has_everyones_word_after_an_exchange(pair):
    clinic, insurer = pair
    both = in_threads({"clinic": lambda: clinic.exchange("t", b"c"), "insurer": lambda: insurer.exchange("t", b"i")})
    assert both["clinic"] == both["insurer"] == {"clinic": b"c", "insurer": b"i"}


def test_another_topic_is_our_own_bug(pair):
    clinic, insurer = pair
    clinic.broadcast("plan", b"x")
    with pytest.raises(AssertionError, match="expected 'shares'"):
        insurer.receive_on("shares", "clinic")


def test_a_peer_that_is_gone_is_named(pair):
    clinic, insurer = pair
    clinic.send("insurer", b"last word")
    clinic._sockets["insurer"].shutdown(socket.SHUT_RDWR)
    assert insurer.receive("clinic") == b"last word"
    with pytest.raises(UserError) as caught:
        insurer.receive("clinic")
    assert caught.value.codes == ("E402",)
    assert '"clinic"' in str(caught.value)


def test_a_peer_that_is_silent_is_named_and_one_that_beats_is_not(pair, monkeypatch):
    insurer = pair[1]
    insurer._heard["clinic"] -= links.SILENCE_SECONDS - 1
    insurer.check()
    insurer._heard["clinic"] -= 2
    with pytest.raises(UserError, match="has not been heard of for 30 seconds"):
        insurer.check()
    monkeypatch.setattr(links, "HEARTBEAT_SECONDS", 0.05)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:  # the next beat of the other side mends it
        try:
            insurer.check()
            return
        except UserError:
            time.sleep(0.05)
    pytest.fail("the heartbeat was not heard")


def test_a_party_that_stops_frees_those_who_wait_for_it():
    both = queue_links(("clinic", "insurer"))
    both["clinic"].abandon()
    with pytest.raises(UserError) as caught:
        both["insurer"].receive("clinic")
    assert caught.value.codes == ("E401",)
