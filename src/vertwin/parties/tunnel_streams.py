"""One stream of the tunnel: a TLS connection that opens with a header, and goes on once the called side consents.

    caller:  "vertwin" version | kind | caller's session, 16 | called side's session, 16 | length | channel
    called:  consent | version | called side's session, 16

The first eight bytes of either side keep their meaning in every version. In TLS 1.3 the caller believes to be
connected before the called side has judged its certificate: the consent is how it knows. A session is 16 random bytes
of one run of one party, so that a stream of an earlier run is never taken for one of this run.
"""

from __future__ import annotations

import asyncio
import enum
import os
import re
import socket
import ssl
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from vertwin.errors import Fault
from vertwin.parties.peers import Peer
from vertwin.parties.tunnel_tls import dialling_fault, turned_away_fault

MAGIC = b"vertwin"
TUNNEL_VERSION = 1
SESSION_BYTES = 16
NO_SESSION = bytes(SESSION_BYTES)
BUFFER = 1 << 20

_HEADER = struct.Struct(f"<7sBB{SESSION_BYTES}s{SESSION_BYTES}sB")
_ANSWER = struct.Struct(f"<BB{SESSION_BYTES}s")


class Kind(enum.IntEnum):
    CONTROL = 1
    DOOR = 2


class Consent(enum.IntEnum):
    GIVEN = 1
    OTHER_VERSION = 2
    OTHER_SESSION = 3
    NO_SERVICE = 4


@dataclass(frozen=True)
class Header:
    kind: Kind
    caller_session: bytes
    called_session: bytes
    channel: str = ""

    def encode(self) -> bytes:
        channel = self.channel.encode("ascii")
        fixed = (MAGIC, TUNNEL_VERSION, self.kind, self.caller_session, self.called_session, len(channel))
        return _HEADER.pack(*fixed) + channel


@dataclass
class Stream:
    """An open stream; `session` is that of the other end."""

    peer: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    session: bytes = NO_SESSION
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def abort(self) -> None:
        self.writer.transport.abort()


class NotThereError(Exception):
    """Nobody answers at the peer's address yet, for the reason given: try again."""


class RefusedError(Exception):
    """Somebody answers and this stream will not be; `final` says whether trying again could help."""

    def __init__(self, fault: Fault, final: bool) -> None:
        super().__init__(fault.sentence)
        self.fault, self.final = fault, final


def check_channel(channel: str) -> str:
    assert re.fullmatch(r"[a-z0-9.-]{1,100}", channel), f"channel {channel!r}"
    return channel


async def dial(peer: Peer, context: ssl.SSLContext, header: Header, seconds: float, patience: float) -> Stream:
    """Open a stream to a peer. `seconds` bounds the connection and the TLS handshake, `patience` the consent."""
    try:
        # Not wait_for: in Python 3.11 it can lose a cancellation.
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(
                peer.address.host, peer.address.port, ssl=context, server_hostname="", limit=BUFFER
            )
    except ssl.SSLError as error:
        fault = dialling_fault(peer, error)
        raise RefusedError(fault, final=fault.code not in ("E432", "E434")) from error
    except (OSError, TimeoutError, UnicodeError) as error:
        raise NotThereError(_why(error)) from error
    stream = Stream(peer.name, reader, writer)
    try:
        writer.write(header.encode())
        async with asyncio.timeout(patience):
            answer = await reader.readexactly(_ANSWER.size)
        _check_answer(peer, *_ANSWER.unpack(answer))
        stream.session = answer[-SESSION_BYTES:]
    except TimeoutError as error:
        stream.abort()
        raise NotThereError("it answers and does not go on") from error
    except (asyncio.IncompleteReadError, OSError) as error:
        stream.abort()
        raise RefusedError(turned_away_fault(peer, error), final=False) from error
    except BaseException:
        stream.abort()
        raise
    return stream


def _why(error: Exception) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return "this host name is not known here"
    if isinstance(error, TimeoutError) or not isinstance(error, OSError) or not error.errno:
        return "no answer"
    return os.strerror(error.errno)


def _check_answer(peer: Peer, consent: int, version: int, _session: bytes) -> None:
    if consent == Consent.OTHER_VERSION:
        fault = Fault(
            "E435",
            f'party "{peer.name}" has tunnel version {version}, this party version {TUNNEL_VERSION}',
            "install the same version of vertwin at every party",
        )
        raise RefusedError(fault, final=True)
    if consent != Consent.GIVEN:
        raise NotThereError("it is not ready for this yet")


async def accept(reader: asyncio.StreamReader) -> Header | Consent | None:
    """The header of a stream opened to us; what to answer if it cannot be taken; None if it is none of ours."""
    start = await reader.readexactly(8)
    if start[:7] != MAGIC:
        return None
    if start[7] != TUNNEL_VERSION:
        return Consent.OTHER_VERSION
    _, _, kind, caller, called, length = _HEADER.unpack(start + await reader.readexactly(_HEADER.size - 8))
    channel = await reader.readexactly(length)
    try:
        return Header(Kind(kind), caller, called, channel.decode("ascii"))
    except ValueError:
        return None


def answer(consent: Consent, session: bytes) -> bytes:
    return _ANSWER.pack(consent, TUNNEL_VERSION, session)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[int], None]) -> None:
    """Carry bytes one way until either end closes."""
    try:
        while piece := await reader.read(BUFFER):
            writer.write(piece)
            count(len(piece))
            await writer.drain()
    except OSError:
        return
