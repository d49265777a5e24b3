"""Shares as bytes for the link, without pickle: a peer's message is length-prefixed pieces and nothing else."""

from __future__ import annotations

import struct

from vertwin.errors import user_error

ShareBlob = tuple[bytes, list[bytes]]

_COUNT = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")


def encode_shares(shares: list[ShareBlob]) -> bytes:
    pieces: list[bytes] = [_COUNT.pack(len(shares))]
    for meta, chunks in shares:
        pieces.append(_COUNT.pack(1 + len(chunks)))
        for piece in (meta, *chunks):
            pieces += [_LENGTH.pack(len(piece)), piece]
    return b"".join(pieces)


def decode_shares(payload: bytes, outputs: int, sender: str) -> list[ShareBlob]:
    """The shares of a peer; E412 on anything that is not exactly `outputs` well-formed shares."""
    position = 0

    def take(size: int) -> bytes:
        nonlocal position
        if size < 0 or position + size > len(payload):
            raise _garbled(sender)
        position += size
        return payload[position - size : position]

    if _COUNT.unpack(take(_COUNT.size))[0] != outputs:
        raise _garbled(sender)
    shares: list[ShareBlob] = []
    for _ in range(outputs):
        count = _COUNT.unpack(take(_COUNT.size))[0]
        pieces = [take(_LENGTH.unpack(take(_LENGTH.size))[0]) for _ in range(min(count, 1 << 16))]
        if count != len(pieces) or count < 2:
            raise _garbled(sender)
        shares.append((pieces[0], pieces[1:]))
    if position != len(payload):
        raise _garbled(sender)
    return shares


def _garbled(sender: str) -> Exception:
    return user_error("E412", f'the shares that party "{sender}" sent cannot be read; nothing was opened')
