"""Heads: signed, remembered, countersigned; a ledger that went back is found out by whoever holds a later head."""

from __future__ import annotations

import pytest
from ledger.simulated_disk import SimulatedDisk
from ledger.small_runs import attempt, countersigned_by, open_ledger, signing, spending, whole_run

from vertwin.errors import UserError
from vertwin.ledger.heads import countersign, read_head
from vertwin.ledger.ledger import Ledger


def code_of(action) -> str:
    with pytest.raises(UserError) as caught:
        action()
    (code,) = caught.value.codes
    return code


@pytest.fixture
def insurer() -> Ledger:
    return open_ledger(party="insurer")


def met(ledger: Ledger, insurer: Ledger) -> None:
    """The insurer writes down where the clinic's ledger stands."""
    head = ledger.signed_head(signing("clinic"))
    told = read_head(head.document(), "town", "clinic", "clinic", signing("insurer").verify["clinic"])
    countersignature = insurer.record_peer_head(told, signing("insurer"))
    ledger.record_countersignature("insurer", head, countersignature, signing("clinic"))


def test_an_older_copy_of_everything_is_found_out_by_the_peers(insurer: Ledger):
    """Truncation at an entry boundary with the mark put back too: nothing here shows it, but the peer's memory does."""
    disk = SimulatedDisk()
    with open_ledger(disk) as ledger:
        whole_run(ledger, 1)
        older = disk.copy()
        whole_run(ledger, 2)
        met(ledger, insurer)
    shown = insurer.remembered("clinic")
    assert shown is not None
    with open_ledger(disk) as ledger:
        ledger.check_own("insurer", shown, signing("clinic"))
        insurer.check_peer(ledger.signed_head(signing("clinic")))
    with open_ledger(older) as ledger:
        with pytest.raises(UserError, match=r"signed with this key.*ends at entry") as caught:
            ledger.check_own("insurer", shown, signing("clinic"))
        assert caught.value.codes == ("E544",)
        assert code_of(lambda: insurer.check_peer(ledger.signed_head(signing("clinic")))) == "E546"
        for number in range(3, 6):  # and grown beyond what the peer knows, it is still another ledger
            whole_run(ledger, number, spending(agreement=f"{number}" * 64))
        insurer.check_peer(ledger.signed_head(signing("clinic")))
        assert code_of(lambda: ledger.check_own("insurer", shown, signing("clinic"))) == "E544"


def test_a_head_behind_what_is_remembered_is_not_written_down(insurer: Ledger):
    """So it gets no countersignature either, and without one that party cannot exchange."""
    with open_ledger() as ledger:
        early = ledger.signed_head(signing("clinic"))
        whole_run(ledger, 1)
        met(ledger, insurer)
    assert code_of(lambda: insurer.record_peer_head(early, signing("insurer"))) == "E546"


def test_a_new_ledger_in_place_of_a_lost_one_is_found_out(insurer: Ledger):
    with open_ledger() as ledger:
        whole_run(ledger, 1)
        met(ledger, insurer)
    with open_ledger() as fresh:
        shown = insurer.remembered("clinic")
        assert shown is not None
        assert code_of(lambda: fresh.check_own("insurer", shown, signing("clinic"))) == "E544"


def test_two_ledgers_of_one_length_are_found_out(insurer: Ledger):
    with open_ledger() as ledger:
        met(ledger, insurer)
    with open_ledger(clock=None) as other:
        now = other.signed_head(signing("clinic"))
        other.set_budget("analyst", 1.0, 1e-6)
        insurer.check_peer(other.signed_head(signing("clinic")))
        forged = read_head({**now.document(), "head": "e" * 64}, "town", "clinic", "clinic", lambda *_: True)
        assert code_of(lambda: insurer.check_peer(forged)) == "E546"


def test_a_head_is_written_down_once(insurer: Ledger):
    with open_ledger() as ledger:
        head = ledger.signed_head(signing("clinic"))
    first = insurer.record_peer_head(head, signing("insurer"))
    count = insurer.head.count
    assert insurer.record_peer_head(head, signing("insurer")) == first
    assert insurer.head.count == count


@pytest.mark.parametrize(
    "change",
    [
        {"data_set": "city"},
        {"party": "insurer"},
        {"count": 9},
        {"count": 0},
        {"count": "1"},
        {"count": True},
        {"head": "f" * 64},
        {"head": "zz"},
        {"signature": "00" * 64},
        {"signature": "no hex"},
        {"signature": 7},
        {"more": 1},
    ],
)
def test_a_head_that_was_changed_on_its_way_is_not_believed(change: dict):
    with open_ledger() as ledger:
        document = ledger.signed_head(signing("clinic")).document() | change
    verify = signing("insurer").verify["clinic"]
    assert code_of(lambda: read_head(document, "town", "clinic", "clinic", verify)) == "E548"


@pytest.mark.parametrize("document", [None, [], "x", 3, {}])
def test_what_is_no_head_is_not_believed(document):
    assert code_of(lambda: read_head(document, "town", "clinic", "clinic", lambda *_: True)) == "E548"


def test_a_signature_on_a_head_is_no_countersignature():
    with open_ledger() as ledger:
        ours = signing("clinic")
        head = ledger.signed_head(ours)
        insurers = signing("insurer")
        for signature in (bytes.fromhex(head.signature), insurers.sign("ledger head", head.message)):
            action = lambda signature=signature: ledger.record_countersignature("insurer", head, signature, ours)
            assert code_of(action) == "E548"
        ledger.record_countersignature("insurer", head, countersign(head, insurers.sign), ours)


def test_no_exchange_before_the_peer_holds_the_head():
    """A countersignature of before the spending does not do."""
    with open_ledger() as ledger:
        countersigned_by(ledger)
        ledger.spend(attempt(1), spending(), ("p:1",), "tables")
        ledger.store(attempt(1), {"shares": b"s"})
        assert code_of(lambda: ledger.begin_exchange(attempt(1))) == "E557"
        countersigned_by(ledger)
        assert len(ledger.begin_exchange(attempt(1))) == 1


def test_the_head_for_the_release_is_the_same_in_every_session():
    disk = SimulatedDisk()
    with open_ledger(disk) as ledger:
        ledger.spend(attempt(1), spending(), ("p:1",), "tables")
        first = ledger.spent_head(attempt(1), signing("clinic"))
        assert first == ledger.signed_head(signing("clinic"))
        ledger.set_budget("analyst", 9.0, 1e-6)
    with open_ledger(disk) as ledger:
        assert ledger.spent_head(attempt(1), signing("clinic")) == first != ledger.signed_head(signing("clinic"))


def test_a_head_does_not_tell_what_was_written():
    """The same entries at the same times have other heads: 128 random bits are in every line."""
    from pathlib import Path

    from ledger.small_runs import Clock
    from unsafe_entropy import UnsafeSeededEntropy

    heads = set()
    for seed in range(2):
        entropy = UnsafeSeededEntropy(seed)
        with Ledger.open(Path("/x"), "town", "clinic", entropy.bytes, clock=Clock(), disk=SimulatedDisk()) as ledger:
            ledger.set_budget("analyst", 1.0, 1e-6)
            heads.add(ledger.head.digest)
    assert len(heads) == 2
