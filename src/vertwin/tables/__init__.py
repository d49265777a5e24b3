"""Stage 1: a file or data frame becomes a Table, checked in full against the agreement before anyone is called.

`open_source` opens what the owner gives, without reading a row; `read` streams it once, finds every fault of every
column, and raises them all together, by column and row number, never by value.
"""

from __future__ import annotations

from vertwin.tables.checking import read
from vertwin.tables.opening import open_source, storage_types
from vertwin.tables.source import BATCH_ROWS, Source
from vertwin.tables.table import Table

__all__ = ["BATCH_ROWS", "Source", "Table", "open_source", "read", "storage_types"]
