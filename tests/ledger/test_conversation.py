"""Two parties tell their ledgers' story to each other, are killed at every step, start again, and come to an end."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
from ledger.simulated_disk import SimulatedDisk, Stopped
from ledger.small_runs import AGREEMENT, PARTIES, attempt, open_ledger, signing, spending

from vertwin.errors import UserError
from vertwin.ledger.attempts import AttemptState
from vertwin.ledger.conversation import all_sealed, all_stored, greet, settle
from vertwin.ledger.ledger import Ledger

OTHER = {"clinic": "insurer", "insurer": "clinic"}


class PeerGone(Exception):
    """What a link raises when the other side has ended."""


class Wire:
    """One meeting of two parties: messages in order, a topic on each, an end that the other side notices."""

    def __init__(self) -> None:
        self.boxes: dict[str, queue.Queue[tuple[str, bytes] | None]] = {name: queue.Queue() for name in PARTIES}
        self.sent = dict.fromkeys(PARTIES, 0)
        self.cut_at: dict[str, int] = {}
        self.change: Callable[[str, str, bytes], bytes] = lambda me, topic, payload: payload

    def exchange(self, me: str) -> Callable[[str, bytes], Mapping[str, bytes]]:
        def exchange(topic: str, payload: bytes) -> Mapping[str, bytes]:
            self.sent[me] += 1
            if self.sent[me] == self.cut_at.get(me):
                raise Stopped("before a message")
            self.boxes[OTHER[me]].put((topic, self.change(me, topic, payload)))
            message = self.boxes[me].get(timeout=20)
            if message is None:
                raise PeerGone
            assert message[0] == topic, "both tell the same text"
            return {me: payload, OTHER[me]: message[1]}

        return exchange

    def hang_up(self, me: str) -> None:
        self.boxes[OTHER[me]].put(None)


@dataclass
class World:
    """Two disks, and what was seen from outside: who sent which share of which attempt."""

    disks: dict[str, SimulatedDisk] = field(default_factory=lambda: {name: SimulatedDisk() for name in PARTIES})
    left: set[tuple[str, str, bytes]] = field(default_factory=set)
    releases: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in PARTIES})
    draws: int = 0

    def stored_everywhere(self, name: str) -> bool:
        return all(
            any(path.name.startswith(name) and path.suffix == ".shares" for path in disk.tree)
            for disk in self.disks.values()
        )


def take_part(me: str, world: World, wire: Wire, number: int) -> None:
    """The party's text: what a session of a real run does with its ledger."""
    exchange, mine = wire.exchange(me), signing(me)
    with open_ledger(world.disks[me], me) as ledger:
        planned = spending()
        ledger.require_within_budget(planned)
        greet(ledger, exchange, mine)
        name = settle(ledger, AGREEMENT, exchange)
        if name is None:
            if ledger.history.attempts and ledger.history.attempts[-1].release is not None:
                exchange("done", b"")
                return  # the earlier run is finished: this test wants one release
            exchange("new", b"")
            name = attempt(number)
            world.draws += 1
            share = f"share {world.draws} of {me}".encode()  # fresh noise: never twice the same
            ledger.spend(name, planned, ("program:1",), "all tables")
            ledger.store(name, {"share": share})
        else:
            exchange("resume", b"")
        receipts = all_stored(ledger, name, exchange, mine)
        assert [receipt.covers for receipt in receipts] == ["program:1"]
        assert ledger.state(name) in (AttemptState.ALL_STORED, AttemptState.SEALED)
        assert world.stored_everywhere(name), "no share leaves before all are stored"
        share = ledger.stored(name)["share"]
        world.left.add((me, name, share))
        theirs = exchange("shares", share)[OTHER[me]]
        shares = sorted([share, theirs])
        digest = f"{abs(hash(tuple(shares))):064x}"[-64:]
        world.releases[me].add(digest)
        all_sealed(ledger, name, digest, exchange)


