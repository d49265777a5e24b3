"""What a party's process tells its PSI process: paths and addresses, no key. Apart, since both sides import it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

COLUMN: Final = "key"
"""The only column of the files: with a second one PSI would sort by it too, and the parties' orders could differ."""


@dataclass(frozen=True)
class Task:
    """One attempt. `parties` is in the same order at both; the first of them is the receiver."""

    me: str
    parties: tuple[str, ...]
    addresses: Mapping[str, str]
    source: str
    target: str
    seconds: int
