"""Receipts: the proof, as a type, that a reveal was written down before it happens.

A Receipt has no public constructor that anybody may call: the ledger issues those that count against a budget, and
a rehearsal issues its own (`vertwin.rehearsal.receipt`), which count nothing and watermark whatever comes of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

_ISSUERS = ("vertwin.ledger.", "vertwin.rehearsal.receipt")


class Receipt(ABC):
    """Permission to open the shares of one run.

    Formal guarantees:
    * only modules of the ledger and `vertwin.rehearsal.receipt` can define a kind of receipt;
    * a receipt names exactly one run (`covers`), and an engine opens no other with it.
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if not (cls.__module__ + ".").startswith(_ISSUERS):
            raise TypeError(f"{cls.__module__} may not issue receipts")

    @property
    @abstractmethod
    def covers(self) -> str:
        """The identity of the one run whose shares may be opened."""

    @property
    @abstractmethod
    def watermark(self) -> str | None:
        """What every release that comes of it must carry; None where the reveal was real and counted."""
