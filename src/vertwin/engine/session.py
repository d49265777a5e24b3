"""The session as the stages of the way see it: who is there, what carries public bytes, what computes.

`run.py` and the learners know only this abstract Session; real processes, threads of a rehearsal and (from the
promise on) organisations behind TLS are three kinds of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from vertwin.engine.base import Engine, Shares
from vertwin.engine.link import Link
from vertwin.ledger.receipt import Receipt
from vertwin.noise import Entropy


class Session(ABC):
    """One run of the way at one party. `rows` is set by the linkage, before which nobody may ask for it."""

    me: str
    holders: tuple[str, ...]
    helper: str | None
    engine: Engine
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

    @abstractmethod
    def receipt(self, shares: Shares, what: str) -> Receipt:
        """Write the spending down, then give the receipt that opens these shares."""

    @abstractmethod
    def progress(self, stage: str, done: float, note: str = "") -> None:
        """One line of news for the person at the terminal: public facts only."""
