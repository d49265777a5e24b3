"""Stored shares: what a party must have on its disk before any share of anybody moves.

One file for each attempt, written whole: this party's own output shares, its own noisy tables, and which runs of the
engine they belong to. After a crash these very bytes are exchanged; nothing is computed anew, so no noise can ever
mask two values. The file is authenticated under the owner's secret: what was altered is not sent. It is erased when
every party has the release.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast, final

from vertwin.errors import UserError, user_error
from vertwin.ledger.attempts import is_attempt
from vertwin.ledger.disk import PART, Disk, erase_durably, put_durably
from vertwin.ledger.secret import Secret

FOLDER: Final = "pending"
ENDING: Final = ".shares"
_MAGIC: Final = b"vertwin stored shares, format 1\n"
_DIGEST_BYTES: Final = 64


@final
class PendingStore:
    """The stored shares of one party on one data set. What it holds is in no repr and in no message."""

    def __init__(self, folder: Path, disk: Disk, secret: Secret) -> None:
        self._folder, self._disk, self._secret = folder / FOLDER, disk, secret
        disk.make_folder(self._folder)

    def __repr__(self) -> str:
        return "PendingStore(contents hidden)"

    def attempts(self) -> tuple[str, ...]:
        """Those of which a file is there, damaged or not."""
        names = self._disk.names(self._folder)
        return tuple(name.removesuffix(ENDING) for name in names if name.endswith(ENDING))

    def store(self, attempt: str, parts: Mapping[str, bytes]) -> None:
        """Write the parts and force them to the disk. An attempt is stored once: its noise masks one value."""
        path = self._path(attempt)
        if self._disk.read(path) is not None:
            raise user_error("E554", "shares of this attempt are stored already: nothing was replaced")
        header = json.dumps([attempt, [[name, len(data)] for name, data in parts.items()]]).encode() + b"\n"
        body = _MAGIC + header + b"".join(parts.values())
        try:
            put_durably(self._disk, path, body + self._secret.digest("stored shares", body).encode())
        except OSError as error:
            raise user_error(
                "E547", f"the shares cannot be stored ({error.strerror}); nothing was revealed", place=str(self._folder)
            ) from error

    def read(self, attempt: str) -> dict[str, bytes]:
        """The parts as they were stored; E553 if they are missing or are not those."""
        content = self._disk.read(self._path(attempt))
        if content is None:
            raise user_error("E553", "the stored shares of this attempt are gone", place=str(self._folder))
        body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
        if self._secret.digest("stored shares", body).encode() != digest or not body.startswith(_MAGIC):
            raise user_error("E553", "the stored shares are not what was written", place=str(self._path(attempt)))
        header, _, rest = body.removeprefix(_MAGIC).partition(b"\n")
        named, sizes = cast("tuple[str, list[Any]]", json.loads(header))
        if named != attempt:
            raise user_error("E553", "the file holds the shares of another attempt", place=str(self._path(attempt)))
        parts: dict[str, bytes] = {}
        for name, size in sizes:
            parts[name], rest = rest[:size], rest[size:]
        return parts

    def intact(self, attempt: str) -> bool:
        try:
            self.read(attempt)
        except UserError:
            return False
        return True

    def erase(self, attempt: str) -> None:
        try:
            erase_durably(self._disk, self._path(attempt))
        except OSError as error:
            raise user_error(
                "E547",
                f"the stored shares cannot be erased ({error.strerror}); the next opening of the ledger tries again",
                place=str(self._folder),
            ) from error

    def sweep(self) -> None:
        """Erase files that a crash left before they had their name: their attempt counts as not stored."""
        for name in self._disk.names(self._folder):
            if name.endswith(PART):
                erase_durably(self._disk, self._folder / name)

    def _path(self, attempt: str) -> Path:
        assert is_attempt(attempt)
        return self._folder / (attempt + ENDING)
