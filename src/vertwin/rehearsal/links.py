"""The two links of a rehearsal: queues between threads, and socket pairs between processes.

A socket pair has no address: nothing listens, nobody else can dial in, and the end of a process is seen at once by
everyone who holds the other end. A stopped process is seen by its silence: every link sends a heartbeat.
"""

from __future__ import annotations

import queue
import socket
import struct
import threading
import time
from collections.abc import Mapping

from vertwin.engine import Link
from vertwin.errors import UserError, user_error

HEARTBEAT_SECONDS = 2.0
SILENCE_SECONDS = 30.0

_HEADER = struct.Struct("<BQ")
_DATA, _BEAT = 0, 1


class QueueLink(Link):
    """Between the threads of a plain rehearsal."""

    def __init__(self, me: str, everyone: tuple[str, ...], queues: Mapping[tuple[str, str], queue.Queue[bytes | None]]):
        self.me, self.everyone, self._queues = me, everyone, queues

    def send(self, to: str, payload: bytes) -> None:
        self._queues[self.me, to].put(payload)

    def receive(self, from_: str) -> bytes:
        payload = self._queues[from_, self.me].get()
        if payload is None:
            raise user_error("E401", f'party "{from_}" stopped')
        return payload

    def check(self) -> None:
        """Threads do not disappear: a party that fails tells its peers, see `abandon`."""

    def abandon(self) -> None:
        """Free whoever waits for a message of this party."""
        for (from_, _), waiting in self._queues.items():
            if from_ == self.me:
                waiting.put(None)


def queue_links(everyone: tuple[str, ...]) -> dict[str, QueueLink]:
    queues: dict[tuple[str, str], queue.Queue[bytes | None]] = {
        (a, b): queue.Queue() for a in everyone for b in everyone if a != b
    }
    return {name: QueueLink(name, everyone, queues) for name in everyone}


class SocketLink(Link):
    """Between the processes of a secure rehearsal: one connected socket for each peer."""

    def __init__(self, me: str, everyone: tuple[str, ...], sockets: Mapping[str, socket.socket]) -> None:
        self.me, self.everyone = me, everyone
        self._sockets = dict(sockets)
        self._locks = {name: threading.Lock() for name in sockets}
        self._arrived: dict[str, queue.Queue[bytes]] = {name: queue.Queue() for name in sockets}
        self._heard = dict.fromkeys(sockets, time.monotonic())
        self._gone: dict[str, str] = {}
        self._closing = False
        for name in sockets:
            threading.Thread(target=self._listen, args=(name,), daemon=True).start()
        threading.Thread(target=self._beat, daemon=True).start()

    def send(self, to: str, payload: bytes) -> None:
        self._write(to, _DATA, payload)

    def receive(self, from_: str) -> bytes:
        while True:
            try:
                return self._arrived[from_].get(timeout=0.2)
            except queue.Empty:
                self.check()

    def check(self) -> None:
        now = time.monotonic()
        for name in self._sockets:
            if name in self._gone and self._arrived[name].empty():
                raise _gone(name, self._gone[name])
            if now - self._heard[name] > SILENCE_SECONDS:
                raise _gone(name, f"has not been heard of for {SILENCE_SECONDS:.0f} seconds")

    def close(self) -> None:
        self._closing = True
        for connection in self._sockets.values():
            connection.close()

    def _write(self, to: str, kind: int, payload: bytes) -> None:
        try:
            with self._locks[to]:
                self._sockets[to].sendall(_HEADER.pack(kind, len(payload)) + payload)
        except OSError as error:
            self._gone.setdefault(to, "has closed the connection")
            if kind == _DATA:
                raise _gone(to, self._gone[to]) from error

    def _listen(self, name: str) -> None:
        try:
            while True:
                kind, length = _HEADER.unpack(self._read(name, _HEADER.size))
                payload = self._read(name, length)
                self._heard[name] = time.monotonic()
                if kind == _DATA:
                    self._arrived[name].put(payload)
        except (OSError, EOFError):
            self._gone.setdefault(name, "has closed the connection")

    def _read(self, name: str, size: int) -> bytes:
        pieces: list[bytes] = []
        while size:
            piece = self._sockets[name].recv(min(size, 1 << 20))
            if not piece:
                raise EOFError
            self._heard[name] = time.monotonic()
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _beat(self) -> None:
        while not self._closing:
            for name in self._sockets:
                if name not in self._gone:
                    self._write(name, _BEAT, b"")
            time.sleep(HEARTBEAT_SECONDS)


def _gone(name: str, how: str) -> UserError:
    return user_error("E402", f'party "{name}" {how}', "look at that party's own message, then start all of them again")
