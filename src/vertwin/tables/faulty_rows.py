"""Faults of many rows as few sentences: by column and rule, with the first row numbers and a count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from vertwin.errors import CODES, Fault
from vertwin.tables.source import BrokenRows

ROWS_NAMED: Final = 20


class FaultyRowTally:
    """Counts faulty rows while a table streams by; remembers the first of each column and rule only."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str, str], list[int]] = {}
        self._count: dict[tuple[str, str, str], int] = {}

    def add(self, place: str, code: str, why: str, rows: Iterable[int], count: int) -> None:
        """`rows`: indices of rows as they were read, from 0, rising; `count` of them."""
        key = (place, code, why)
        named = self._first.setdefault(key, [])
        for row in rows:
            if len(named) >= ROWS_NAMED:
                break
            named.append(row)
        self._count[key] = self._count.get(key, 0) + count

    def faults(self, broken: BrokenRows) -> list[Fault]:
        """One fault for each column and rule, rows counted from 1 as the owner sees them."""
        faults: list[Fault] = []
        for (place, code, why), rows in self._first.items():
            named = [broken.number_of(row) for row in rows]
            sentence = f"{why}: {rows_in_words(named, self._count[place, code, why])}"
            faults.append(Fault(code, sentence, CODES[code].advice, place))
        return faults


def rows_in_words(named: Iterable[int], count: int) -> str:
    """The rows that are named, and how many more there are: "rows 3, 17 and 112 more"."""
    numbers = [str(number) for number in named]
    shown = numbers[:ROWS_NAMED]
    if count == 1:
        return f"row {shown[0]}"
    if count > len(shown):
        return f"rows {', '.join(shown)} and {count - len(shown)} more"
    return f"rows {', '.join(shown[:-1])} and {shown[-1]}"
