"""A party's rows in the order that all parties share: row i is the same person everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vertwin.agreement import Column


@dataclass(frozen=True, repr=False, eq=False)
class LinkedTable:
    """Private, as the table that it came from. `rows` is known to all parties of the session, and to nobody else."""

    party: str
    columns: tuple[Column, ...]
    rows: int
    _stream: Callable[[], Iterator[Any]]

    def batches(self) -> Iterator[Any]:
        """Stream the linked rows as Arrow record batches, in the shared order."""
        return self._stream()

    def __repr__(self) -> str:
        return f"LinkedTable({len(self.columns)} columns, rows hidden)"
