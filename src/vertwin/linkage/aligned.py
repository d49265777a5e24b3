"""Aligned tables: the parties declare that row i is the same person everywhere, so there is nothing to match.

Only the numbers of rows can be compared without showing a row: equal numbers do not prove the order, which stays the
parties' promise. Different numbers prove that it does not hold, and stop everyone before anything is computed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from vertwin.errors import user_error

if TYPE_CHECKING:
    from vertwin.engine.session import Session

_TOPIC: Final = "linkage/aligned"
_ROWS: Final = re.compile(rb"rows ([1-9][0-9]{0,17})")


def agree_on_rows(rows: int | None, session: Session) -> int:
    """Compare the holders' numbers of rows; `rows` is None at a helper, who has no table and is told the number.

    COST: one message of a few bytes from each holder to every other party, one round.
    Formal guarantees:
    - All that leaves a holder is its number of rows, and that goes to parties of the session only.
    - Returns the same number at every party, or raises at every party.
    """
    if rows is not None:
        session.link.broadcast(_TOPIC, b"rows %d" % rows, to=session.everyone)
    numbers: dict[str, int] = {}
    for holder in session.holders:
        if holder == session.me:
            assert rows is not None, "a holder has a table"
            numbers[holder] = rows
        else:
            numbers[holder] = _number(session.link.receive_on(_TOPIC, holder), holder)
    if len(set(numbers.values())) > 1:
        parties = ", ".join(f"{name}: {number}" for name, number in numbers.items())
        raise user_error(
            "E270",
            f"the tables are not aligned: they have different numbers of rows ({parties})",
            "Bring the same people into the same order at every party, or leave out those whom one party lacks.",
        )
    return numbers[session.holders[0]]


def _number(message: bytes, holder: str) -> int:
    """What a peer sends is checked before it is used."""
    read = _ROWS.fullmatch(message)
    if read is None:
        raise user_error("E271", f"{holder} sent something else than its number of rows")
    return int(read.group(1))
