"""Signed heads: what makes it impossible to take back an entry without a peer noticing.

A chain shows that nothing inside it was changed, not that its end is still there. So before a party reveals anything,
every peer has written down where that party's ledger stands, signed by that party, and has countersigned it. At the
next meeting a ledger that does not contain every head it ever signed stops the run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ConfigDict, TypeAdapter

from vertwin.errors import UserError, user_error
from vertwin.ledger.chain import Head, is_digest

HEAD_DOMAIN: Final = "ledger head"
COUNTERSIGNATURE_DOMAIN: Final = "ledger countersignature"

Sign = Callable[[str, bytes], bytes]
"""(domain, message) -> signature, with this party's identity key."""
Verify = Callable[[str, bytes, bytes], bool]
"""(domain, message, signature) -> whether one party's identity key made it."""


@dataclass(frozen=True)
class Signing:
    """This party's signature, and how to check everybody's (its own name included)."""

    sign: Sign
    verify: Mapping[str, Verify]


@dataclass(frozen=True)
class SignedHead:
    """Where a party's ledger on a data set stood, in that party's signature (hex). Public."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)
    data_set: str
    party: str
    count: int
    head: str
    signature: str

    @property
    def message(self) -> bytes:
        """What is signed, and what a peer countersigns under a domain of its own."""
        return head_message(self.data_set, self.party, Head(self.count, self.head))

    def document(self) -> dict[str, Any]:
        return dict(vars(self))


_HEAD: TypeAdapter[SignedHead] = TypeAdapter(SignedHead)


def head_message(data_set: str, party: str, head: Head) -> bytes:
    parts = {"data_set": data_set, "party": party, "count": head.count, "head": head.digest}
    return json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()


def sign_head(data_set: str, party: str, head: Head, sign: Sign) -> SignedHead:
    signature = sign(HEAD_DOMAIN, head_message(data_set, party, head))
    return SignedHead(data_set, party, head.count, head.digest, signature.hex())


def read_head(document: Any, data_set: str, party: str, teller: str, verify: Verify) -> SignedHead:
    """A head as a peer sends it; E548 unless it is one of that party on that data set, signed by it."""
    try:
        head = _HEAD.validate_json(json.dumps(document), strict=True)
        sound = head.count > 0 and is_digest(head.head)
        signature = bytes.fromhex(head.signature)
    except ValueError as error:  # pydantic's ValidationError is one
        raise unbelievable(teller, "cannot be read") from error
    if not sound or (head.data_set, head.party) != (data_set, party):
        raise unbelievable(teller, f'is not one of the ledger of "{party}" on the data set "{data_set}"')
    if not verify(HEAD_DOMAIN, head.message, signature):
        raise unbelievable(teller, f'is not signed by the key of "{party}"')
    return head


def countersign(head: SignedHead, sign: Sign) -> bytes:
    """Given only by a party that has written the head down."""
    return sign(COUNTERSIGNATURE_DOMAIN, head.message)


def check_countersignature(head: SignedHead, peer: str, signature: bytes, verify: Verify) -> None:
    if not verify(COUNTERSIGNATURE_DOMAIN, head.message, signature):
        raise unbelievable(peer, "was not countersigned with that party's key")


def went_back(peer: str, shown: SignedHead, own: bool, entries: int, place: str) -> UserError:
    """E544: a peer holds a head of this ledger that the ledger does not contain (`own`: this key signed it)."""
    here = f"this ledger ends at entry {entries}" if entries < shown.count else "here that entry is another one"
    signed = ", signed with this key" if own else ""
    return user_error(
        "E544",
        f'party "{peer}" holds the head of entry {shown.count} of this ledger{signed}; {here}',
        "an older copy was put back, or the state folder is another one: bring back the newest",
        place,
    )


def unbelievable(teller: str, why: str) -> UserError:
    return user_error("E548", f'a ledger head that party "{teller}" sent {why}')
