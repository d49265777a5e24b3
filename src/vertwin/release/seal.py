"""From what was learned to what may leave the room: the last stage of the way."""

from __future__ import annotations

from dataclasses import dataclass

from vertwin.agreement import Agreement
from vertwin.release.content import Content, NoisyTable, Revealed, Statement, Twin


@dataclass(frozen=True, eq=False)
class Learned:
    """What a learner hands over: what was revealed, and the mixture that follows from it. All of it public."""

    twin: Twin
    tables: tuple[NoisyTable, ...] = ()
    revealed: tuple[Revealed, ...] = ()
    rows_estimate: float | None = None
    notes: tuple[str, ...] = ()


def seal(learned: Learned, statement: Statement, agreement: Agreement, watermark: str | None) -> Content:
    """The content of the release, checked as a whole: a learner's slip stops here, not at the analyst's.

    Formal guarantee: nothing enters but what was revealed under a receipt or follows from it, the agreement, the
    statement and public notes; under add_remove no exact row count is among these.
    """
    content = Content(
        agreement=agreement,
        learner=agreement.learner.kind,
        twin=learned.twin,
        watermark=watermark,
        statement=statement,
        tables=learned.tables,
        revealed=learned.revealed,
        rows_estimate=learned.rows_estimate,
        notes=learned.notes,
    )
    content.raise_unless_sound()
    return content
