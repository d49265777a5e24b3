"""From an agreement to a link: this party's keys, its peers, the tunnel, the handshake, in this one order.

`prepare` needs no network and finds every fault of this party's own set-up; `join` opens the port. A command calls
the first before it reads a table, and the second once nothing of its own can fail any more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vertwin.agreement import Agreement
from vertwin.errors import user_error
from vertwin.parties import identity as identities
from vertwin.parties import peers as peer_files
from vertwin.parties.handshake import Hello, hello, shake_hands
from vertwin.parties.identity import Identity
from vertwin.parties.peers import Peers
from vertwin.parties.state import State
from vertwin.parties.tunnel import WAIT_SECONDS, Tunnel
from vertwin.parties.tunnel_link import Limits, TunnelLink
from vertwin.parties.tunnel_port import Notice


@dataclass(frozen=True)
class Prepared:
    """A party that could connect: what it is, and whom it expects where."""

    agreement: Agreement
    identity: Identity
    peers: Peers

    @property
    def fingerprints(self) -> dict[str, str]:
        """Everyone's, own included; `peers.load` has held them against the agreement."""
        theirs = {peer.name: peer.identity.fingerprint for peer in self.peers.peers}
        return theirs | {self.identity.name: self.identity.fingerprint}


@dataclass(frozen=True)
class Joined:
    """A party among its peers, all of which have said that they run the same."""

    tunnel: Tunnel
    link: TunnelLink
    greetings: dict[str, Hello]


def prepare(agreement: Agreement, me: str, state: State, peers_file: Path | None = None) -> Prepared:
    """Load keys and peers.toml (by default beside the keys) and hold both against the agreement."""
    names = [party.name for party in agreement.parties]
    if me not in names:
        raise user_error("E426", f'"{me}" is no party of the agreement', f"the parties: {', '.join(names)}")
    folder = state.identity(me)
    identity = identities.load(me, folder)
    peers = peer_files.load(peers_file or folder / peer_files.FILE, agreement, me, identity.fingerprint)
    return Prepared(agreement, identity, peers)


@contextlib.contextmanager
def join(
    prepared: Prepared, notice: Notice, seconds: float = WAIT_SECONDS, limits: Limits | None = None
) -> Iterator[Joined]:
    """Listen, wait for everyone, shake hands; at the end of the block everything is closed.

    A UserError that leaves the block is told to the peers, by its codes alone. COST: one message to each peer.
    """
    agreement, identity = prepared.agreement, prepared.identity
    everyone = tuple(party.name for party in agreement.parties)
    with Tunnel(identity, prepared.peers, everyone, notice, limits) as tunnel:
        link = tunnel.wait_for_peers(seconds)
        mine = hello(identity.name, identity.fingerprint, agreement.digest)
        yield Joined(tunnel, link, shake_hands(link, mine, prepared.fingerprints))
