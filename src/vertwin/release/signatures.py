"""The signatures of a release: every party's, over the release's digest, made with the key that the agreement names.

The digest covers the agreement, and the agreement names the fingerprint of each party's identity key. So a file
proves by itself that the holders of those keys signed exactly these bytes. That a key is the clinic's, a file cannot
prove: whoever relies on it compares the fingerprint with one that came by another way.

A signature is over more than the digest: the purpose stands before it (`signing_input`), so that what was signed as
a release can never pass for an approval or a TLS key, nor the other way round.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key
from pydantic import BaseModel, ConfigDict, ValidationError

from vertwin.agreement import Agreement
from vertwin.errors import Faults, UserError, user_error

DOMAIN: Final = "release"
MEMBER: Final = "signatures.json"
_LONGEST: Final = 1 << 20  # of signatures.json: far above any real one
_DOMAIN: Final = re.compile(r"[a-z0-9 .-]{1,60}")
_HEX: Final = re.compile(r"([0-9a-f]{2}){1,500}")


def signing_input(domain: str, message: bytes) -> bytes:
    """What is really signed: the purpose, then the message. No two purposes can have the same bytes."""
    assert _DOMAIN.fullmatch(domain), "a purpose is one of ours, and holds no zero byte"
    return b"vertwin/" + domain.encode("ascii") + b"\0" + message


def fingerprint_of(public_key: bytes) -> str:
    """Of a public key as DER (SubjectPublicKeyInfo), written as in the agreement's `key`."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(public_key).digest()).decode("ascii").rstrip("=")


class Signer(Protocol):
    """A party's identity: the private key stays with it."""

    @property
    def public(self) -> bytes:
        """The public key as DER (SubjectPublicKeyInfo)."""
        ...

    def sign(self, domain: str, message: bytes) -> bytes:
        """The Ed25519 signature over `signing_input(domain, message)`."""
        ...


@dataclass(frozen=True)
class Signature:
    """One party's signature of one release, with the key that it can be checked with."""

    party: str
    public_key: bytes  # DER, SubjectPublicKeyInfo
    signature: bytes  # Ed25519, 64 bytes

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.public_key)

    def to_bytes(self) -> bytes:
        """For the other parties."""
        return _dump([self])

    @staticmethod
    def from_bytes(data: bytes, place: str = "") -> Signature:
        """One signature as another party sent it; nothing is checked yet but its form."""
        found = read(data, place)
        if len(found) != 1:
            raise _unreadable(place)
        return found[0]


def sign(digest: str, watermark: str | None, agreement: Agreement, party: str, signer: Signer) -> Signature:
    """This party's signature over the release with this digest.

    Refused where nobody could accept it: a rehearsal's release, a party without a key in the agreement, another key.
    """
    if watermark is not None:
        raise user_error("E526", "this release is a rehearsal's; only a run between the parties can be signed")
    named = agreement.party(party).key
    if named is None:
        raise user_error("E525", f'the agreement names no key of "{party}", so nobody could check its signature')
    if fingerprint_of(signer.public) != named:
        raise user_error(
            "E528",
            f'"{party}" is about to sign with the key {fingerprint_of(signer.public)}; the agreement names {named}',
            "sign with the identity whose fingerprint stands in the agreement",
        )
    return Signature(party, signer.public, signer.sign(DOMAIN, message_of(digest)))


def message_of(digest: str) -> bytes:
    """The message of a release's signatures: its digest, in hex."""
    return digest.encode("ascii")


def check(
    signatures: Sequence[Signature], watermark: str | None, agreement: Agreement, digest: str, place: str = ""
) -> Faults:
    """Everything that is wrong between a release and its signatures: it needs a watermark, or all of them.

    Formal guarantee: without a fault, the release has no watermark and each party of the agreement signed this digest
    with the key that the agreement names; or it has a watermark and no signatures.
    """
    faults = Faults()
    if watermark is not None or not signatures:
        if watermark is not None and not watermark.strip():
            watermark = None
        if watermark is None:
            faults.add(
                "E505",
                "a release is either signed by every party or watermarked as a rehearsal, and this one is neither",
                place=place,
            )
        elif signatures:
            faults.add("E526", "this release is watermarked as a rehearsal and signed all the same", place=place)
        return faults
    signers = [signature.party for signature in signatures]
    for party in agreement.parties:
        if signers.count(party.name) != 1:
            how = "not signed" if party.name not in signers else "signed more than once"
            faults.add("E527", f'it is {how} by "{party.name}"', "a release is signed by every party, once", place)
        if party.key is None:
            faults.add("E525", f'its agreement names no key of "{party.name}"', place=place)
    keys = {party.name: party.key for party in agreement.parties}
    for signature in signatures:
        _check_one(signature, keys, digest, faults, place)
    return faults


def _check_one(signature: Signature, keys: Mapping[str, str | None], digest: str, faults: Faults, place: str) -> None:
    if signature.party not in keys:
        faults.add("E527", "it is signed by somebody whom its agreement does not name", place=place)
    elif keys[signature.party] is None:
        return  # said already: nothing to check it against
    elif keys[signature.party] != signature.fingerprint:
        faults.add(
            "E528",
            f'the signature of "{signature.party}" is by the key {signature.fingerprint}; '
            f"the agreement names {keys[signature.party]}",
            place=place,
        )
    elif not is_valid(signature.public_key, signature.signature, DOMAIN, message_of(digest)):
        faults.add("E529", f'the signature of "{signature.party}" is not over this release', place=place)


def is_valid(public_key: bytes, signature: bytes, domain: str, message: bytes) -> bool:
    """Whether this Ed25519 key (DER, in its one encoding) signed this message for this purpose."""
    try:
        key = load_der_public_key(public_key)
        if not isinstance(key, Ed25519PublicKey):
            return False
        if key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) != public_key:
            return False
        key.verify(signature, signing_input(domain, message))
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True


def in_order(signatures: Iterable[Signature], agreement: Agreement) -> tuple[Signature, ...]:
    """In the order of the agreement's parties, so that one release has one file."""
    order = [party.name for party in agreement.parties]
    return tuple(sorted(signatures, key=lambda signature: order.index(signature.party)))


# --- the member of the file -----------------------------------------------------------------------------------------


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    party: str
    public_key: str
    signature: str


class _Document(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    signatures: tuple[_Entry, ...]


def to_member(signatures: Sequence[Signature]) -> bytes:
    """The member of the file."""
    return _dump(signatures)


def read(data: bytes, place: str) -> tuple[Signature, ...]:
    """The signatures in the member, or in a peer's message: form alone, in its one spelling."""
    if len(data) > _LONGEST:
        raise _unreadable(place)
    try:
        document = _Document.model_validate_json(data)
    except (ValidationError, ValueError, RecursionError):
        raise _unreadable(place) from None
    found: list[Signature] = []
    for entry in document.signatures:
        if not (_HEX.fullmatch(entry.public_key) and _HEX.fullmatch(entry.signature)):
            raise _unreadable(place)
        found.append(Signature(entry.party, bytes.fromhex(entry.public_key), bytes.fromhex(entry.signature)))
    if _dump(found) != data:
        raise _unreadable(place)
    return tuple(found)


def _dump(signatures: Sequence[Signature]) -> bytes:
    document: dict[str, Any] = {
        "signatures": [
            {"party": one.party, "public_key": one.public_key.hex(), "signature": one.signature.hex()}
            for one in signatures
        ]
    }
    return (json.dumps(document, sort_keys=True, indent=1) + "\n").encode("ascii")


def _unreadable(place: str) -> UserError:
    return user_error("E524", "its signatures are not in the form that vertwin writes", place=place)
