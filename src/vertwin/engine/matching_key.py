"""A key that the parties of a run make together: nobody chooses it, everybody has it, nobody keeps it.

Each draws 32 bytes, shows a digest of them first and the bytes only when it has everybody's digest. So a party cannot
wait for the others' bytes and choose its own to fit: the key is uniform if one party's bytes are.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

from vertwin.engine.link import Link
from vertwin.errors import user_error
from vertwin.noise import Entropy

KEY_BYTES: Final = 32


def joint_key(link: Link, entropy: Entropy, purpose: str, among: Sequence[str]) -> bytes:
    """The same 32 bytes at every party of `among`, who all call this. COST: two messages to each, two rounds.

    Formal guarantees:
    * all of it is secret from who is not among them, if the link is; a party learns nothing of another's entropy but
      the bytes drawn for this key;
    * the bytes that a party opens are those it committed to before it saw another's, or everybody stops.
    """
    parties = tuple(among)
    assert link.me in parties and len(parties) > 1, "a joint key is made by its parties"
    mine = entropy.bytes(KEY_BYTES)
    promised = link.exchange(f"{purpose}/commit", _commitment(purpose, link.me, mine), parties)
    opened = link.exchange(f"{purpose}/open", mine, parties)
    for name in parties:
        kept = hmac.compare_digest(promised[name], _commitment(purpose, name, opened[name]))
        if len(opened[name]) != KEY_BYTES or not kept:
            raise user_error("E413", f'party "{name}" opened something else than it had committed to')
    return hashlib.sha256(_framed("joint key", purpose, *(opened[name] for name in parties))).digest()


def _commitment(purpose: str, name: str, drawn: bytes) -> bytes:
    return hashlib.sha256(_framed("commitment", purpose, name, drawn)).digest()


def _framed(*parts: str | bytes) -> bytes:
    """Every part with its length before it, so that two lists of parts are never the same bytes."""
    plain = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"vertwin" + b"".join(len(part).to_bytes(8, "big") + part for part in plain)
