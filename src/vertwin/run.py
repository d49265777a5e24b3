"""The way of the data, on one page: every party runs this same text, on its own table, and gets the same release.

What is private stays on the left of the equals signs until `seal`: the table, the linked and the encoded table never
leave their party. What passes between parties goes through the session: public facts, shares, noisy tables.
"""

from __future__ import annotations

from typing import Any

from vertwin import encoding, learners, linkage, planning, tables
from vertwin.agreement import Agreement
from vertwin.engine import Session
from vertwin.release import Content, seal


def share(agreement: Agreement, source: Any, session: Session) -> Content | None:
    """One party's part. `source` is its table (a path, a frame); a helper brings None, computes on shares it cannot
    read, and learns the row count, which shapes them.

    Formal guarantees:
    * every fault of this party's table is found before any peer hears of it;
    * the only thing returned is what may leave the room; None at a helper of which the learner needs nothing.
    """
    helps = session.me == session.helper
    table = None if helps else tables.read(tables.open_source(source), agreement, session.me)  # private
    session.linking(0 if table is None else table.rows)  # into the ledger, where there is one, before a key moves
    linked = linkage.link(table, session)  # private; everyone learns how many rows match
    session.linked(0 if table is None else table.rows, session.rows)
    encoded = None if linked is None else encoding.encode(linked, agreement)  # private
    plan = planning.plan(agreement, session.rows)  # public: every noise scale, and what it promises to whom
    planning.compare(plan, session)  # equal at every party, or nobody goes on
    learned = learners.learn(encoded, plan, session)  # under MPC; nothing is opened without a receipt
    if learned is None:
        return None
    return seal(learned, plan.statement, agreement, session.watermark)  # the only thing that may leave the room
