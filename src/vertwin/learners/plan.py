"""The plan of a run: everything computed from public facts before the first share, equal at every party."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from vertwin.agreement import Agreement
from vertwin.privacy.mechanism import GradientReleases, PairTables
from vertwin.release import Statement


@dataclass(frozen=True)
class Plan:
    """Made by `planning.plan`. The mechanism holds every noise scale; nothing types one again."""

    agreement: Agreement
    rows: int
    mechanism: PairTables | GradientReleases
    statement: Statement

    @property
    def digest(self) -> str:
        """What parties compare before the first share: terms, row count and every noise scale."""
        text = json.dumps([self.agreement.digest, self.rows, asdict(self.mechanism)], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()
