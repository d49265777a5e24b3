"""The file format: one line of canonical JSON for each entry, each naming the digest of the one before.

    {"body":{"count":2,"entry":{...},"previous":"<digest of line 1>","salt":"...","time":"..."},"digest":"..."}

The digest of the last line is the *head*. Peers and releases see heads, and an entry may hold what its owner alone
knows (rows under add_remove): 128 random bits in every line, the salt, keep a head from being a way to check guesses.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from vertwin.errors import UserError, user_error
from vertwin.ledger.entries import FORMAT, KINDS, ClockSet, Entry, Opened, entry_document, read_entry

NOTHING: Final = "0" * 64  # what the first line names as the digest before it
SALT_BYTES: Final = 16
_DOMAIN: Final = b"vertwin ledger, format 1\n"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Head:
    """Where a ledger stands: how many entries it has, and the digest of the last."""

    count: int
    digest: str


@dataclass(frozen=True)
class Line:
    """One entry with its place in the chain."""

    count: int
    time: datetime
    entry: Entry
    previous: str
    salt: str
    digest: str

    @property
    def head(self) -> Head:
        return Head(self.count, self.digest)

    def encode(self) -> bytes:
        body = _body(self.count, self.time, self.entry, self.previous, self.salt)
        return _canonical({"body": body, "digest": self.digest}) + b"\n"


def make_line(before: Head | None, time: datetime, entry: Entry, salt: bytes) -> Line:
    """The line that follows on a head (the first of a ledger: on None)."""
    count, previous = (1, NOTHING) if before is None else (before.count + 1, before.digest)
    assert len(salt) == SALT_BYTES
    digest = _digest(_body(count, time, entry, previous, salt.hex()))
    return Line(count, time, entry, previous, salt.hex(), digest)


def read_lines(content: bytes, place: str = "") -> tuple[tuple[Line, ...], bytes]:
    """Every whole line, checked, and what follows the last line's end: the rest of an append that was cut off.

    E541 where a line is not what was written, E549 where a newer version wrote it.
    """
    whole, _, tail = content.rpartition(b"\n")
    lines: list[Line] = []
    for number, raw in enumerate(whole.split(b"\n") if whole else (), 1):
        try:
            lines.append(_read(raw, lines[-1] if lines else None))
        except UserError as error:
            raise user_error(error.faults[0].code, f"line {number}: {error.faults[0].sentence}", place=place) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise user_error("E541", f"line {number} is not what was written there", place=place) from error
    return tuple(lines), tail


def is_cut_off(tail: bytes, count: int) -> bool:
    """Whether the bytes after the last whole line can be the beginning of line `count`, cut off by a crash.

    A file system that lost its power may leave zero bytes where the rest was to be written.
    """
    written = tail.rstrip(b"\0")
    beginning = b'{"body":{"count":%d,"entry":{' % count
    shown = all(32 <= byte < 127 for byte in written)
    return shown and (written.startswith(beginning) or beginning.startswith(written))


def _read(raw: bytes, before: Line | None) -> Line:
    text = raw.decode("ascii")
    document = json.loads(text)
    body = cast(dict[str, Any], document["body"])
    entry_part = cast(dict[str, Any], body["entry"])
    if _canonical(document) != raw or set(document) != {"body", "digest"} or document["digest"] != _digest(body):
        raise ValueError
    if before is None and entry_part["kind"] == "opened" and entry_part["format"] != FORMAT:
        raise user_error("E549", f"the ledger has format {entry_part['format']}, this vertwin knows {FORMAT}")
    if entry_part["kind"] not in KINDS:
        raise user_error("E549", "an entry of a kind that this version of vertwin does not know")
    entry = read_entry(json.dumps(entry_part))
    time = datetime.strptime(body["time"], _TIME).replace(tzinfo=UTC)
    line = Line(body["count"], time, entry, body["previous"], body["salt"], document["digest"])
    first = before is None
    expected = (1, NOTHING) if before is None else (before.count + 1, before.digest)
    if (line.count, line.previous) != expected or line.encode() != raw + b"\n" or isinstance(entry, Opened) != first:
        raise ValueError
    if before is not None and time < before.time and not isinstance(entry, ClockSet):
        raise ValueError
    return line


def is_digest(text: object) -> bool:
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def _body(count: int, time: datetime, entry: Entry, previous: str, salt: str) -> dict[str, Any]:
    return {
        "count": count,
        "entry": entry_document(entry),
        "previous": previous,
        "salt": salt,
        "time": time.strftime(_TIME),
    }


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(_DOMAIN + _canonical(body)).hexdigest()


def _canonical(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
