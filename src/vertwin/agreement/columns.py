"""From a [[columns]] table to a Column with its declared Domain; declared.py is the way back.

Domains are declared, never learned from a table: what only the table could tell (its rarest category, its oldest
person) would be disclosed by the agreement itself. So each domain names its source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from vertwin.agreement.canonical import Document
from vertwin.agreement.pieces import entries, text_of
from vertwin.agreement.schema import (
    BINS_TABLES,
    COLUMN_TABLES,
    BinaryTable,
    CategoryTable,
    ColumnTable,
    CountTable,
    EdgesTable,
    EqualWidthTable,
    OrdinalTable,
    RealTable,
)
from vertwin.agreement.shape import Elsewhere, choice, shaped
from vertwin.agreement.terms import Column, Family
from vertwin.agreement.unbuilt import equal_count_fault
from vertwin.domains import Binary, Bins, Category, Count, Domain, Edges, EqualWidth, Missing, Ordinal, Real
from vertwin.errors import Faults

_KEYS = frozenset(key for table in COLUMN_TABLES.values() for key in table.model_fields)
_BINS_KEYS = frozenset(key for table in BINS_TABLES.values() for key in table.model_fields)


@dataclass
class ReadColumns:
    """What came of all tables [[columns]], in the file's order: None where a table is faulty."""

    columns: list[Column | None] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    owners: list[str | None] = field(default_factory=list)


def read_columns(raw: object, learner: str | None, faults: Faults) -> ReadColumns:
    read = ReadColumns()
    for place, table in entries(raw, "columns", faults):
        read.places.append(place)
        read.names.append(text_of(table, "name"))
        read.owners.append(text_of(table, "party"))
        read.columns.append(_read_column(place, table, learner, faults))
    return read


def _read_column(place: str, raw: object, learner: str | None, faults: Faults) -> Column | None:
    """One column; every rule looks at the fields it needs, so that a fault in one field does not hide another's."""
    model = choice(COLUMN_TABLES, raw, "type", place, faults, code="E107")
    if model is None:
        return None
    kind = cast(Document, raw)["type"]
    others = Elsewhere(_KEYS | _BINS_KEYS, "E137", f'does not belong to a column of type "{kind}"')
    column = shaped(model, raw, place, faults, others)
    _check_family(column.sound, kind, learner, place, faults)
    sound = True
    for key in ("values", "categories", "levels"):
        if key in column.sound:
            sound = _distinct(column.sound[key], f"{place} {key}", faults)
    bounds = column.sound.get("bounds")
    if bounds is not None:
        sound &= _ordered(bounds, f"{place} bounds", faults)
    bins = (
        _bins(column.sound["bins"], bounds, kind == "count", f"{place} bins", faults)
        if "bins" in column.sound
        else None
    )
    if column.table is None or not sound:
        return None
    table = column.table
    domain = _domain(table, bins, place, faults)
    return None if domain is None else Column(table.name, table.party, domain, _family(table, kind, learner))


def _check_family(sound: dict[str, Any], kind: str, learner: str | None, place: str, faults: Faults) -> None:
    family, categorical = sound.get("family"), sound.get("missing") == "category"
    where = f"{place} family"
    hint = 'use "categorical", or leave family out'
    if family is not None and learner == "measure_once":
        hint_for_learner = 'measure_once needs none: leave it out, or use kind = "dpvi"'
        faults.add("E151", 'a family belongs to the learner "dpvi"', hint_for_learner, where)
    if (family == "beta" and kind not in ("count", "real")) or (family == "bernoulli" and kind != "binary"):
        faults.add("E139", f'the family "{family}" does not fit a column of type "{kind}"', hint, where)
    elif family in ("beta", "bernoulli") and categorical:
        hint = 'use missing = "marginal" or "refuse", or family = "categorical"'
        faults.add("E140", f'the family "{family}" has no place for the category "missing"', hint, where)


def _family(table: ColumnTable, kind: str, learner: str | None) -> Family | None:
    """The family that models the column under dpvi, the default for its type filled in; None for measure_once."""
    if learner != "dpvi":
        return None
    return table.family or ("bernoulli" if kind == "binary" and table.missing != "category" else "categorical")


