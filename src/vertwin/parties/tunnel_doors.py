"""Doors and services: unix sockets by which an engine talks to the engines of other parties through the tunnel.

A door is a socket that we listen on, for our engine to dial; each connection becomes one TLS stream to the peer. A
service is a socket that our engine listens on; each stream of a peer to its channel becomes one connection to it. The
engine of a peer may dial before ours listens: such a stream waits, for `patience` seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from vertwin.parties.tunnel_link import Traffic
from vertwin.parties.tunnel_streams import BUFFER, NotThereError, RefusedError, Stream, check_channel, pump

DialDoor = Callable[[str, str], Awaitable[tuple[Stream, Traffic]]]
Spawn = Callable[[Coroutine[Any, Any, None]], None]


class Doors:
    """All doors and services of one tunnel, in its private folder."""

    def __init__(self, folder: Path, dial: DialDoor, patience: float, spawn: Spawn) -> None:
        self._folder, self._dial, self._patience, self._spawn = folder, dial, patience, spawn
        self._services: dict[str, Path] = {}
        self._doors: dict[tuple[str, str], Path] = {}
        self._servers: list[asyncio.AbstractServer] = []

    def service(self, channel: str) -> Path:
        check_channel(channel)
        path = self._services.setdefault(channel, self._folder / f"s{len(self._services)}")
        path.unlink(missing_ok=True)  # of an engine process that ended
        return path

    async def door(self, peer: str, channel: str) -> Path:
        check_channel(channel)
        if (peer, channel) not in self._doors:
            path = self._folder / f"d{len(self._doors)}"
            self._doors[peer, channel] = path

            def opened(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                self._spawn(self._through(peer, channel, reader, writer))

            self._servers.append(await asyncio.start_unix_server(opened, path, limit=BUFFER))
        return self._doors[peer, channel]

    async def _through(
        self, peer: str, channel: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """From our engine to a peer's. If that fails our engine sees a closed socket and dials again."""
        try:
            stream, traffic = await self._dial(peer, channel)
        except (NotThereError, RefusedError):
            writer.transport.abort()
            return
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        await _join(reader, writer, stream, traffic)

    async def serve(self, stream: Stream, channel: str, consent: bytes, traffic: Traffic) -> bool:
        """From a peer's engine to ours; False if ours does not listen in time."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                if channel in self._services:
                    reader, writer = await asyncio.open_unix_connection(self._services[channel], limit=BUFFER)
                    break
            except OSError:
                pass
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(0.02)
        stream.writer.write(consent)
        await _join(reader, writer, stream, traffic)
        return True

    def close(self) -> None:
        for server in self._servers:
            server.close()


async def _join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: Stream, traffic: Traffic) -> None:
    """Carry both ways until one end closes; then both are closed."""
    ways = [
        asyncio.ensure_future(pump(reader, stream.writer, traffic.count_sent)),
        asyncio.ensure_future(pump(stream.reader, writer, traffic.count_received)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        # What was read before the end is still to arrive.
        for writing in (writer, stream.writer):
            with contextlib.suppress(OSError):
                async with asyncio.timeout(5):
                    await writing.drain()
    finally:
        for way in ways:
            way.cancel()
        for writing in (writer, stream.writer):
            writing.close()
        await asyncio.gather(*ways, return_exceptions=True)
