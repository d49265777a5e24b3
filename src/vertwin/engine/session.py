"""The session as the stages of the way see it: who is there, what carries public bytes, what computes.

`run.py` and the learners know only this abstract Session; real processes, threads of a rehearsal and (from the
promise on) organisations behind TLS are three kinds of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from vertwin.engine.base import Engine, Shares
from vertwin.engine.link import Link
from vertwin.engine.matching import Matcher
from vertwin.ledger.receipt import Receipt
from vertwin.noise import Entropy


@dataclass(frozen=True, repr=False)
class Earlier:
    """What this party stored of an attempt before its shares were exchanged."""

    shares: bytes  # as `share_codec` writes them
    run: int  # which run of its program they are, so that its receipt fits them
    beside: bytes


class Session(ABC):
    """One run of the way at one party. `rows` is set by the linkage, before which nobody may ask for it."""

    me: str
    holders: tuple[str, ...]
    helper: str | None
    engine: Engine
    matcher: Matcher
    entropy: Entropy
    link: Link
    rows: int = 0
    watermark: str | None = None

    @property
    def everyone(self) -> tuple[str, ...]:
        return self.holders + ((self.helper,) if self.helper else ())

    @property
    def peers(self) -> tuple[str, ...]:
        return tuple(name for name in self.everyone if name != self.me)

    def linking(self, offered: int) -> None:  # noqa: B027 - a rehearsal has nothing to do here
        """Told before a key moves. Where there is a ledger, every linkage is an entry, the broken-off ones too: whoever
        may link again with guessed ids can find out who is in a register. A rehearsal keeps no ledger."""

    def linked(self, offered: int, rows: int) -> None:
        """Told once the rows are linked: how many this party offered, how many people all parties have."""
        self.rows = rows

    @abstractmethod
    def receipt(self, shares: Shares, what: str, beside: bytes = b"") -> Receipt:
        """Write the spending down, store the shares, wait until every party has; then give the receipt that opens them.

        `beside` is what this party will send along with its shares: noisy tables of its own. It is stored with them,
        so that after a crash the same noise is sent again, never another that masks the same values.
        """

    def earlier(self) -> Earlier | None:
        """An attempt whose shares every party has stored and whose exchange was cut off: it is finished, not redone."""
        return None

    @abstractmethod
    def progress(self, stage: str, done: float, note: str = "") -> None:
        """One line of news for the person at the terminal: public facts only."""
