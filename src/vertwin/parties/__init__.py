"""Organisations that really are apart: identities, peers, the tunnel between them, the handshake."""

from vertwin.parties.handshake import Hello, hello, shake_hands
from vertwin.parties.identity import Identity, PublicIdentity
from vertwin.parties.joining import Joined, Prepared, join, prepare
from vertwin.parties.peers import Peer, Peers
from vertwin.parties.state import State
from vertwin.parties.tunnel import Tunnel
from vertwin.parties.tunnel_link import TunnelLink

__all__ = [
    "Hello",
    "Identity",
    "Joined",
    "Peer",
    "Peers",
    "Prepared",
    "PublicIdentity",
    "State",
    "Tunnel",
    "TunnelLink",
    "hello",
    "join",
    "prepare",
    "shake_hands",
]
