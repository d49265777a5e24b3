"""TunnelLink: the control messages of a session, over two one-way streams for each pair of parties.

Every party dials every other one: the stream it dialled carries its own messages and heartbeat, the one it accepted
carries the peer's. So both directions are known to work before anything starts, and the same text runs at every
party. Heartbeats tell slow from dead: a peer that computes for an hour still beats, one that is stopped does not.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import queue
import struct
import time
from dataclasses import dataclass, field

from vertwin.engine.link import Link
from vertwin.errors import CODES, UserError, user_error
from vertwin.parties.tunnel_streams import NO_SESSION, Stream

_FRAME = struct.Struct("<BQ")
_DATA, _BEAT, _GOODBYE = 0, 1, 2
_PIECE = 1 << 18
_GRACE = 0.3  # a peer's last word may arrive a moment after the end of the other stream
_LARGEST = 1 << 40  # no message is larger; a length beyond is garbage


@dataclass(frozen=True)
class Limits:
    """How long what may take, in seconds. Tests shorten them; nobody else has had to."""

    handshake: float = 10.0
    retry: float = 0.5
    line: float = 30.0  # between two lines about a peer that is waited for
    beat: float = 2.0
    silence: float = 30.0  # a peer unheard of for this long is gone
    service: float = 60.0  # how long a stream waits for the peer's engine to listen


@dataclass
class Traffic:
    """Bytes exchanged with one peer, before encryption: control messages and doors together."""

    sent: int = 0
    received: int = 0

    def count_sent(self, size: int) -> None:
        self.sent += size

    def count_received(self, size: int) -> None:
        self.received += size


@dataclass
class Line:
    """What is known of one peer. Written in the tunnel's thread alone."""

    name: str
    outgoing: Stream | None = None
    incoming: Stream | None = None
    heard: float = 0.0
    gone: str = ""  # how it went, once it has; call lose() to set it
    gone_since: float = 0.0
    ticked: float = 0.0  # when our own thread was last seen alive: while we sleep, a peer's silence says nothing
    stopped: str | None = None  # what it said when it ended: the codes of its own error, or nothing
    arrived: queue.Queue[bytes] = field(default_factory=queue.Queue)
    traffic: Traffic = field(default_factory=Traffic)
    waiting_for: str = "not tried yet"
    refusal: UserError | None = None

    @property
    def session(self) -> bytes:
        """The peer's session, once both directions stand and agree on it."""
        if self.outgoing is None or self.incoming is None or self.outgoing.session != self.incoming.session:
            return NO_SESSION
        return self.incoming.session

    def lose(self, how: str) -> None:
        if not self.gone:
            self.gone, self.gone_since = how, time.monotonic()

    def tick(self, late: float) -> None:
        now = time.monotonic()
        if now - self.ticked > late:
            self.heard = now
        self.ticked = now

    @property
    def complete(self) -> bool:
        return self.session != NO_SESSION


class TunnelLink(Link):
    """Made by `Tunnel.wait_for_peers`. Messages arrive in order and whole, or a coded error says who is gone."""

    def __init__(
        self,
        me: str,
        everyone: tuple[str, ...],
        lines: dict[str, Line],
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
    ) -> None:
        self.me, self.everyone = me, everyone
        self._lines, self._loop, self._limits = lines, loop, limits

    def send(self, to: str, payload: bytes) -> None:
        self._raise_if_gone(to)
        frame = post(self._lines[to], _DATA, payload)
        try:
            posted = asyncio.run_coroutine_threadsafe(frame, self._loop)
        except RuntimeError as error:  # the loop is closed
            frame.close()
            raise _gone(to, "cannot be reached: the tunnel was closed") from error
        while True:
            try:
                return posted.result(timeout=0.2)
            except concurrent.futures.TimeoutError:
                try:
                    self._raise_if_gone(to)
                except UserError:
                    posted.cancel()
                    raise
            except (OSError, concurrent.futures.CancelledError) as error:
                time.sleep(_GRACE)
                self._raise_if_gone(to)
                raise _gone(to, "has closed the connection") from error

    def receive(self, from_: str) -> bytes:
        line = self._lines[from_]
        while True:
            with contextlib.suppress(queue.Empty):
                return line.arrived.get(timeout=0.05)
            for name in self._lines:
                # Whoever ended in peace needs to be there only for those who still expect something of it. What
                # the peer sent before it went is still read: it was put there before the end was noted.
                known = self._lines[name].stopped, self._lines[name].gone
                if name == from_ and any(known) and not line.arrived.empty():
                    continue
                if name == from_ or known[0] != "":
                    self._raise_if_gone(name)

    def check(self) -> None:
        for name in self._lines:
            self._raise_if_gone(name)

    def _raise_if_gone(self, name: str) -> None:
        line = self._lines[name]
        if line.stopped is not None:
            known = [code for code in line.stopped.split(",") if code in CODES]
            if known:
                said = ", ".join(f"{code}, {CODES[code].title}" for code in known)
                raise user_error("E401", f'party "{name}" stopped with an error of its own ({said})')
            raise _gone(name, "has ended its part")
        if line.gone and time.monotonic() - line.gone_since > _GRACE:
            raise _gone(name, line.gone)
        silent = line.ticked - line.heard
        if silent > self._limits.silence:
            raise _gone(name, f"has not been heard of for {silent:.0f} seconds: it is stopped, or the network is down")


def _gone(name: str, how: str) -> UserError:
    return user_error("E402", f'party "{name}" {how}', "look at that party's own message, then start all of them again")


async def post(line: Line, kind: int, payload: bytes) -> None:
    """Write one frame. A large one goes in pieces, since every piece tells the peer that we live."""
    stream = line.outgoing
    if stream is None:
        raise ConnectionResetError
    async with stream.writing:
        stream.writer.write(_FRAME.pack(kind, len(payload)))
        line.traffic.count_sent(len(payload))
        view = memoryview(payload)
        for start in range(0, len(view), _PIECE):
            stream.writer.write(view[start : start + _PIECE])
            await stream.writer.drain()
        await stream.writer.drain()


async def listen(line: Line, stream: Stream) -> None:
    """Read the peer's stream until it ends. Raises OSError or EOFError at its end."""
    while True:
        kind, length = _FRAME.unpack(await stream.reader.readexactly(_FRAME.size))
        if length > _LARGEST:
            raise ConnectionResetError
        payload = bytearray()
        while len(payload) < length:
            piece = await stream.reader.read(min(_PIECE, length - len(payload)))
            if not piece:
                raise EOFError
            payload += piece
            line.heard = time.monotonic()
        line.heard = time.monotonic()
        line.traffic.count_received(length)
        if kind == _DATA:
            line.arrived.put(bytes(payload))
        elif kind == _GOODBYE:
            line.stopped = bytes(payload[:200]).decode("ascii", "replace")


async def beat(line: Line, every: float) -> None:
    """Tell the peer that we live, for as long as the stream stands."""
    with contextlib.suppress(OSError):
        while line.outgoing is not None:
            await post(line, _BEAT, b"")
            await asyncio.sleep(every)


async def say_goodbye(line: Line, codes: tuple[str, ...], seconds: float = 1.0) -> None:
    """To a peer go error codes only, never a sentence: a sentence may name columns and rows."""
    stream = line.outgoing
    if stream is None:
        return
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(seconds):
            await post(line, _GOODBYE, ",".join(codes).encode("ascii"))
            stream.writer.close()
            await stream.writer.wait_closed()