def meet(
    world: World, number: int, stop: Mapping[str, int] | None = None, wire: Wire | None = None
) -> dict[str, object]:
    """One session of both parties; at most one is stopped, the other sees its peer go. What each ended with."""
    wire = wire or Wire()
    ends: dict[str, object] = {}

    def run(me: str) -> None:
        world.disks[me].stop_at = (stop or {}).get(me)
        world.disks[me].steps = 0
        try:
            take_part(me, world, wire, number)
            ends[me] = None
        except (Stopped, PeerGone, UserError, AssertionError) as end:
            ends[me] = end
        finally:
            wire.hang_up(me)

    threads = [threading.Thread(target=run, args=(name,), daemon=True) for name in PARTIES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert set(ends) == set(PARTIES), "nobody waits for ever"
    for end in ends.values():
        if isinstance(end, AssertionError):
            raise end
    return ends


def check_the_world(world: World) -> None:
    """After everything: one release at both, and each party counts whatever left it."""
    assert world.releases["clinic"] & world.releases["insurer"]
    for me in PARTIES:
        with open_ledger(world.disks[me], me) as ledger:
            attempts = ledger.history.attempts
            counted = {a.spent.attempt for a in attempts if a.counted}
            assert {name for party, name, _ in world.left if party == me} <= counted
            assert ledger.unsettled() == {}
            assert not [path for path in world.disks[me].tree if path.suffix == ".shares"]
    by_attempt: dict[tuple[str, str], set[bytes]] = {}
    for party, name, share in world.left:
        by_attempt.setdefault((party, name), set()).add(share)
    assert all(len(shares) == 1 for shares in by_attempt.values()), "no noise masks two values"


def steps_of_a_meeting() -> dict[str, int]:
    world = World()
    assert meet(world, 1) == {"clinic": None, "insurer": None}
    check_the_world(world)
    return {name: disk.steps for name, disk in world.disks.items()}


@pytest.mark.parametrize("me", PARTIES)
@pytest.mark.parametrize("how", ["killed", "half"])
def test_killed_at_every_write_and_started_again(me: str, how: str):
    total = steps_of_a_meeting()[me]
    assert total > 50
    for stop_at in range(1, total + 1):
        world = World()
        ends = meet(world, 1, stop={me: stop_at})
        assert isinstance(ends[me], Stopped), stop_at
        world.disks[me] = world.disks[me].after(how)
        for number in range(2, 5):
            if meet(world, number) == {"clinic": None, "insurer": None} and all(world.releases.values()):
                break
        meet(world, 9)
        check_the_world(world)
        assert len({name for _, name, _ in world.left}) == 1, "one attempt was opened: the budget is spent once"


@pytest.mark.parametrize("me", PARTIES)
def test_cut_off_before_every_message_and_started_again(me: str):
    for cut in range(1, 12):
        world, wire = World(), Wire()
        wire.cut_at[me] = cut
        meet(world, 1, wire=wire)
        for number in range(2, 4):
            meet(world, number)
        check_the_world(world)


def test_nothing_is_counted_for_an_attempt_that_was_stored_at_one_party_only():
    """The clinic stored, the insurer died before it did: nothing left, nothing is counted, new noise is drawn."""
    world = World()
    store = SimulatedDisk.create

    def create(disk: SimulatedDisk, path) -> None:
        if disk is world.disks["insurer"] and path.name.startswith(attempt(1)):
            raise Stopped
        store(disk, path)

    SimulatedDisk.create = create
    try:
        meet(world, 1)
    finally:
        SimulatedDisk.create = store
    world.disks["insurer"] = world.disks["insurer"].after("killed")
    assert world.left == set()
    assert meet(world, 2) == {"clinic": None, "insurer": None}
    check_the_world(world)
    for me in PARTIES:
        with open_ledger(world.disks[me], me) as ledger:
            assert [a.counted for a in ledger.history.attempts] == [False, True]


def test_lost_shares_stay_counted_and_a_new_attempt_is_made():
    world = World()
    wire = Wire()
    wire.cut_at["clinic"] = 7  # both have begun the exchange; the clinic is gone before its share is sent
    meet(world, 1, wire=wire)
    for path in list(world.disks["insurer"].tree):
        if path.suffix == ".shares":
            del world.disks["insurer"].tree[path]
    world.disks = {name: disk.after("killed") for name, disk in world.disks.items()}
    with open_ledger(world.disks["insurer"], "insurer") as ledger:
        assert ledger.state(attempt(1)) is AttemptState.LOST
    assert meet(world, 2) == {"clinic": None, "insurer": None}
    for me in PARTIES:
        with open_ledger(world.disks[me], me) as ledger:
            assert [a.counted for a in ledger.history.attempts] == [True, True]


def test_a_ledger_that_went_back_stops_both():
    world = World()
    older = world.disks["clinic"].copy()
    meet(world, 1)
    world.disks["clinic"] = older
    ends = meet(world, 2)
    assert isinstance(ends["clinic"], UserError) and ends["clinic"].codes == ("E544",)
    assert isinstance(ends["insurer"], UserError) and ends["insurer"].codes == ("E546",)


GARBLED = {
    "ledger heads": [
        b"",
        b"[]",
        b"{}",
        b'{"now":3}',
        b'{"now":{},"remembered":3}',
        b'{"remembered":{"clinic":5}}',
        b"\xff",
    ],
    "ledger attempts": [b"", b"{}", b'["x"]', b"[3]"],
    "ledger states": [b"", b"[]", b'{"x":"stored"}'],
    "ledger stored": [
        b"",
        b"[]",
        b"{}",
        b'{"attempt":"x"}',
        json.dumps({"attempt": attempt(1), "head": None}).encode(),
    ],
    "ledger countersignatures": [b"", b"{}", b'{"clinic":"zz"}', b'{"clinic":"00"}', b'{"clinic":3}'],
}


@pytest.mark.parametrize(("topic", "payload"), [(topic, payload) for topic in GARBLED for payload in GARBLED[topic]])
def test_a_peer_that_says_something_else_is_not_believed(topic: str, payload: bytes):
    world, wire = World(), Wire()
    wire.change = lambda me, told, sent: payload if (me, told) == ("insurer", topic) else sent
    end = meet(world, 1, wire=wire)["clinic"]
    assert isinstance(end, UserError) and end.codes == ("E548",), end
    assert not [1 for party, _, _ in world.left if party == "clinic"], "the clinic sent no share"


def test_another_release_at_the_peer_is_noticed():
    world, wire = World(), Wire()
    wire.change = lambda me, told, sent: b"e" * 64 if (me, told) == ("insurer", "ledger sealed") else sent
    end = meet(world, 1, wire=wire)["clinic"]
    assert isinstance(end, UserError) and end.codes == ("E558",)
    with open_ledger(world.disks["clinic"]) as ledger:
        assert ledger.state(attempt(1)) is AttemptState.SEALED


def test_two_unfinished_runs_of_one_agreement_cannot_both_be_resumed(monkeypatch):
    ledgers: dict[str, Ledger] = {name: open_ledger(party=name) for name in PARTIES}
    for ledger in ledgers.values():
        for number in (1, 2):
            with monkeypatch.context() as patch:
                patch.setattr(Ledger, "unsettled", lambda *_: {})
                ledger.spend(attempt(number), spending(), ("p:1",), "tables")
            ledger.store(attempt(number), {"share": b"s"})
    wire, ends = Wire(), {}

    def run(me: str) -> None:
        with pytest.raises(UserError) as caught:
            settle(ledgers[me], AGREEMENT, wire.exchange(me))
        ends[me] = caught.value.codes

    threads = [threading.Thread(target=run, args=(me,)) for me in PARTIES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert ends == dict.fromkeys(PARTIES, ("E556",))
