"""A column's declared domain: which values it may hold, and how they become small integers and back.

A domain is declared by the owner of a column and signed by all parties; it is never learned from a table. Each type
is one file: binary, category, ordinal, count, real. Values go value -> code (for tables of counts and categorical
families) or value -> natural value in (0, 1) (for densities), and back. NumPy inside, Arrow arrays at the edge.
"""

from __future__ import annotations

from vertwin.domains.binary import Binary
from vertwin.domains.bins import Bins, Edges, EqualWidth
from vertwin.domains.category import Category
from vertwin.domains.count import Count
from vertwin.domains.domain import Decoder, Domain, Encoded, FaultyRows, Missing, RowFault
from vertwin.domains.numeric import NATURAL_MARGIN
from vertwin.domains.ordinal import Ordinal
from vertwin.domains.real import Real

__all__ = [
    "NATURAL_MARGIN",
    "Binary",
    "Bins",
    "Category",
    "Count",
    "Decoder",
    "Domain",
    "Edges",
    "Encoded",
    "EqualWidth",
    "FaultyRows",
    "Missing",
    "Ordinal",
    "Real",
    "RowFault",
]
