"""What was spent on which data set, and the receipts that a reveal needs."""

from vertwin.ledger.receipt import Receipt

__all__ = ["Receipt"]
