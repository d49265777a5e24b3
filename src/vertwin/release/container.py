"""The envelope of a release: one ZIP file with exactly one way to be written.

Any tool that opens ZIP files opens a release. But the general format allows the same content in endless forms
(order, dates, extra fields, compression, bytes between members), and whatever a reader skips is a byte that could
be changed without anybody noticing. So the reader here skips nothing: it rebuilds every header from the member's
name and bytes and compares. Members are stored, never compressed, so a small file cannot grow in memory; names are
plain and strictly ascending, so none is doubled and none leaves its folder.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from typing import Final

from vertwin.errors import UserError, user_error

LARGEST_FILE: Final = 1 << 30
MOST_MEMBERS: Final = 1000
MAGIC: Final = b"PK\x03\x04"  # every member begins with it, so the file does

_LOCAL: Final = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL: Final = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END: Final = struct.Struct("<4sHHHHIIH")
_VERSION: Final = 20  # what a stored member needs of a reader (2.0)
_MADE_BY: Final = (3 << 8) | _VERSION  # "Unix", so that the permissions below are understood
_MODE: Final = 0o100644 << 16
_TIME: Final = 0
_DATE: Final = (1 << 5) | 1  # 1980-01-01, the first date a ZIP file can name: a release carries no clock
_NAME: Final = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*\.[a-z]+")


def pack(members: Mapping[str, bytes]) -> bytes:
    """The one file that holds these members."""
    parts: list[bytes] = []
    directory: list[bytes] = []
    offset = 0
    for name in sorted(members):
        assert _is_plain(name), "a member's name is one of ours"
        data = members[name]
        header = _local_header(name, zlib.crc32(data), len(data))
        directory.append(_directory_entry(name, zlib.crc32(data), len(data), offset))
        parts += (header, data)
        offset += len(header) + len(data)
    tail = _tail(directory, offset)
    if offset + len(tail) > LARGEST_FILE or len(members) > MOST_MEMBERS:
        raise user_error(
            "E507",
            f"this release would hold {len(members)} members and {offset + len(tail):,} bytes; "
            f"the format ends at {MOST_MEMBERS} and {LARGEST_FILE:,}",
            "use fewer columns, coarser bins or fewer components",
        )
    return b"".join((*parts, tail))


def unpack(data: bytes, place: str) -> dict[str, memoryview]:
    """The members of a file that `pack` could have written; anything else is refused.

    Cost: one pass over the bytes; the members are views, nothing is copied.
    """
    if data[:4] != MAGIC:
        raise user_error("E501", "this is not a vertwin release", "a release is a file named NAME.vertwin", place)
    view = memoryview(data)
    members: dict[str, memoryview] = {}
    directory: list[bytes] = []
    offset, previous = 0, ""
    while data[offset : offset + 4] == MAGIC:
        if len(members) == MOST_MEMBERS or offset + _LOCAL.size > len(data):
            raise _altered(place)
        fields = _LOCAL.unpack_from(data, offset)
        size, name_length = int(fields[8]), int(fields[9])
        start = offset + _LOCAL.size + name_length
        raw_name = data[offset + _LOCAL.size : start]
        name = raw_name.decode("ascii", "replace")
        if start + size > len(data) or not _is_plain(name) or name <= previous:
            raise _altered(place)
        body = view[start : start + size]
        checksum = zlib.crc32(body)
        if data[offset:start] != _local_header(name, checksum, size):
            raise _altered(place)
        directory.append(_directory_entry(name, checksum, size, offset))
        members[name] = body
        offset, previous = start + size, name
    if data[offset:] != _tail(directory, offset):
        raise _altered(place)
    return members


def _local_header(name: str, checksum: int, size: int) -> bytes:
    raw = name.encode("ascii")
    return _LOCAL.pack(MAGIC, _VERSION, 0, 0, _TIME, _DATE, checksum, size, size, len(raw), 0) + raw


def _directory_entry(name: str, checksum: int, size: int, offset: int) -> bytes:
    raw = name.encode("ascii")
    return (
        _CENTRAL.pack(
            *(b"PK\x01\x02", _MADE_BY, _VERSION, 0, 0, _TIME, _DATE, checksum, size, size, len(raw)),
            *(0, 0, 0, 0, _MODE, offset),
        )
        + raw
    )


def _tail(directory: list[bytes], offset: int) -> bytes:
    entries = b"".join(directory)
    return entries + _END.pack(b"PK\x05\x06", 0, 0, len(directory), len(directory), len(entries), offset, 0)


def _is_plain(name: str) -> bool:
    return len(name) < 200 and _NAME.fullmatch(name) is not None


def _altered(place: str) -> UserError:
    return user_error(
        "E502",
        "this file is damaged or was altered: its bytes are not those of any release",
        "fetch it again from where you got it",
        place,
    )
