"""Where the other parties are: `peers.toml`, each party's own file, whose addresses no agreement has to know.

listen = "0.0.0.0:7443"

[[peers]]
name = "insurer"
address = "vertwin.insurer.example:7443"
identity = "insurer.identity.pem"        # beside this file, or a whole path
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vertwin.agreement import Agreement
from vertwin.errors import Faults, UserError, user_error
from vertwin.parties.identity import PublicIdentity

FILE = "peers.toml"
_LARGEST_FILE = 1_000_000


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str, lowest_port: int = 1) -> Address:
        """From `host:port` or `[IPv6]:port`; ValueError if it is neither."""
        match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%]+)\]|([^\s:/@\[\]]+)):(\d{1,5})", text)
        if match is None or not lowest_port <= int(match[3]) <= 65535:
            raise ValueError(text)
        return cls(match[1] or match[2], int(match[3]))


@dataclass(frozen=True)
class Peer:
    """Another party: its name in the agreement, where it listens, and the identity that must answer there."""

    name: str
    address: Address
    identity: PublicIdentity


@dataclass(frozen=True)
class Peers:
    """This party's own address to listen on, and its peers, in the file's order. `file` is for messages."""

    listen: Address
    peers: tuple[Peer, ...]
    file: str = FILE

    def __getitem__(self, name: str) -> Peer:
        return next(peer for peer in self.peers if peer.name == name)


def load(path: Path, agreement: Agreement, me: str, my_fingerprint: str) -> Peers:
    """Read `peers.toml` and hold it against the agreement: every fault of the file, its identities and keys at once."""
    faults = Faults()
    document = _read(path)
    listen = _address(document.pop("listen", None), "listen", faults, lowest_port=0)
    entries = document.pop("peers", None)
    for key in document:
        faults.add("E425", f'unknown key "{key}"', "the keys are: listen, peers", path.name)
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        faults.add("E425", "no peers are listed", "write a table [[peers]] for each other party", path.name)
        entries = []
    peers = [peer for i, entry in enumerate(entries) if (peer := _peer(entry, i, path, faults)) is not None]
    listed = [str(entry.get("name")) for entry in entries]
    _check_names(listed, agreement, me, path, faults)
    _check_keys(peers, agreement, me, my_fingerprint, faults)
    faults.raise_if_any()
    assert listen is not None
    return Peers(listen, tuple(peers), str(path))


def _read(path: Path) -> dict[str, Any]:
    hint = "docs/parties.md shows what to write in it"
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE)
        return tomllib.loads(content.decode("utf-8").removeprefix("\ufeff"))
    except OSError as error:
        raise user_error("E424", f"cannot be read ({error.strerror})", hint, str(path)) from error
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise user_error("E424", f"not TOML in UTF-8: {str(error)[:200]}", hint, str(path)) from error


def _peer(entry: dict[str, Any], number: int, path: Path, faults: Faults) -> Peer | None:
    name = entry.get("name")
    place = f"[[peers]] {number + 1}" + (f' "{name}"' if isinstance(name, str) else "")
    complete = True
    for key in entry:
        if key not in ("name", "address", "identity"):
            faults.add("E425", f'unknown key "{key}"', "the keys are: name, address, identity", place)
    for key in ("name", "identity"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            faults.add("E425", f"{key} is missing or no text", place=place)
            complete = False
    address = _address(entry.get("address"), f"{place} address", faults)
    if not complete or not isinstance(name, str):
        return None
    try:
        identity = PublicIdentity.read(path.parent / Path(entry["identity"]).expanduser())
    except UserError as error:
        faults.extend(error.faults)
        return None
    if identity.name != name:
        faults.add("E428", f'the identity file is that of "{identity.name}"', place=place)
    return None if address is None else Peer(name, address, identity)


def _address(value: Any, place: str, faults: Faults, lowest_port: int = 1) -> Address | None:
    if value is None:
        faults.add("E425", "the address is missing", 'write "host:port"', place)
        return None
    try:
        return Address.parse(value if isinstance(value, str) else "", lowest_port)
    except ValueError:
        faults.add("E427", "this is not an address", 'write "host:port", for example "0.0.0.0:7443"', place)
        return None


def _check_names(listed: list[str], agreement: Agreement, me: str, path: Path, faults: Faults) -> None:
    others = [party.name for party in agreement.parties if party.name != me]
    for name in others:
        if listed.count(name) != 1:
            how = "is not listed" if name not in listed else "is listed twice"
            faults.add("E426", f'"{name}", a party of the agreement, {how}', place=path.name)
    for name in dict.fromkeys(listed):
        if name not in others:
            why = "is this party itself" if name == me else "is no party of the agreement"
            faults.add("E426", f'"{name}" {why}', place=path.name)


def _check_keys(peers: list[Peer], agreement: Agreement, me: str, my_fingerprint: str, faults: Faults) -> None:
    """The agreement decides who is who: a file that came by mail may be anybody's."""
    have = {peer.name: peer.identity.fingerprint for peer in peers} | {me: my_fingerprint}
    for party in agreement.parties:
        if party.name not in have:
            continue
        if party.key is None:
            faults.add(
                "E428",
                f'the agreement names no key of "{party.name}"',
                f'write key = "{have[party.name]}" once you compared it with that party, and let all sign again',
                f"parties.{party.name}.key",
            )
        elif party.key != have[party.name]:
            whose = "this party's own key" if party.name == me else "the identity file's key"
            faults.add(
                "E428",
                f"{whose} is {have[party.name]}, the agreement says {party.key}",
                "one of the two is not from that party: ask it by another way, the telephone for instance",
                f"parties.{party.name}.key",
            )
