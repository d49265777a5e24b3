"""Stage 2: the parties' rows are brought into one order of people: Table -> LinkedTable. One file for each kind."""

from __future__ import annotations

from vertwin.linkage.linked_table import LinkedTable
from vertwin.linkage.linking import link

__all__ = ["LinkedTable", "link"]
