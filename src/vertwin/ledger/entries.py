"""What can stand in a ledger: one frozen class for each kind of entry, and nothing else.

An entry holds public facts of a run and facts that its owner alone knows (how many rows were linked). No cell, no key
of a person, no share. What leaves the owner of all this is the head of the chain, which tells nothing: see chain.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter

from vertwin.ledger.events import Event, read_event

FORMAT = 1

_STRICT = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True)
class Opened:
    """The first entry: whose ledger this is, on which data set."""

    __pydantic_config__ = _STRICT
    format: int
    data_set: str
    party: str
    kind: Literal["opened"] = "opened"


@dataclass(frozen=True)
class Budget:
    """The owner's limit for one viewer (a coalition's names, sorted; none: the analyst) or for each other party."""

    __pydantic_config__ = _STRICT
    coalition: tuple[str, ...]
    each_party: bool
    epsilon: float
    delta: float
    kind: Literal["budget"] = "budget"


@dataclass(frozen=True)
class Linked:
    """Rows were linked. Whoever may link again and again with guessed ids can find out who is in a register."""

    __pydantic_config__ = _STRICT
    attempt: str
    agreement: str
    agreement_digest: str
    parties: tuple[str, ...]
    method: str
    keys: tuple[str, ...]
    rows_offered: int
    rows_linked: int
    table: str | None  # private_digest of the table, to see later whether it was the same
    kind: Literal["linked"] = "linked"


@dataclass(frozen=True)
class WrittenEvent:
    """What a run tells one viewer, as it stands in the file; `event` None: nothing is promised towards it."""

    __pydantic_config__ = _STRICT
    coalition: tuple[str, ...]
    event: str | None
    parameters: dict[str, Any]

    def read(self) -> Event | None:
        return None if self.event is None else read_event(self.event, self.parameters)


@dataclass(frozen=True)
class Spent:
    """A run is about to reveal: counted from here on, unless it is forgotten before anything left."""

    __pydantic_config__ = _STRICT
    attempt: str
    agreement: str
    agreement_digest: str
    plan_digest: str
    parties: tuple[tuple[str, str | None], ...]  # names, and the fingerprints of their identity keys
    events: tuple[WrittenEvent, ...]
    delta: float
    covers: tuple[str, ...]  # the runs of the engine whose shares may be opened
    what: str
    kind: Literal["spent"] = "spent"


@dataclass(frozen=True)
class Exchange:
    """Every party has stored its shares; from here on they may leave. This spending can never be forgotten."""

    __pydantic_config__ = _STRICT
    attempt: str
    kind: Literal["exchange"] = "exchange"


@dataclass(frozen=True)
class Sealed:
    """This party has the release, signed by all."""

    __pydantic_config__ = _STRICT
    attempt: str
    release: str
    kind: Literal["sealed"] = "sealed"


@dataclass(frozen=True)
class Closed:
    """Every party has the release: the stored shares are erased."""

    __pydantic_config__ = _STRICT
    attempt: str
    kind: Literal["closed"] = "closed"


@dataclass(frozen=True)
class Forgotten:
    """Nothing of this attempt ever left this party: it is not counted."""

    __pydantic_config__ = _STRICT
    attempt: str
    kind: Literal["forgotten"] = "forgotten"


@dataclass(frozen=True)
class Kept:
    """This attempt cannot be finished, and something of it may have left: it stays counted."""

    __pydantic_config__ = _STRICT
    attempt: str
    kind: Literal["kept"] = "kept"


@dataclass(frozen=True)
class PeerHead:
    """Where a peer's ledger stood, in that peer's own signature: it cannot go back behind this unseen."""

    __pydantic_config__ = _STRICT
    peer: str
    at: int
    head: str
    signature: str
    kind: Literal["peer_head"] = "peer_head"


@dataclass(frozen=True)
class Countersigned:
    """A peer's signature that it has written down where this ledger stood."""

    __pydantic_config__ = _STRICT
    peer: str
    at: int
    head: str
    signature: str
    kind: Literal["countersigned"] = "countersigned"


@dataclass(frozen=True)
class Rehearsed:
    """A rehearsal with this party's table: listed, not counted, since nothing of it may be released."""

    __pydantic_config__ = _STRICT
    agreement: str
    agreement_digest: str
    secure: bool
    kind: Literal["rehearsed"] = "rehearsed"


@dataclass(frozen=True)
class ClockSet:
    """The owner says that the clock is right now and was ahead before: times may go back across this entry."""

    __pydantic_config__ = _STRICT
    kind: Literal["clock_set"] = "clock_set"


Entry: TypeAlias = (
    Opened
    | Budget
    | Linked
    | Spent
    | Exchange
    | Sealed
    | Closed
    | Forgotten
    | Kept
    | PeerHead
    | Countersigned
    | Rehearsed
    | ClockSet
)
KINDS = frozenset(
    (
        *("opened", "budget", "linked", "spent", "exchange", "sealed", "closed", "forgotten", "kept"),
        *("peer_head", "countersigned", "rehearsed", "clock_set"),
    )
)

_ADAPTER: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(discriminator="kind")])


def entry_document(entry: Entry) -> dict[str, Any]:
    return _ADAPTER.dump_python(entry, mode="json")


def read_entry(text: str) -> Entry:
    """From JSON; pydantic's ValidationError (a ValueError) where a key is missing, unknown or of another type."""
    return _ADAPTER.validate_json(text, strict=True)
