"""The owner's secret, and digests of private data under it.

A plain digest of private data lets whoever knows all rows but one check a guess about that one. So what must be
recognised again later (a table, stored shares) is known by an HMAC that nobody without the owner's secret can compute.
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Final, final

from vertwin.errors import user_error
from vertwin.ledger.disk import Disk, put_durably

FILE: Final = "owner.secret"
SECRET_BYTES: Final = 32


@final
class Secret:
    """32 random bytes that never leave the state folder. Blind repr, no way to print or pickle them."""

    def __init__(self, key: bytes) -> None:
        assert len(key) == SECRET_BYTES
        self._key = key

    def digest(self, purpose: str, data: bytes) -> str:
        """HMAC-SHA256 in hex; equal data under different purposes have different digests."""
        return private_digest(self._key, data, purpose)

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("the owner's secret stays where it is")


def private_digest(secret: bytes, data: bytes, purpose: str = "data") -> str:
    """What may be kept, and may leave, in place of a digest of private data."""
    assert len(secret) == SECRET_BYTES and "\0" not in purpose
    return hmac.new(secret, b"vertwin/" + purpose.encode() + b"\0" + data, hashlib.sha256).hexdigest()


def read_secret(disk: Disk, folder: Path) -> Secret | None:
    """The secret of this folder; None where none was made yet; E555 where the file is not one."""
    content = disk.read(folder / FILE)
    if content is None:
        return None
    if len(content) != SECRET_BYTES:
        raise user_error("E555", "the owner's secret is damaged", place=str(folder / FILE))
    return Secret(content)


def make_secret(disk: Disk, folder: Path, fresh: bytes) -> Secret:
    put_durably(disk, folder / FILE, fresh)
    return Secret(fresh)
