"""Identities: what they sign and certify, and files that are not one."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from vertwin.agreement import limits
from vertwin.errors import UserError
from vertwin.parties import PublicIdentity
from vertwin.parties import identity as identities


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "clinic"
    made.mkdir(mode=0o700)
    return made


def test_an_identity_is_loaded_as_it_was_made(folder):
    made = identities.create("clinic", folder)
    again = identities.load("clinic", folder)
    assert again.fingerprint == made.fingerprint
    assert PublicIdentity.read(made.public_file).fingerprint == made.fingerprint
    assert made.fingerprint.startswith("SHA256:") and len(made.fingerprint) == 50
    assert sorted(path.name for path in folder.iterdir()) == ["clinic.identity.pem", "identity.key"]
    assert stat.S_IMODE((folder / "identity.key").stat().st_mode) == 0o600
    assert "key" not in repr(made).replace("made", "") or made.fingerprint in repr(made)


def test_names_of_every_allowed_length_and_script(tmp_path):
    for name in ("a", "ä" * limits.NAME_CHARACTERS, "病院_1"):
        assert identities.create(name, tmp_path, force=True).shown.name == name
        assert identities.load(name, tmp_path).name == name


def test_a_signature_serves_for_one_domain_and_one_message(folder):
    mine = identities.create("clinic", folder)
    signature = mine.sign("release", b"digest")
    assert mine.shown.verify("release", b"digest", signature)
    assert not mine.shown.verify("ledger", b"digest", signature)
    assert not mine.shown.verify("release", b"digesT", signature)
    assert not mine.shown.verify("release", b"digest", signature[:-1])
    other = identities.create("clinic", folder, force=True)
    assert not other.shown.verify("release", b"digest", signature)


def test_the_tls_key_is_another_key_certified_for_days(folder, tmp_path):
    mine = identities.create("clinic", folder)
    chain, key = mine.tls_files(tmp_path)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    certificate = x509.load_pem_x509_certificate(chain.read_bytes())
    public = certificate.public_key()
    assert isinstance(public, Ed25519PublicKey) and public != load_der_public_key(mine.public)
    days = (certificate.not_valid_after_utc - datetime.now(UTC)).days
    assert 0 < days <= identities.TLS_DAYS
    assert mine.shown.certified(certificate.public_bytes(identities.serialization.Encoding.DER))
    other = identities.create("clinic", folder, force=True)
    assert not other.shown.certified(certificate.public_bytes(identities.serialization.Encoding.DER))
    assert not other.shown.certified(b"no certificate")


def refused(function, *arguments, **options):
    with pytest.raises(UserError) as caught:
        function(*arguments, **options)
    assert len(caught.value.codes) == 1
    return caught.value.codes[0]


def test_keys_are_not_replaced_by_accident(folder):
    before = identities.create("clinic", folder).fingerprint
    assert refused(identities.create, "clinic", folder) == "E420"
    assert identities.load("clinic", folder).fingerprint == before
    assert identities.create("clinic", folder, force=True).fingerprint != before


def test_what_is_not_there_or_does_not_belong_together(folder):
    assert refused(identities.load, "clinic", folder) == "E421"
    identities.create("clinic", folder)
    (folder / "identity.key").write_bytes(b"no key")
    assert refused(identities.load, "clinic", folder) == "E421"
    (folder / "clinic.identity.pem").unlink()
    assert refused(identities.load, "clinic", folder) == "E422"


def test_a_key_that_others_may_read_is_refused(folder):
    identities.create("clinic", folder)
    os.chmod(folder / "identity.key", 0o640)
    assert refused(identities.load, "clinic", folder) == "E423"


def test_files_that_are_no_identity(folder, tmp_path):
    mine = identities.create("clinic", folder)
    chain, key = mine.tls_files(tmp_path)  # a certificate, but not of an identity
    for content in (
        b"",
        b"no PEM",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        chain.read_bytes(),
        key.read_bytes(),
        mine.shown.pem * 2,
        mine.shown.pem.replace(b"M", b"N", 1),
    ):
        assert refused(PublicIdentity.parse, content) == "E422"
    assert refused(PublicIdentity.read, tmp_path / "nowhere.pem") == "E422"


def test_a_failed_write_leaves_the_old_keys_and_no_litter(folder, monkeypatch):
    before = identities.create("clinic", folder).fingerprint
    monkeypatch.setattr(identities.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space"):
        identities.create("clinic", folder, force=True)
    assert identities.load("clinic", folder).fingerprint == before
    assert len(list(folder.iterdir())) == 2
