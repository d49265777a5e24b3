"""How far an attempt came at each party, and what all of them do about it: pure functions of their states.

An attempt is one run that wants to reveal. Its number is public and made by the parties together. At one party:

    none -> stored -> all stored -> sealed -> closed         and after a loss: lost

Nothing of an attempt leaves a party before it is *all stored* there. So whoever came no further than *stored* may
forget it: its own shares and noisy tables were never sent, and without them nobody can open anything of its data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum

from vertwin.errors import user_error


class AttemptState(StrEnum):
    """At one party."""

    NONE = "none"  # nothing is here: never heard of, never stored, or forgotten
    STORED = "stored"  # its shares are on the disk, and have not left
    ALL_STORED = "all stored"  # every party has stored: its shares may have left
    SEALED = "sealed"  # it has the release; its shares are still here for a peer that has not
    CLOSED = "closed"  # it has the release and erased its shares
    LOST = "lost"  # its shares may have left, and are no longer here


class Step(StrEnum):
    """What a party does next about an attempt."""

    RESUME = "resume"  # exchange the stored shares again
    CLOSE = "close"  # everybody has the release: erase
    FORGET = "forget"  # nothing left this party: erase, and do not count
    KEEP = "keep"  # it cannot be finished and something may have left: erase what is here, and count it


S = AttemptState
_HAS_SHARES = frozenset((S.STORED, S.ALL_STORED, S.SEALED))
_HAS_RELEASE = frozenset((S.SEALED, S.CLOSED))


def decide(me: str, states: Mapping[str, AttemptState]) -> Step:
    """The next step of party `me`, from the states of all parties, its own included.

    Formal guarantees:
    * either every party resumes or none does: whether to resume depends on the states alone, not on `me`;
    * a party forgets only what never left it.
    """
    found = set(states.values())
    if found <= _HAS_RELEASE:
        return Step.CLOSE
    if found <= _HAS_SHARES:
        return Step.RESUME
    if states[me] in _HAS_RELEASE:
        return Step.CLOSE  # a peer lost its shares: the release here is all there will be
    return Step.FORGET if states[me] in (S.NONE, S.STORED) else Step.KEEP


def is_attempt(name: object) -> bool:
    """128 bits in hex: it becomes a file name."""
    return isinstance(name, str) and re.fullmatch(r"[0-9a-f]{32}", name) is not None


def encode_states(states: Mapping[str, AttemptState]) -> bytes:
    return json.dumps({attempt: str(state) for attempt, state in states.items()}, sort_keys=True).encode()


def decode_states(payload: bytes, sender: str) -> dict[str, AttemptState]:
    """A peer's word on attempts; E548 if it cannot be read."""
    try:
        document = json.loads(payload)
        states = {str(attempt): AttemptState(state) for attempt, state in document.items()}
        if not all(map(is_attempt, states)):
            raise ValueError
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise user_error("E548", f'what party "{sender}" says of earlier runs cannot be read') from error
    return states
