"""The ledger's order of calls: no receipt without a spending, stored shares and a countersigned head."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path

import pytest
from ledger.simulated_disk import SimulatedDisk, Stopped
from ledger.small_runs import RELEASE, attempt, countersigned_by, open_ledger, signing, spending

import vertwin
from vertwin.errors import UserError
from vertwin.ledger import Receipt
from vertwin.ledger.attempts import AttemptState
from vertwin.ledger.entries import Linked
from vertwin.ledger.ledger import Ledger, LedgerReceipt
from vertwin.ledger.pending import ENDING
from vertwin.ledger.secret import Secret, private_digest

PARTS = {"shares": b"\x00\xff" * 50, "own tables": b""}


def code_of(action) -> str:
    with pytest.raises(UserError) as caught:
        action()
    (code,) = caught.value.codes
    return code


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk()


@pytest.fixture
def ledger(disk: SimulatedDisk):
    with open_ledger(disk) as opened:
        yield opened


def spent(ledger: Ledger, number: int = 1) -> str:
    ledger.spend(attempt(number), spending(), ("program:1", "program:2"), "all tables")
    return attempt(number)


def stored(ledger: Ledger, number: int = 1) -> str:
    name = spent(ledger, number)
    ledger.store(name, PARTS)
    countersigned_by(ledger)
    return name


def test_receipts_name_the_runs_that_were_spent_for(ledger: Ledger):
    first, second = ledger.begin_exchange(stored(ledger))
    assert isinstance(first, Receipt)
    assert (first.covers, second.covers, first.watermark) == ("program:1", "program:2", None)


def test_no_receipt_without_a_spending(ledger: Ledger):
    assert code_of(lambda: ledger.begin_exchange(attempt(1))) == "E556"
    assert code_of(lambda: ledger.store(attempt(1), PARTS)) == "E556"


def test_no_receipt_without_stored_shares(ledger: Ledger):
    name = spent(ledger)
    countersigned_by(ledger)
    assert code_of(lambda: ledger.begin_exchange(name)) == "E553"


def test_no_receipt_for_stored_shares_that_were_changed(ledger: Ledger, disk: SimulatedDisk):
    name = stored(ledger)
    (path,) = [path for path in disk.tree if path.name.endswith(ENDING)]
    whole = disk.tree[path].data
    for i in range(0, len(whole), 7):
        disk.tree[path].data = whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :]
        assert code_of(lambda: ledger.begin_exchange(name)) == "E553"
        assert ledger.state(name) is AttemptState.NONE
    for size in (0, 1, 63, 64, 65, len(whole) - 1):
        disk.tree[path].data = whole[:size]
        assert code_of(lambda: ledger.stored(name)) == "E553"
    disk.tree[path].data = whole
    assert ledger.stored(name) == PARTS


def test_stored_shares_of_another_attempt_are_not_taken(ledger: Ledger, disk: SimulatedDisk):
    name = stored(ledger)
    (path,) = [path for path in disk.tree if path.name.endswith(ENDING)]
    ledger.spend(attempt(2), spending(agreement="c" * 64), ("p:1",), "tables")
    disk.tree[path.with_name(attempt(2) + ENDING)] = disk.tree[path]
    assert code_of(lambda: ledger.stored(attempt(2))) == "E553"
    assert ledger.stored(name) == PARTS


def test_after_a_crash_the_same_receipts_again(disk: SimulatedDisk):
    with open_ledger(disk) as ledger:
        name = stored(ledger)
        before = [receipt.covers for receipt in ledger.begin_exchange(name)]
        count = ledger.head.count
    with open_ledger(disk) as ledger:
        assert ledger.unsettled() == {name: AttemptState.ALL_STORED}
        assert [receipt.covers for receipt in ledger.begin_exchange(name)] == before
        assert ledger.head.count == count


def test_nobody_makes_a_receipt_but_the_ledger(ledger: Ledger):
    with pytest.raises(TypeError, match="begin_exchange alone"):
        LedgerReceipt(attempt(1), "program:1", object())
    receipt = ledger.begin_exchange(stored(ledger))[0]
    for forge in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            forge(receipt)


def test_the_product_makes_receipts_in_one_place():
    root = Path(vertwin.__file__).parent
    places = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", getattr(node.func, "attr", "")) == "LedgerReceipt"
            ):
                places.add(str(path.relative_to(root)))
    assert places == {"ledger/ledger.py"}


def test_an_attempt_is_spent_and_stored_once(ledger: Ledger):
    name = stored(ledger)
    assert code_of(lambda: spent(ledger)) == "E554"
    assert code_of(lambda: ledger.store(name, PARTS)) == "E554"
    ledger.begin_exchange(name)
    assert code_of(lambda: ledger.store(name, PARTS)) == "E554"
    for bad in ("", "x", "A" * 32, "../" + "0" * 29, attempt(1) + "0"):
        assert code_of(lambda bad=bad: ledger.spend(bad, spending(), (), "tables")) == "E554"


def test_an_unfinished_run_of_an_agreement_comes_before_a_new_one(ledger: Ledger):
    spent(ledger)
    assert code_of(lambda: spent(ledger, 2)) == "E556"
    ledger.forget(attempt(1))
    spent(ledger, 2)


def test_what_may_have_left_is_never_forgotten(ledger: Ledger):
    name = stored(ledger)
    ledger.begin_exchange(name)
    assert code_of(lambda: ledger.forget(name)) == "E556"
    ledger.keep(name)
    assert ledger.state(name) is AttemptState.LOST
    assert len(ledger.history.runs) == 1
    assert code_of(lambda: ledger.begin_exchange(name)) == "E556"


def test_what_never_left_is_forgotten_and_erased(ledger: Ledger, disk: SimulatedDisk):
    name = stored(ledger)
    ledger.forget(name)
    ledger.forget(name)
    assert (ledger.state(name), ledger.history.runs, ledger.unsettled()) == (AttemptState.NONE, (), {})
    assert not [path for path in disk.tree if path.name.endswith(ENDING)]
    assert code_of(lambda: ledger.begin_exchange(name)) == "E556"


def test_sealed_shares_stay_until_everybody_has_the_release(ledger: Ledger):
    name = stored(ledger)
    assert code_of(lambda: ledger.seal(name, RELEASE)) == "E556"  # nothing was exchanged yet
    ledger.begin_exchange(name)
    assert code_of(lambda: ledger.end(name)) == "E556"
    ledger.seal(name, RELEASE)
    ledger.seal(name, RELEASE)
    assert code_of(lambda: ledger.seal(name, "e" * 64)) == "E556"
    assert ledger.state(name) is AttemptState.SEALED
    assert ledger.stored(name) == PARTS
    assert len(ledger.begin_exchange(name)) == 2  # for a peer that was cut off
    ledger.end(name)
    ledger.end(name)
    assert ledger.state(name) is AttemptState.CLOSED


def test_shares_of_finished_attempts_are_erased_when_the_ledger_is_opened(disk: SimulatedDisk):
    with open_ledger(disk) as ledger:
        name = stored(ledger)
        (path,) = [path for path in disk.tree if path.name.endswith(ENDING)]
        kept = disk.tree[path]
        kept_data = kept.data
        ledger.forget(name)
        kept.data = kept_data
        disk.tree[path] = kept
    open_ledger(disk).close()
    assert path not in disk.tree
    assert kept.data == bytes(len(kept_data))  # overwritten before it was removed


def test_shares_that_were_half_stored_are_erased_when_the_ledger_is_opened(disk: SimulatedDisk):
    with open_ledger(disk) as ledger:
        spent(ledger)
        disk.stop_at, disk.fraction = disk.steps + 2, 0.5
        with pytest.raises(Stopped):
            ledger.store(attempt(1), PARTS)
    found = disk.after("killed")
    (part,) = [path for path in found.tree if path.parent.name == "pending"]
    half = found.tree[part]
    assert half.data
    with open_ledger(found) as ledger:
        assert ledger.unsettled() == {attempt(1): AttemptState.NONE}
    assert part not in found.tree
    assert half.data == bytes(len(half.data))


def test_the_owner_may_give_up_what_is_unfinished(ledger: Ledger):
    first = spent(ledger)
    assert ledger.abandon() == (first,)
    second = stored(ledger, 2)
    ledger.begin_exchange(second)
    assert ledger.abandon("f" * 64) == ()
    assert ledger.abandon() == (second,)
    third = stored(ledger, 3)
    ledger.begin_exchange(third)
    ledger.seal(third, RELEASE)
    assert ledger.abandon() == (third,)
    assert [attempt.counted for attempt in ledger.history.attempts] == [False, True, True]
    assert ledger.unsettled() == {}


def test_rehearsals_and_linkages_are_listed_not_counted(ledger: Ledger):
    ledger.record_rehearsal("care-and-claims", "a" * 64, secure=True)
    table = ledger.private_digest("table", b"rows")
    linked = Linked(attempt(1), "care", "a" * 64, ("clinic", "insurer"), "exact", ("person_id",), 100, 60, table)
    ledger.record_linkage(linked)
    history = ledger.history
    assert len(history.rehearsals) == 1
    assert history.linkages == (linked,)
    assert history.runs == ()


def test_a_private_digest_needs_the_secret_and_its_purpose(ledger: Ledger):
    assert ledger.private_digest("table", b"rows") != ledger.private_digest("shares", b"rows")
    assert private_digest(b"1" * 32, b"rows") != private_digest(b"2" * 32, b"rows")
    assert private_digest(b"1" * 32, b"rows") == private_digest(b"1" * 32, b"rows")
    secret = Secret(b"1" * 32)
    assert repr(secret) == "Secret(hidden)"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert repr(ledger._pending) == "PendingStore(contents hidden)"


def test_the_secret_is_the_same_in_every_session(disk: SimulatedDisk):
    digests = set()
    for _ in range(2):
        with open_ledger(disk) as ledger:
            digests.add(ledger.private_digest("table", b"rows"))
    assert len(digests) == 1


def test_a_peer_without_a_countersignature_is_named(ledger: Ledger):
    ledger.spend(attempt(1), spending(parties=("clinic", "insurer", "register")), ("p:1",), "tables")
    ledger.store(attempt(1), PARTS)
    countersigned_by(ledger)
    with pytest.raises(UserError, match='"register"') as caught:
        ledger.begin_exchange(attempt(1))
    assert caught.value.codes == ("E557",)
    assert signing("clinic", ("clinic", "register")).verify.keys() == {"clinic", "register"}
