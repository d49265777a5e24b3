"""The receipt of a rehearsal: it opens shares, counts against no budget, and marks what comes of it."""

from __future__ import annotations

from dataclasses import dataclass

from vertwin.engine import Shares
from vertwin.ledger import Receipt

WATERMARK = "rehearsal: made on one machine, by one person who sees all tables; not a release between organisations"


@dataclass(frozen=True)
class RehearsalReceipt(Receipt):
    """Issued by `issue` below, for a session of a rehearsal, whose releases are watermarked and cannot be signed."""

    run: str

    @property
    def covers(self) -> str:
        return self.run

    @property
    def watermark(self) -> str:
        return WATERMARK


def issue(shares: Shares) -> RehearsalReceipt:
    return RehearsalReceipt(shares.identity)
