"""Who a party is: an Ed25519 key whose fingerprint stands in the agreement.

The identity key signs two kinds of things: statements of its party (releases, ledger heads; each under a domain, so
that a signature on one is never one on another) and, as a certificate authority of its own, short-lived TLS keys. The
TLS key is another key, made anew for every run and never written for longer than it takes to load it. A certificate
begins with the byte 0x30, a statement with "vertwin/": no signature serves for both.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from vertwin.errors import user_error
from vertwin.parties.state import refuse_open, usable_name
from vertwin.release.signatures import fingerprint_of, signing_input

KEY_FILE = "identity.key"
TLS_DAYS = 14  # longer than any run; what is lost with a TLS key is lost for this long
CLOCK_SKEW = timedelta(hours=12)  # a peer's clock may run behind ours by this much

_FOR_EVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)  # RFC 5280: "no well-defined expiration date"
_LARGEST_FILE = 100_000


@dataclass(frozen=True)
class PublicIdentity:
    """What NAME.identity.pem says. Its fingerprint is to be compared with the agreement; the file proves nothing."""

    name: str
    certificate: x509.Certificate = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> PublicIdentity:
        try:
            with path.open("rb") as file:
                content = file.read(_LARGEST_FILE)
        except OSError as error:
            raise user_error("E422", f"cannot be read ({error.strerror})", place=str(path)) from error
        return cls.parse(content, str(path))

    @classmethod
    def parse(cls, pem: bytes, place: str = "") -> PublicIdentity:
        """From the file's content: one self-signed certificate of an Ed25519 key, made by `vertwin identity`."""
        if b"PRIVATE KEY" in pem:
            raise user_error("E422", "this is a private key, which nobody else may have", place=place)
        try:
            (certificate,) = x509.load_pem_x509_certificates(pem)
            certificate.verify_directly_issued_by(certificate)
            name = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value
            authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
            usable = authority and isinstance(name, str) and isinstance(certificate.public_key(), Ed25519PublicKey)
        except (ValueError, TypeError, IndexError, InvalidSignature, x509.ExtensionNotFound) as error:
            raise user_error("E422", "the file holds no certificate of an identity key", place=place) from error
        if not usable or not isinstance(name, str) or not usable_name(name):
            raise user_error("E422", "the certificate is not one of a vertwin identity", place=place)
        return cls(name, certificate)

    @property
    def public(self) -> bytes:
        return _public_bytes(self.certificate.public_key())

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.public)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def verify(self, domain: str, message: bytes, signature: bytes) -> bool:
        key = self.certificate.public_key()
        assert isinstance(key, Ed25519PublicKey)
        try:
            key.verify(signature, signing_input(domain, message))
        except InvalidSignature:
            return False
        return True

    def certified(self, certificate: bytes) -> bool:
        """Whether this identity signed that TLS certificate (DER). Its dates are the TLS layer's business."""
        try:
            x509.load_der_x509_certificate(certificate).verify_directly_issued_by(self.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True


@dataclass(frozen=True, repr=False)
class Identity:
    """A party's own identity, private key included. Blind repr."""

    name: str
    folder: Path
    certificate: x509.Certificate
    key: Ed25519PrivateKey

    def __repr__(self) -> str:
        return f"Identity({self.name!r}, {self.fingerprint})"

    @property
    def shown(self) -> PublicIdentity:
        """What the peers may see of it."""
        return PublicIdentity(self.name, self.certificate)

    @property
    def public(self) -> bytes:
        return self.shown.public

    @property
    def fingerprint(self) -> str:
        return self.shown.fingerprint

    @property
    def public_file(self) -> Path:
        """The file that is sent to the peers."""
        return public_file(self.folder, self.name)

    def sign(self, domain: str, message: bytes) -> bytes:
        return self.key.sign(signing_input(domain, message))

    def tls_files(self, folder: Path, now: datetime | None = None) -> tuple[Path, Path]:
        """A new TLS key and its certificate, in a private folder of the caller, who removes both once loaded."""
        tls_key = Ed25519PrivateKey.generate()
        start = now or datetime.now(UTC)
        certificate = (
            _builder(self.name, self.name, tls_key.public_key(), start - CLOCK_SKEW, start + timedelta(days=TLS_DAYS))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), False
            )
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .sign(self.key, None)
        )
        chain, key_file = folder / "tls.pem", folder / "tls.key"
        _write(chain, certificate.public_bytes(serialization.Encoding.PEM), 0o600)
        _write(key_file, _private_bytes(tls_key), 0o600)
        return chain, key_file


def create(name: str, folder: Path, force: bool = False) -> Identity:
    """Make a party's keys in `folder` (mode 0700, State.identity). Existing ones are replaced with `force` only."""
    if not force and ((folder / KEY_FILE).exists() or public_file(folder, name).exists()):
        raise user_error(
            "E420", f"{name} has an identity; new keys would make it a stranger to its peers", place=str(folder)
        )
    key = Ed25519PrivateKey.generate()
    now = datetime.now(UTC)
    certificate = (
        _builder(name, name, key.public_key(), now - CLOCK_SKEW, _FOR_EVER)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, None)
    )
    _write(folder / KEY_FILE, _private_bytes(key), 0o600)
    _write(public_file(folder, name), certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return Identity(name, folder, certificate, key)


def load(name: str, folder: Path) -> Identity:
    """The identity that `create` made in this folder."""
    path = folder / KEY_FILE
    if not path.exists():
        raise user_error("E421", f"{name} has no identity here", f"make one: vertwin identity {name}", str(folder))
    refuse_open(path)
    shown = PublicIdentity.read(public_file(folder, name))
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise user_error("E421", "the key cannot be read", "restore it from your copy", str(path)) from error
    if not isinstance(key, Ed25519PrivateKey) or _public_bytes(key.public_key()) != shown.public or shown.name != name:
        raise user_error(
            "E421", f"the key and {public_file(folder, name).name} do not belong together", place=str(path)
        )
    return Identity(name, folder, shown.certificate, key)


def public_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.identity.pem"


def _public_bytes(key: object) -> bytes:
    assert isinstance(key, Ed25519PublicKey)
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _private_bytes(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _builder(
    subject: str, issuer: str, key: Ed25519PublicKey, start: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_distinguished(subject, "tls" if end != _FOR_EVER else "identity"))
        .issuer_name(_distinguished(issuer, "identity"))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
    )


def _distinguished(name: str, role: str) -> x509.Name:
    """The party's name as the organisation: a common name ends at 64 bytes, names of agreements at 64 letters."""
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, name),
            x509.NameAttribute(NameOID.COMMON_NAME, f"vertwin {role}"),
        ]
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write(path: Path, content: bytes, mode: int) -> None:
    """Whole or not at all, and never readable by others for a moment in between."""
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)  # of mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
