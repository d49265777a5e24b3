"""Ledgers of a clinic and an insurer, keys to sign with, and the spendings of small runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from ledger.simulated_disk import SimulatedDisk
from unsafe_entropy import UnsafeSeededEntropy

from vertwin.ledger.budget import Spending
from vertwin.ledger.disk import Disk
from vertwin.ledger.events import Event, GaussianEvent
from vertwin.ledger.heads import Signing, Verify
from vertwin.ledger.ledger import Ledger

FOLDER = Path("/state/data/town/clinic")
PARTIES = ("clinic", "insurer")
AGREEMENT = "a" * 64
RELEASE = "d" * 64
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that the test sets."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def attempt(number: int) -> str:
    return f"{number:032x}"


def spending(
    analyst: float = 0.1,
    party: float = 0.12,
    parties: tuple[str, ...] = PARTIES,
    agreement: str = AGREEMENT,
    delta: float = 1e-6,
    keys: tuple[str | None, ...] | None = None,
) -> Spending:
    """A run that tells the analyst and each party so much (mu squared)."""
    events: list[tuple[tuple[str, ...], Event | None]] = [((), GaussianEvent(analyst, "replace_one"))]
    events += [((name,), GaussianEvent(party, "replace_one")) for name in parties]
    named = tuple(zip(parties, keys or (None,) * len(parties), strict=True))
    return Spending("care-and-claims", agreement, "b" * 64, named, tuple(events), delta)


def open_ledger(
    disk: Disk | None = None, party: str = "clinic", folder: Path = FOLDER, clock: Clock | None = None
) -> Ledger:
    entropy = UnsafeSeededEntropy(f"ledger of {party}")
    return Ledger.open(
        folder, "town", party, entropy.bytes, clock=clock or Clock(), disk=SimulatedDisk() if disk is None else disk
    )


_KEYS = {
    name: Ed25519PrivateKey.from_private_bytes(bytes([i] * 32)) for i, name in enumerate((*PARTIES, "register"), 1)
}


def signing(me: str, parties: tuple[str, ...] = PARTIES) -> Signing:
    def sign(domain: str, message: bytes) -> bytes:
        return _KEYS[me].sign(domain.encode() + b"\0" + message)

    return Signing(sign, {name: _verify(_KEYS[name].public_key()) for name in parties})


def _verify(key: Ed25519PublicKey) -> Verify:
    def verify(domain: str, message: bytes, signature: bytes) -> bool:
        try:
            key.verify(signature, domain.encode() + b"\0" + message)
        except InvalidSignature:
            return False
        return True

    return verify


def countersigned_by(ledger: Ledger, peer: str = "insurer") -> None:
    """What a peer's part in `conversation.all_stored` comes to, without the peer."""
    ours = signing(ledger.history.party)
    head = ledger.signed_head(ours)
    signature = signing(peer).sign("ledger countersignature", head.message)
    ledger.record_countersignature(peer, head, signature, ours)


def whole_run(ledger: Ledger, number: int, planned: Spending | None = None) -> None:
    """A run from spending to the end, at one party."""
    name = attempt(number)
    ledger.spend(name, planned or spending(), ("program:1",), "all tables")
    ledger.store(name, {"shares": b"share" * 10, "own tables": b"tables"})
    countersigned_by(ledger)
    ledger.begin_exchange(name)
    ledger.seal(name, RELEASE)
    ledger.end(name)
