"""The one public port: who may come in. A stranger gets no byte beyond the TLS handshake, and disturbs nobody."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from vertwin.errors import Fault, user_error
from vertwin.parties.peers import Address
from vertwin.parties.tunnel_streams import BUFFER, Consent, Header, Stream, accept, answer
from vertwin.parties.tunnel_tls import Security, listening_fault

_CALLERS = 64  # connections whose identity is not known yet; more than these are not taken
_TOLD = 1000  # who turns up more often than that is not told any more

Take = Callable[[Stream, Header], Awaitable[None]]
Spawn = Callable[[Coroutine[Any, Any, None]], None]
Notice = Callable[[str], None]


def listen_on(address: Address) -> socket.socket:
    hint = "choose a free port and an address of this machine under listen in peers.toml"
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server((address.host, address.port), family=family, backlog=128)
    except (OSError, OverflowError, UnicodeError) as error:
        number = error.errno if isinstance(error, OSError) and not isinstance(error, socket.gaierror) else None
        why = os.strerror(number) if number else "not an address of this machine"
        raise user_error("E429", f"cannot listen on {address} ({why})", hint) from error
    listening.setblocking(False)
    return listening


class Port:
    """Accepts connections, identifies callers by their keys, and hands on the streams of peers that ask for one."""

    def __init__(
        self,
        listening: socket.socket,
        security: Security,
        session: bytes,
        seconds: float,
        notice: Notice,
        spawn: Spawn,
        take: Take,
    ) -> None:
        self._listening, self._security, self._session = listening, security, session
        self._seconds, self._notice, self._spawn, self._take = seconds, notice, spawn, take
        self._callers = 0
        self.turned_away: list[Fault] = []

    async def accept_all(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(self._listening)
            except OSError:  # no free file descriptor, or a caller that is gone already
                await asyncio.sleep(0.1)
                continue
            if self._callers >= _CALLERS:
                connection.close()
                continue
            self._spawn(self._admit(connection, address[0]))

    async def _admit(self, connection: socket.socket, caller: str) -> None:
        stream = header = None
        self._callers += 1
        try:
            stream = await self._identified(connection, caller)
            if stream is not None:
                async with asyncio.timeout(self._seconds):
                    header = await accept(stream.reader)
        except ssl.SSLError as error:
            self._turn_away(listening_fault(caller, error))
        except (OSError, EOFError):
            pass  # a scan of ports, or a caller that left or says nothing
        finally:
            self._callers -= 1
            if stream is not None and header is None:
                stream.abort()
        if stream is None or header is None:
            return
        try:
            if isinstance(header, Consent):
                await self.refuse(stream, header)
            else:
                await self._take(stream, header)
        except (OSError, EOFError):
            pass
        finally:
            stream.abort()

    async def _identified(self, connection: socket.socket, caller: str) -> Stream | None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=BUFFER, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol, connection, ssl=self._security.listening, ssl_handshake_timeout=self._seconds
        )
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        name = self._security.caller(writer.get_extra_info("ssl_object").getpeercert(True))
        if name is None:
            self._turn_away(Fault("E437", f"turned away a connection from {caller}: its key is that of no party"))
            transport.abort()
            return None
        return Stream(name, reader, writer)

    async def refuse(self, stream: Stream, consent: Consent) -> None:
        """Say why, and close once it was said."""
        with contextlib.suppress(OSError):
            async with asyncio.timeout(self._seconds):
                stream.writer.write(answer(consent, self._session))
                stream.writer.close()
                await stream.writer.wait_closed()

    def _turn_away(self, fault: Fault) -> None:
        if fault not in self.turned_away and len(self.turned_away) < _TOLD:
            self.turned_away.append(fault)
            self._notice(f"{fault.code} {fault.sentence}")
