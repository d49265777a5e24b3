"""Parties that meet over loopback: their identities, their peers' entries, their tunnels, on ports of the system."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vertwin.parties import Identity, Peer, Peers, Tunnel, TunnelLink
from vertwin.parties import identity as identities
from vertwin.parties.peers import Address
from vertwin.parties.tunnel_link import Limits

QUICK = Limits(handshake=3, retry=0.05, line=0.2, beat=0.1, silence=1.0, service=5)


class Meeting:
    """The parties of one test. A test changes what it wants wrong before it opens the tunnels."""

    limits = QUICK

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.identities: dict[str, Identity] = {}
        self.known: dict[tuple[str, str], Identity] = {}  # (who, of whom): another identity than the true one
        self.ports: dict[str, int] = {}
        self.tunnels: list[Tunnel] = []
        self.notices: dict[str, list[str]] = {}
        self.reserved: list[socket.socket] = []

    def port(self) -> int:
        """A port that nobody else gets while the test lasts: bound, not listening, free for who may use it again."""
        reserved = socket.socket()
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        self.reserved.append(reserved)
        return reserved.getsockname()[1]

    def identity(self, name: str, again: str = "") -> Identity:
        folder = self.folder / (name + again)
        folder.mkdir(mode=0o700, exist_ok=True)
        return identities.create(name, folder)

    def invite(self, *names: str) -> None:
        for name in names:
            self.identities[name] = self.identity(name)
            self.ports[name] = self.port()

    def peers(self, me: str) -> Peers:
        others = [name for name in self.identities if name != me]
        return Peers(
            Address("127.0.0.1", self.ports[me]),
            tuple(
                Peer(
                    name,
                    Address("127.0.0.1", self.ports[name]),
                    self.known.get((me, name), self.identities[name]).shown,
                )
                for name in others
            ),
        )

    def tunnel(self, me: str, limits: Limits = QUICK) -> Tunnel:
        self.notices[me] = []
        made = Tunnel(
            self.known.get((me, me), self.identities[me]),
            self.peers(me),
            tuple(self.identities),
            self.notices[me].append,
            limits,
        )
        self.tunnels.append(made)
        made.open()
        return made

    def joined(self, limits: Limits = QUICK) -> tuple[dict[str, Tunnel], dict[str, TunnelLink]]:
        """All tunnels, connected."""
        from conftest import in_threads

        tunnels = {name: self.tunnel(name, limits) for name in self.identities}
        waits: dict[str, Callable[[], TunnelLink]] = {
            name: lambda tunnel=tunnel: tunnel.wait_for_peers(10) for name, tunnel in tunnels.items()
        }
        return tunnels, in_threads(waits)


@pytest.fixture
def meeting(tmp_path: Path) -> Iterator[Meeting]:
    made = Meeting(tmp_path)
    yield made
    for tunnel in made.tunnels:
        tunnel.close()
    for reserved in made.reserved:
        reserved.close()


@pytest.fixture
def pair(meeting: Meeting) -> Meeting:
    meeting.invite("clinic", "insurer")
    return meeting
