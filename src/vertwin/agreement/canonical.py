"""The canonical form: one sequence of bytes for one content, however the file was written.

A document is what TOML and JSON have in common: tables, lists, strings, whole numbers, floats and booleans. Options
left out are absent, not null, so that a later version may add one without touching the digest of those who do not
use it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeAlias, cast

Document: TypeAlias = dict[str, Any]

_SEPARATION = b"vertwin agreement, canonical form 1\n"  # no other kind of document can have the same digest


def without_nothing(document: Document) -> Document:
    """The document without its None values, at every depth; -0.0 becomes 0.0, tuples become lists."""
    return {key: _plain(value) for key, value in document.items() if value is not None}


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return without_nothing(cast(Document, value))
        case list() | tuple():
            return [_plain(item) for item in cast("list[Any]", value)]
        case float():
            return value + 0.0  # -0.0 + 0.0 is 0.0
        case _:
            return value


def canonical_bytes(document: Document) -> bytes:
    """JSON with sorted keys, no spaces, ASCII only, floats in their shortest exact spelling."""
    return json.dumps(
        without_nothing(document), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode("ascii")


def digest_of(document: Document) -> str:
    """SHA-256 of the canonical bytes, in hex."""
    return hashlib.sha256(_SEPARATION + canonical_bytes(document)).hexdigest()
