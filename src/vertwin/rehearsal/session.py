"""The session of a rehearsal: receipts that count nothing, a watermark on what comes of it, news for the terminal."""

from __future__ import annotations

from collections.abc import Callable

from vertwin.engine import Engine, Link, Session, Shares
from vertwin.engine.matching import Matcher
from vertwin.ledger import Receipt
from vertwin.noise import Entropy
from vertwin.rehearsal.receipt import WATERMARK, issue

Progress = Callable[[str, str, float, str], None]
"""(party, stage, share done, note) -> None; only public facts come through it."""


class RehearsalSession(Session):
    """One party of a rehearsal, in a thread (plain) or in a process of its own (secure)."""

    def __init__(
        self,
        me: str,
        holders: tuple[str, ...],
        helper: str | None,
        engine: Engine,
        matcher: Matcher,
        entropy: Entropy,
        link: Link,
        progress: Progress,
    ) -> None:
        self.me, self.holders, self.helper = me, holders, helper
        self.engine, self.matcher = engine, matcher
        self.entropy, self.link = entropy, link
        self.watermark = WATERMARK
        self._progress = progress

    def receipt(self, shares: Shares, what: str, beside: bytes = b"") -> Receipt:
        return issue(shares)

    def progress(self, stage: str, done: float, note: str = "") -> None:
        self._progress(self.me, stage, done, note)
