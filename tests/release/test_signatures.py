"""Signatures: every party's, over these bytes, with the agreement's keys; nothing less opens or is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from release.example import KnownIdentity, kept_promise, measured, signatures_of, signed_agreement

from vertwin.errors import UserError
from vertwin.release import (
    Release,
    Signature,
    content_digest,
    fingerprint_of,
    open_release,
    read_release,
    sign,
    signing_input,
    write_release,
)
from vertwin.release import signatures as signing
from vertwin.release.container import pack, unpack
from vertwin.release.manifest import MANIFEST, digest_of
from vertwin.release.signatures import MEMBER

CONTENT = kept_promise()
SIGNED = signatures_of(CONTENT)
GOOD = Release(CONTENT, SIGNED).to_bytes()
MEMBERS = {name: bytes(body) for name, body in unpack(GOOD, "x").items()}


def refused(act: Callable[[], Any]) -> tuple[str, ...]:
    with pytest.raises(UserError) as error:
        act()
    return error.value.codes


def test_a_signed_release_is_written_and_read(tmp_path: Path) -> None:
    path = write_release(tmp_path / "small.vertwin", CONTENT, signatures=SIGNED)
    release = open_release(path)
    assert release.watermark is None
    assert [signature.party for signature in release.signatures] == ["clinic", "insurer"]
    assert release.digest == content_digest(CONTENT) == digest_of(MEMBERS)
    assert "signed by clinic, insurer" in repr(release)
    assert release.sample(10).num_rows == 10
    assert write_release(tmp_path / "copy.vertwin", release).read_bytes() == path.read_bytes() == GOOD


def test_one_release_has_one_file_in_whatever_order_signatures_came() -> None:
    assert Release(CONTENT, SIGNED[::-1]).to_bytes() == GOOD


def test_signatures_are_domain_separated_and_over_the_digest() -> None:
    message = content_digest(CONTENT).encode()
    assert signing_input("release", message) == b"vertwin/release\0" + message
    clinic = SIGNED[0]
    assert signing.is_valid(clinic.public_key, clinic.signature, "release", message)
    assert not signing.is_valid(clinic.public_key, clinic.signature, "tls", message)
    assert not signing.is_valid(SIGNED[1].public_key, clinic.signature, "release", message)
    with pytest.raises(AssertionError):
        signing_input("release\0more", b"")


def test_only_ed25519_in_its_one_encoding_is_taken() -> None:
    other = generate_private_key(SECP256R1()).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for key in (other, SIGNED[0].public_key + b"\0", b"", b"garbage"):
        assert not signing.is_valid(key, SIGNED[0].signature, "release", b"x")


def test_a_signature_travels_between_parties() -> None:
    for signature in SIGNED:
        assert Signature.from_bytes(signature.to_bytes()) == signature
    assert refused(lambda: Signature.from_bytes(signing.to_member(SIGNED))) == ("E524",)
    assert refused(lambda: Signature.from_bytes(b"")) == ("E524",)


def test_content_without_watermark_needs_every_signature(tmp_path: Path) -> None:
    path = tmp_path / "small.vertwin"
    assert refused(lambda: write_release(path, CONTENT)) == ("E505",)
    assert refused(lambda: write_release(path, CONTENT, signatures=SIGNED[:1])) == ("E527",)
    assert refused(lambda: write_release(path, CONTENT, signatures=(*SIGNED, SIGNED[0]))) == ("E527",)
    stranger = replace(SIGNED[0], party="stranger")
    assert refused(lambda: write_release(path, CONTENT, signatures=(*SIGNED, stranger))) == ("E527",)
    assert not path.exists()


def test_a_key_that_is_not_the_agreements_is_refused() -> None:
    stranger = KnownIdentity("stranger")
    assert refused(lambda: sign(CONTENT, "clinic", stranger)) == ("E528",)
    forged = Signature("clinic", stranger.public, stranger.sign("release", content_digest(CONTENT).encode()))
    assert refused(lambda: Release(CONTENT, (forged, SIGNED[1]))) == ("E528",)


def test_signatures_of_another_content_are_refused() -> None:
    other = replace(CONTENT, notes=("something else",))
    assert refused(lambda: Release(other, SIGNED)) == ("E529", "E529")


def test_each_signs_for_itself() -> None:
    swapped = (replace(SIGNED[0], party="insurer"), replace(SIGNED[1], party="clinic"))
    assert refused(lambda: Release(CONTENT, swapped)) == ("E528", "E528")


def test_a_rehearsal_cannot_be_signed() -> None:
    watermarked = replace(CONTENT, watermark="rehearsal")
    assert refused(lambda: sign(watermarked, "clinic", KnownIdentity("clinic"))) == ("E526",)
    assert refused(lambda: Release(watermarked, SIGNED)) == ("E526",)
    clinic = KnownIdentity("clinic")
    forced = Signature("clinic", clinic.public, clinic.sign("release", content_digest(watermarked).encode()))
    assert refused(lambda: Release(watermarked, (forced, SIGNED[1]))) == ("E526",)
    assert refused(lambda: Release(replace(CONTENT, watermark=" "), SIGNED)) == ("E505",)


def test_an_agreement_without_keys_makes_no_signed_release() -> None:
    keyless = replace(CONTENT, agreement=measured().agreement)
    assert refused(lambda: sign(keyless, "clinic", KnownIdentity("clinic"))) == ("E525",)
    assert set(refused(lambda: Release(keyless, SIGNED))) == {"E525"}


def test_a_contradictory_content_is_not_signed() -> None:
    assert refused(lambda: sign(replace(CONTENT, learner="dpvi"), "clinic", KnownIdentity("clinic"))) == ("E504",)
    assert refused(lambda: Release(replace(CONTENT, learner="dpvi"), SIGNED)) == ("E504",)


# --- files from anywhere ------------------------------------------------------------------------------------------


def test_every_changed_byte_is_refused() -> None:
    for place in range(len(GOOD)):
        changed = bytearray(GOOD)
        changed[place] ^= 1 << (place % 8)
        refused(lambda data=bytes(changed): read_release(data, "x"))


@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_every_changed_byte_of_a_member_is_refused_under_a_sound_envelope(name: str) -> None:
    """The attacker repairs the ZIP checksums; digests and signatures must hold on their own."""
    body = MEMBERS[name]
    for place in range(0, len(body), 1 if name == MEMBER else 5):
        changed = bytearray(body)
        changed[place] ^= 1 << (place % 7)
        data = pack({**MEMBERS, name: bytes(changed)})
        refused(lambda data=data: read_release(data, "x"))


def repaired(change: Callable[[Any], None]) -> bytes:
    document = json.loads(MEMBERS[MANIFEST])
    change(document)
    return pack({**MEMBERS, MANIFEST: (json.dumps(document, sort_keys=True, indent=1) + "\n").encode("ascii")})


@given(st.integers(0, 2), st.floats(1e-6, 1.0))
@settings(deadline=None, max_examples=20)
def test_a_better_promise_cannot_be_written_in(viewer: int, factor: float) -> None:
    """The attacker repairs every digest too, but has no private key."""

    def change(document: Any) -> None:
        document["statement"]["viewers"][viewer]["epsilon"] *= factor * (1 - 1e-12)

    assert refused(lambda: read_release(repaired(change), "x")) == ("E529", "E529")


def test_a_watermark_cannot_be_added_or_taken_away() -> None:
    assert refused(lambda: read_release(repaired(lambda document: document.update(watermark="x")), "x")) == ("E526",)
    bare = {name: body for name, body in MEMBERS.items() if name != MEMBER}
    assert refused(lambda: read_release(pack(bare), "x")) == ("E505",)


def test_signatures_have_one_spelling() -> None:
    document = json.loads(MEMBERS[MEMBER])
    entries = document["signatures"]

    def text(value: Any) -> bytes:
        return (json.dumps(value, sort_keys=True, indent=1) + "\n").encode()

    assert text(document) == MEMBERS[MEMBER]
    for body in (
        b"",
        b"{}",
        b"[]",
        b"[" * 100_000,
        b"\xff",
        json.dumps(document).encode(),
        MEMBERS[MEMBER] + b" ",
        text({"signatures": []}),
        text({"signatures": entries[::-1]}),
        text({"signatures": [{**entries[0], "signature": entries[0]["signature"].upper()}, entries[1]]}),
        text({"signatures": [{**entries[0], "signature": "0"}, entries[1]]}),
        text({"signatures": [{**entries[0], "more": 1}, entries[1]]}),
        b" " * (1 << 21),
    ):
        codes = refused(lambda body=body: read_release(pack({**MEMBERS, MEMBER: body}), "x"))
        assert set(codes) <= {"E524", "E505"}, body[:60]


@given(st.binary(min_size=64, max_size=64), st.sampled_from([0, 1]))
@settings(deadline=None, max_examples=40)
def test_no_other_signature_passes(forged: bytes, which: int) -> None:
    entries = list(SIGNED)
    entries[which] = replace(entries[which], signature=forged)
    assert refused(lambda: Release(CONTENT, entries)) == ("E529",)


def test_the_malleable_twin_of_a_signature_is_refused() -> None:
    """s + L in place of s satisfies the equation of Ed25519 too; a file with it would be another file."""
    order = 2**252 + 27742317777372353535851937790883648493
    raw = SIGNED[0].signature
    twin = raw[:32] + (int.from_bytes(raw[32:], "little") + order).to_bytes(32, "little")
    assert refused(lambda: Release(CONTENT, (replace(SIGNED[0], signature=twin), SIGNED[1]))) == ("E529",)


def test_the_fingerprint_is_that_of_the_agreement() -> None:
    party = signed_agreement().party("clinic")
    assert party.key == fingerprint_of(KnownIdentity("clinic").public) == SIGNED[0].fingerprint
    assert len(SIGNED[0].fingerprint) == len("SHA256:") + 43
