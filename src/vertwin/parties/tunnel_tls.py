"""Mutual TLS 1.3 with pinned identities, and what its failures mean to a person.

A fingerprint alone cannot anchor Python's TLS, so every identity is a certificate authority of its own: the peer's
identity certificate is the only anchor when we dial it, and all peers' certificates are the anchors when we listen.
Host names are not checked: who answers is decided by the key, not by the address.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from vertwin.errors import Fault
from vertwin.parties.identity import Identity
from vertwin.parties.peers import Peer, Peers

_NOT_YET_VALID, _EXPIRED = 9, 10  # OpenSSL's X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED


class Security:
    """The TLS contexts of one run: one to listen with, one for each peer to dial with."""

    def __init__(self, identity: Identity, peers: Peers, folder: Path) -> None:
        self._peers = peers.peers
        files = identity.tls_files(folder)
        try:
            self.listening = _context(ssl.PROTOCOL_TLS_SERVER, files, self._peers)
            self.listening.num_tickets = 0  # nothing is resumed: every stream shows its certificate
            self.dialling = {peer.name: _context(ssl.PROTOCOL_TLS_CLIENT, files, (peer,)) for peer in self._peers}
        finally:
            for file in files:
                file.unlink()

    def caller(self, certificate: bytes | None) -> str | None:
        """Which peer certified the key at the other end of an accepted stream."""
        for peer in self._peers:
            if certificate is not None and peer.identity.certified(certificate):
                return peer.name
        return None


def _context(kind: ssl._SSLMethod, files: tuple[Path, Path], peers: tuple[Peer, ...]) -> ssl.SSLContext:
    context = ssl.SSLContext(kind)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(*files)
    for peer in peers:
        context.load_verify_locations(cadata=peer.identity.pem.decode("ascii"))
    return context


def dialling_fault(peer: Peer, error: ssl.SSLError) -> Fault:
    """Why our side ended a TLS handshake with a peer that we dialled."""
    where = f'party "{peer.name}" at {peer.address}'
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in (_NOT_YET_VALID, _EXPIRED):
            return Fault(
                "E433",
                f"the certificate of {where} is {_when(error)}",
                "certificates are made anew for every run: compare the clocks of the two machines",
            )
        return Fault(
            "E431",
            f"what answers as {where} does not hold the key {peer.identity.fingerprint}",
            "check the address in peers.toml, and ask that party whether it has made new keys",
        )
    if "ALERT" in (error.reason or ""):
        return turned_away_fault(peer, error)
    return Fault(
        "E434",
        f'what answers at {peer.address}, the address of party "{peer.name}", is not vertwin\'s tunnel',
        "check the address in peers.toml",
    )


def turned_away_fault(peer: Peer, error: Exception | None = None) -> Fault:
    """The peer's side ended the handshake: it says no reason that could be relied on."""
    reason = error.reason or "" if isinstance(error, ssl.SSLError) else ""
    if "EXPIRED" in reason:
        return Fault(
            "E433",
            f'party "{peer.name}" holds this party\'s certificate to be out of its time',
            "certificates are made anew for every run: compare the clocks of the two machines",
        )
    return Fault(
        "E432",
        f'party "{peer.name}" at {peer.address} turned this party away: it does not know this party\'s key, '
        "or its clock differs by days",
        "send it this party's identity.pem again; both compare fingerprint and clock; its own screen says more",
    )


def listening_fault(caller: str, error: ssl.SSLError) -> Fault:
    """Why a connection to our port was turned away; a notice, since it stops nobody but the caller."""
    reason = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in (_NOT_YET_VALID, _EXPIRED):
            return Fault("E433", f"turned away a connection from {caller}: its certificate is {_when(error)}")
        return Fault("E437", f"turned away a connection from {caller}: its key is that of no party of peers.toml")
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return Fault("E437", f"turned away a connection from {caller}: it showed no certificate")
    if "ALERT" in reason:
        return Fault("E437", f"a connection from {caller} ended: the caller did not take this party's key")
    return Fault("E438", f"turned away a connection from {caller}: it does not speak TLS 1.3")


def _when(error: ssl.SSLCertVerificationError) -> str:
    return "expired" if error.verify_code == _EXPIRED else "not valid yet"
