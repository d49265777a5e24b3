"""Stage 3: linked rows become small integer codes: LinkedTable -> EncodedTable, what the learners read."""

from __future__ import annotations

from vertwin.encoding.encoded_table import EncodedTable
from vertwin.encoding.encoding import encode

__all__ = ["EncodedTable", "encode"]
