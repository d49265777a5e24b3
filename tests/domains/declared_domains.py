"""Declared domains of every type, as hypothesis strategies: what each property of domains is tested on."""

from __future__ import annotations

from unicodedata import normalize

from hypothesis import strategies as st

from vertwin.domains import Binary, Category, Count, Domain, Edges, EqualWidth, Missing, Ordinal, Real

missing = st.sampled_from(list(Missing))
labels = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6).filter(
    lambda label: label not in ("missing",) and label.strip() == label
)


def _distinct(draw: st.DrawFn, least: int, most: int) -> tuple[str, ...]:
    return tuple(draw(st.lists(labels, min_size=least, max_size=most, unique_by=lambda label: normalize("NFC", label))))


@st.composite
def binaries(draw: st.DrawFn) -> Binary:
    no, yes = _distinct(draw, 2, 2)
    return Binary((no, yes), missing=draw(missing))


@st.composite
def categories(draw: st.DrawFn) -> Category:
    return Category(_distinct(draw, 1, 8), missing=draw(missing))


@st.composite
def ordinals(draw: st.DrawFn) -> Ordinal:
    return Ordinal(_distinct(draw, 1, 8), missing=draw(missing))


@st.composite
def counts(draw: st.DrawFn) -> Count:
    low = draw(st.integers(-1000, 1000) | st.integers(-(10**12), 10**12))
    high = low + draw(st.integers(1, 40) | st.integers(70_000, 10**9))
    heaps = tuple(draw(st.lists(st.integers(low, min(high, low + 40)), max_size=12, unique=True)))
    if draw(st.booleans()):
        bins = EqualWidth(draw(st.integers(1, min(high - low + 1, 30))), heaps=heaps)
    else:
        inner = draw(st.lists(st.integers(low + 1, high), max_size=6, unique=True))
        bins = Edges((low, *sorted(inner), high + 1), heaps=heaps)
    return Count((low, high), bins, missing=draw(missing))


@st.composite
def reals(draw: st.DrawFn) -> Real:
    low = draw(st.floats(-1e6, 1e6))
    high = low + draw(st.floats(0.5, 1e6))
    shares = sorted(draw(st.lists(st.integers(1, 999), max_size=6, unique=True)))
    cuts = (low, *(low + (high - low) * share / 1000 for share in shares), high)
    heaps = tuple(draw(st.lists(st.sampled_from(cuts) | st.floats(low, high), max_size=4, unique=True)))
    bins = draw(st.sampled_from([Edges(cuts, heaps=heaps), EqualWidth(len(cuts), heaps=heaps), None]))
    return Real((low, high), bins, missing=draw(missing))


domains: st.SearchStrategy[Domain] = st.one_of(binaries(), categories(), ordinals(), counts(), reals())
