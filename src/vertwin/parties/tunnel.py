"""The tunnel: one public port per party, mutual TLS to pinned identities, and through it everything that parties say.

    engine --unix socket--> door --TLS, one port--> the peer's tunnel --unix socket--> the peer's engine
    party  --control link---------TLS, same port--> the peer's party

SPU's own TLS port also takes unprotected connections from anybody, so its links run on unix sockets, in a folder of
mode 0700, and cross the network in here. The tunnel knows the peer, the reason and the time of a fault: what users
read about connections is written here, never taken from the engine's text. It lives in a thread of the party's
process, not in the engine's.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from vertwin.engine.program import Settings
from vertwin.errors import Fault, UserError
from vertwin.noise import SystemEntropy
from vertwin.parties.identity import Identity
from vertwin.parties.peers import Address, Peer, Peers
from vertwin.parties.tunnel_doors import Doors
from vertwin.parties.tunnel_link import Limits, Line, Traffic, TunnelLink, beat, listen, say_goodbye
from vertwin.parties.tunnel_port import Notice, Port, listen_on
from vertwin.parties.tunnel_streams import (
    BUFFER,
    NO_SESSION,
    SESSION_BYTES,
    Consent,
    Header,
    Kind,
    NotThereError,
    RefusedError,
    Stream,
    answer,
    dial,
)
from vertwin.parties.tunnel_tls import Security

WAIT_SECONDS = 3600.0
_REFUSALS = 3  # in a row, before a peer's refusal is believed: a peer that just ends looks the same
_LONGEST_PATH = 100  # of a unix socket; systems end at 104 to 108

T = TypeVar("T")


class Tunnel:
    """One run's connections of one party. Nothing listens before `open`, nothing is left after `close`."""

    def __init__(
        self,
        identity: Identity,
        peers: Peers,
        everyone: Sequence[str],
        notice: Notice | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.me, self.everyone = identity.name, tuple(everyone)
        assert set(self.everyone) == {self.me} | {peer.name for peer in peers.peers}
        self._identity, self._peers = identity, peers
        self._notice, self._limits = notice or (lambda _: None), limits or Limits()
        self._session = SystemEntropy().bytes(SESSION_BYTES)
        self._lines = {peer.name: Line(peer.name) for peer in peers.peers}
        self._ready = self._closing = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    # --- what the owner of the tunnel calls, from any thread --------------------------------------------------------

    def open(self) -> Address:
        """Listen; the address returned has the port that was taken where peers.toml says port 0."""
        assert self._loop is None, "a tunnel is opened once"
        with contextlib.ExitStack() as undo:
            self._listening = undo.enter_context(listen_on(self._peers.listen))
            self.folder = _short_private_folder()
            undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self._security = Security(self._identity, self._peers, self.folder)
            undo.pop_all()
        self._port = Port(
            self._listening,
            self._security,
            self._session,
            self._limits.handshake,
            self._notice,
            self._spawn,
            self._take,
        )
        self._doors = Doors(self.folder, self._dial_door, self._limits.service, self._spawn)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vertwin-tunnel", daemon=True)
        self._thread.start()
        self._loop.call_soon_threadsafe(self._start)
        host, port = self._listening.getsockname()[:2]
        return Address(host, port)

    def wait_for_peers(self, seconds: float = WAIT_SECONDS) -> TunnelLink:
        """Wait until every peer is connected both ways, in whatever order they start; say for whom and where.

        Raises E430 after `seconds`; at once where waiting cannot help (another key, another version, no TLS).
        """
        assert self._loop is not None
        self._call(self._until_complete(time.monotonic() + seconds))
        return TunnelLink(self.me, self.everyone, self._lines, self._loop, self._limits)

    def service(self, channel: str) -> Path:
        """The unix socket on which this party's engine is to listen: peers' doors of this channel lead here."""
        return self._doors.service(channel)

    def door(self, peer: str, channel: str) -> Path:
        """The unix socket that leads to that peer's service of this channel."""
        assert peer in self._lines
        return self._call(self._doors.door(peer, channel))

    def addresses(self, channel: str, nodes: Sequence[str]) -> dict[str, str]:
        """For a link of SPU: where each node is reached from here, and where this party's own listens."""
        return {
            name: f"unix:{self.service(channel) if name == self.me else self.door(name, channel)}" for name in nodes
        }

    def engine_addresses(self, settings: Settings) -> dict[str, str]:
        """What `SpuEngine` asks for: one channel for each set of settings."""
        numbers = "".join(f"{self.everyone.index(name)}." for name in settings.nodes)
        channel = f"spu.{settings.protocol}.{numbers}{settings.field_bits}.{settings.fraction_bits}"
        return self.addresses(channel, settings.nodes)

    def traffic(self) -> dict[str, Traffic]:
        """Bytes exchanged with each peer so far."""
        return {name: replace(line.traffic) for name, line in self._lines.items()}

    @property
    def turned_away(self) -> tuple[Fault, ...]:
        """Whom the port has turned away; each was also told through `notice`."""
        return tuple(self._port.turned_away)

    def close(self, codes: tuple[str, ...] = ()) -> None:
        """End everything. `codes` are those of this party's own error, if there is one: all that peers are told."""
        if self._loop is None or self._closing:
            return
        self._closing = True
        with contextlib.suppress(UserError):
            self._call(self._end(codes))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Tunnel:
        self.open()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, UserError):
            self.close(error.codes)
        else:  # an interruption has no code; any other exception is our bug
            self.close(("E499",) if isinstance(error, Exception) else ())

    # --- the rest runs in the tunnel's thread -----------------------------------------------------------------------

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _start(self) -> None:
        # Called inside the running loop, so that tasks find it.
        self._spawn(self._port.accept_all())
        self._spawn(self._tick())
        for peer in self._peers.peers:
            self._spawn(self._keep_dialling(peer))

    async def _tick(self) -> None:
        while True:
            for line in self._lines.values():
                line.tick(late=self._limits.silence / 2)
            await asyncio.sleep(self._limits.beat / 2)

    async def _keep_dialling(self, peer: Peer) -> None:
        """Hold the stream of our own messages to a peer; before the session begins, again and again."""
        line, refusals = self._lines[peer.name], 0
        while True:
            try:
                header = Header(Kind.CONTROL, self._session, NO_SESSION)
                context = self._security.dialling[peer.name]
                stream = await dial(peer, context, header, self._limits.handshake, self._limits.handshake)
            except NotThereError as error:
                line.waiting_for, refusals = f"nothing answers there yet ({error})", 0
            except RefusedError as error:
                refusals += 1
                line.waiting_for = "it turned this party away"
                if error.final or refusals >= _REFUSALS:
                    line.refusal = UserError(error.fault)
            else:
                line.refusal, refusals = None, 0
                await self._hold(line, stream)
                if self._ready:
                    line.lose("has closed the connection")
                    return
            await asyncio.sleep(self._limits.retry)

    async def _hold(self, line: Line, stream: Stream) -> None:
        line.outgoing = stream
        line.waiting_for = "it is reached, but has not reached this party yet"
        beating = asyncio.ensure_future(beat(line, self._limits.beat))
        try:
            with contextlib.suppress(OSError):
                while await stream.reader.read(BUFFER):  # nothing is said on it: this waits for its end
                    pass
        finally:
            beating.cancel()
            line.outgoing = None
            stream.abort()

    async def _take(self, stream: Stream, header: Header) -> None:
        """What a peer's stream is for: its own messages, or one of our services."""
        await (self._take_control if header.kind is Kind.CONTROL else self._take_door)(stream, header)

    async def _take_control(self, stream: Stream, header: Header) -> None:
        line = self._lines[stream.peer]
        stream.session = header.caller_session
        if self._ready:
            await self._port.refuse(stream, Consent.OTHER_SESSION)
            if stream.session != line.session:
                line.lose("was started again in the middle of the run")
            return
        if line.incoming is not None:
            line.incoming.abort()
        line.incoming, line.heard, line.stopped = stream, time.monotonic(), None
        while not line.arrived.empty():  # of an earlier run of the peer
            line.arrived.get_nowait()
        stream.writer.write(answer(Consent.GIVEN, self._session))
        try:
            await listen(line, stream)
        finally:
            if line.incoming is stream:
                if self._ready:
                    line.lose("has closed the connection")
                else:
                    line.incoming = None

    async def _take_door(self, stream: Stream, header: Header) -> None:
        line = self._lines[stream.peer]
        if header.called_session != self._session or header.caller_session != line.session:
            await self._port.refuse(stream, Consent.OTHER_SESSION)
            return
        consent = answer(Consent.GIVEN, self._session)
        if not await self._doors.serve(stream, header.channel, consent, line.traffic):
            await self._port.refuse(stream, Consent.NO_SERVICE)

    async def _dial_door(self, name: str, channel: str) -> tuple[Stream, Traffic]:
        line = self._lines[name]
        header = Header(Kind.DOOR, self._session, line.session, channel)
        patience = self._limits.service + self._limits.handshake
        stream = await dial(self._peers[name], self._security.dialling[name], header, self._limits.handshake, patience)
        return stream, line.traffic

    async def _until_complete(self, deadline: float) -> None:
        start = time.monotonic()
        told = dict.fromkeys(self._lines, start + min(1, self._limits.line) - self._limits.line)  # the first after 1 s
        connected: set[str] = set()
        while True:
            now = time.monotonic()
            for name, line in self._lines.items():
                if line.complete and name not in connected:
                    self._notice(f'party "{name}" is connected')
                    connected.add(name)
                elif not line.complete:
                    connected.discard(name)
                    if now - told[name] >= self._limits.line:
                        told[name] = now
                        self._notice(self._waiting_line(name))
            if refusals := [line.refusal for line in self._lines.values() if line.refusal is not None]:
                # Stay a little: the other side is to learn that it is turned away, not find nobody.
                await asyncio.sleep(self._limits.retry * (_REFUSALS + 2))
                raise UserError([fault for refusal in refusals for fault in refusal.faults])
            if len(connected) == len(self._lines):
                self._ready = True
                return
            if now > deadline:
                missing = [name for name in self._lines if name not in connected]
                raise UserError([self._did_not_come(name, now - start) for name in missing])
            await asyncio.sleep(0.02)

    def _waiting_line(self, name: str) -> str:
        line, address = self._lines[name], self._peers[name].address
        return f'waiting for party "{name}" at {address} ({self._peers.file}): {line.waiting_for}'

    def _did_not_come(self, name: str, seconds: float) -> Fault:
        line, address = self._lines[name], self._peers[name].address
        sentence = f'party "{name}" at {address} did not come within {seconds:.0f} s: {line.waiting_for}'
        if line.outgoing is not None:
            hint = f'it must reach {self._peers.listen}: see the firewall here, and "{self.me}" in its peers.toml'
        else:
            hint = f"is it started, and is the address in {self._peers.file} right?"
        return Fault("E430", sentence, hint)

    async def _end(self, codes: tuple[str, ...]) -> None:
        await asyncio.gather(*(say_goodbye(line, codes) for line in self._lines.values()), return_exceptions=True)
        self._doors.close()
        tasks = {task for task in self._tasks if not task.done()}
        while tasks:
            for task in tasks:
                task.cancel()
            _, tasks = await asyncio.wait(tasks, timeout=0.5)
        self._listening.close()
        await asyncio.sleep(0.02)  # aborted transports close their sockets in the loop's next rounds


def _short_private_folder() -> Path:
    """For unix sockets, whose paths must be short: a long TMPDIR is passed over."""
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) + len("/vt-12345678/s1000") > _LONGEST_PATH:
        base = "/tmp"
    return Path(tempfile.mkdtemp(prefix="vt-", dir=base))
