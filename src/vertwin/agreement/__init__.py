"""What all parties sign: columns and their declared domains, parties, learner and its options, privacy targets.

`load` reads a file and reports every fault of it at once; the result is frozen, has every default filled in, and a
digest that is equal for equal terms.
"""

from __future__ import annotations

from vertwin.agreement.protocols import PROTOCOLS, Protocol, ProtocolName
from vertwin.agreement.reading import from_canonical, load, parse
from vertwin.agreement.scaffold import scaffold
from vertwin.agreement.terms import (
    ANALYST,
    FORMAT,
    PARTIES,
    Agreement,
    Bound,
    Column,
    Dpvi,
    EngineChoice,
    Linkage,
    MeasureOnce,
    Party,
    Privacy,
    Targets,
)
from vertwin.agreement.unbuilt import refuse_unbuilt
from vertwin.agreement.writing import dumps

__all__ = [
    "ANALYST",
    "FORMAT",
    "PARTIES",
    "PROTOCOLS",
    "Agreement",
    "Bound",
    "Column",
    "Dpvi",
    "EngineChoice",
    "Linkage",
    "MeasureOnce",
    "Party",
    "Privacy",
    "Protocol",
    "ProtocolName",
    "Targets",
    "dumps",
    "from_canonical",
    "load",
    "parse",
    "refuse_unbuilt",
    "scaffold",
]