def _domain(table: ColumnTable, bins: Bins | None, place: str, faults: Faults) -> Domain | None:
    missing, source = Missing(table.missing), table.source
    try:
        match table:
            case BinaryTable(values=values):
                return Binary(values=(values[0], values[1]), missing=missing, source=source)
            case CategoryTable(categories=categories):
                return Category(categories=tuple(categories), missing=missing, source=source)
            case OrdinalTable(levels=levels):
                return Ordinal(levels=tuple(levels), missing=missing, source=source)
            case CountTable(bounds=[low, high]):
                return None if bins is None else Count(bounds=(low, high), bins=bins, missing=missing, source=source)
            case RealTable(bounds=[low, high]):
                return None if bins is None else Real(bounds=(low, high), bins=bins, missing=missing, source=source)
            case _:
                raise AssertionError(f"no domain for {type(table).__name__}")
    except ValueError as error:  # a rule of domains/ that has no code of its own here; it names declared values only
        faults.add("E141", f"the domain is not possible: {error}", "mend the declared domain", place)
    return None


def _distinct(labels: Sequence[str], where: str, faults: Faults) -> bool:
    repeated = [label for label, times in Counter(labels).items() if times > 1]
    if repeated:
        shown = ", ".join(f'"{label}"' for label in repeated[:5])
        faults.add("E131", f"{shown} stands there more than once", "write every value once", where)
    if len(labels) < 2:
        faults.add("E142", "a domain of one value says nothing", "list every value, or leave the column out", where)
    return not repeated and len(labels) >= 2


def _ordered(bounds: Sequence[float], where: str, faults: Faults) -> bool:
    low, high = bounds
    if not low < high:
        hint = f"write bounds = [{high}, {low}]" if low > high else "a column of one value says nothing: leave it out"
        faults.add("E132", f"the lower bound {low} is not below the upper bound {high}", hint, where)
    return low < high


def _bins(raw: object, bounds: Sequence[float] | None, whole: bool, where: str, faults: Faults) -> Bins | None:
    """The bins of a count (`whole`) or real column, checked against sound bounds; None if there is a fault."""
    model = choice(BINS_TABLES, raw, "kind", where, faults, code="E136")
    if model is None:
        return None
    kind = cast(Document, raw)["kind"]
    others = Elsewhere(_BINS_KEYS, "E137", f'does not belong to bins of kind "{kind}"')
    table = shaped(model, raw, where, faults, others).table
    low, high = bounds if bounds is not None and bounds[0] < bounds[1] else (None, None)
    match table:
        case EqualWidthTable():
            if whole and low is not None and high is not None and table.count > high - low + 1:
                sentence = f"{table.count} bins for {high - low + 1} whole numbers"
                faults.add("E143", sentence, "take fewer bins", f"{where}.count")
                return None
            heaps = _heaps(table.heaps, low, high, whole, f"{where}.heaps", faults)
            return EqualWidth(count=table.count, heaps=heaps) if heaps is not None else None
        case EdgesTable():
            edges = _edges(table.edges, low, high, whole, f"{where}.edges", faults)
            heaps = _heaps(table.heaps, low, high, whole, f"{where}.heaps", faults)
            return Edges(edges=edges, heaps=heaps) if edges is not None and heaps is not None else None
        case None:
            return None
        case _:
            faults.extend([equal_count_fault(f"{where}.kind")])
            return None


def _edges(
    edges: list[float], low: float | None, high: float | None, whole: bool, where: str, faults: Faults
) -> tuple[float, ...] | None:
    if whole and not all(edge.is_integer() for edge in edges):
        faults.add("E145", "the edges of a count are whole numbers", 'round them, or use type = "real"', where)
        return None
    for left, right in pairwise(edges):
        if left >= right:
            hint = "write the edges in rising order, each once"
            faults.add("E133", f"the edge {left:g} is not below the next one, {right:g}", hint, where)
            return None
    if low is None or high is None:
        return tuple(edges)
    ends = (high, high + 1) if whole else (high,)  # a count's last edge may be the first number outside
    if edges[0] != low or edges[-1] not in ends:
        sentence = f"the edges run from {edges[0]:g} to {edges[-1]:g}, the bounds from {low:g} to {high:g}"
        hint = f"begin with {low:g} and end with {' or '.join(f'{end:g}' for end in ends)}"
        faults.add("E133", sentence, hint, where)
        return None
    return tuple(edges)


def _heaps(
    heaps: list[float], low: float | None, high: float | None, whole: bool, where: str, faults: Faults
) -> tuple[float, ...] | None:
    if whole and not all(heap.is_integer() for heap in heaps):
        faults.add("E145", "the heaps of a count are whole numbers", "a heap is a value that occurs often", where)
        return None
    if len(set(heaps)) < len(heaps):
        faults.add("E143", "a heap stands there twice", "write every heap once", where)
        return None
    if low is not None and high is not None and not all(low <= heap <= high for heap in heaps):
        faults.add("E143", "a heap lies outside the bounds", "a heap is a value inside the bounds", where)
        return None
    return tuple(sorted(heaps))
