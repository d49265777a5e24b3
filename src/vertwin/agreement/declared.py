"""A declared domain as the keys of its [[columns]] table: the way back from columns.py."""

from __future__ import annotations

from vertwin.agreement.canonical import Document
from vertwin.domains import Binary, Bins, Category, Count, Domain, Edges, EqualWidth, Ordinal, Real


def domain_document(domain: Domain) -> Document:
    """The type, the domain, the meaning of missing values and the source; numbers of a count are whole numbers."""
    match domain:
        case Binary():
            own: Document = {"values": list(domain.values)}
        case Category():
            own = {"categories": list(domain.categories)}
        case Ordinal():
            own = {"levels": list(domain.levels)}
        case Count():
            low, high = domain.bounds
            own = {"bounds": [int(low), int(high)], "bins": _bins_document(domain.bins, whole=True)}
        case Real():
            low, high = domain.bounds
            own = {"bounds": [float(low), float(high)], "bins": _bins_document(domain.bins, whole=False)}
        case _:
            raise AssertionError(f"no table for a domain of kind {domain.kind}")
    return {"type": domain.kind} | own | {"missing": str(domain.missing), "source": domain.source}


def _bins_document(bins: Bins | None, whole: bool) -> Document:
    as_written = int if whole else float
    match bins:
        case EqualWidth():
            document: Document = {"kind": "equal_width", "count": bins.count}
        case Edges():
            document = {"kind": "edges", "edges": [as_written(edge) for edge in bins.edges]}
        case _:
            raise AssertionError(f"no table for bins of type {type(bins).__name__}")
    return document | ({"heaps": [as_written(heap) for heap in bins.heaps]} if bins.heaps else {})
