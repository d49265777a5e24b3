"""One digest for one content: whatever the spelling and order of the file; another for any other value."""

from __future__ import annotations

import json
import random
from typing import Any
from unicodedata import normalize

from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.agreement import Agreement, dumps, from_canonical, parse
from vertwin.agreement.canonical import canonical_bytes, digest_of
from vertwin.agreement.writing import write_document

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12)
_LABELS = st.lists(
    st.text("abcdefghijklmnopqrstuvwxyzäß0123456789\"'\\-", min_size=1, max_size=8), min_size=2, max_size=6, unique=True
)
_NAME = st.from_regex(r"[a-z][a-z0-9_.-]{0,11}", fullmatch=True)
_REAL = st.floats(-1e9, 1e9).map(lambda value: round(value, 3))


@st.composite
def domains(draw: st.DrawFn) -> dict[str, Any]:
    """A sound domain of any type, as the keys of its table."""
    kind = draw(st.sampled_from(["binary", "category", "ordinal", "count", "real"]))
    missing = draw(st.sampled_from(["refuse", "category", "marginal"]))
    document: dict[str, Any] = {"type": kind, "missing": missing, "source": draw(_TEXT)}
    labels = draw(_LABELS.filter(lambda found: "missing" not in found))
    low = draw(st.integers(-1000, 1000))
    high = low + draw(st.integers(2, 500))
    match kind:
        case "binary":
            return document | {"values": labels[:2]}
        case "category":
            return document | {"categories": labels}
        case "ordinal":
            return document | {"levels": labels}
        case "count":
            edges = sorted({low, high + 1, *draw(st.lists(st.integers(low, high), max_size=5))})
            widths = draw(st.integers(1, high - low + 1))
        case _:
            edges = [float(low), float(high)]
            widths = draw(st.integers(1, 500))
    equal = draw(st.booleans())
    bins: dict[str, Any] = {"kind": "equal_width", "count": widths} if equal else {"kind": "edges", "edges": edges}
    if draw(st.booleans()):
        bins["heaps"] = [low + 1]
    return document | {"bounds": [low, high], "bins": bins}


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A sound agreement as a document, with options left out at random."""
    parties = draw(
        st.lists(
            _NAME.filter(lambda name: name not in ("analyst", "parties", "helper")), min_size=2, max_size=4, unique=True
        )
    )
    names = draw(st.lists(_TEXT.filter(lambda name: name != "?"), min_size=len(parties), max_size=7, unique=True))
    names = list(dict.fromkeys(normalize("NFC", name) for name in names))
    while len(names) < len(parties):
        names.append(f"column {len(names)}")
    columns = [
        {"name": name, "party": parties[index % len(parties)]} | draw(domains()) for index, name in enumerate(names)
    ]
    for column in columns:
        column["source"] = column["source"].replace("?", "x")
    dpvi = draw(st.booleans())
    learner: dict[str, Any] = {"kind": "dpvi", "components": draw(st.integers(1, 30)), "steps": draw(st.integers(1, 9))}
    if draw(st.booleans()):
        learner |= {"step_size": draw(st.floats(1e-6, 10)), "bound": {"clipping_threshold": draw(st.floats(0.01, 9))}}
    if not dpvi:
        learner = {"kind": "measure_once", "variances": "equal", "restarts": draw(st.integers(1, 9))}
    epsilon = {viewer: draw(st.floats(1e-3, 1e3)) for viewer in ["analyst", *draw(st.permutations(parties))[:1]]}
    document: dict[str, Any] = {
        "format": 1,
        "name": "n",
        "purpose": draw(_TEXT).replace("?", "x"),
        "data_set": draw(_NAME),
        "parties": [{"name": name} for name in parties],
        "linkage": draw(st.sampled_from([{"kind": "aligned"}, {"keys": ["id"]}, {"keys": ["a", "b"]}])),
        "columns": columns,
        "learner": learner,
        "privacy": {"delta": draw(st.floats(1e-12, 0.5)), "epsilon": epsilon},
    }
    if draw(st.booleans()):
        document["recipients"] = draw(st.lists(_TEXT, max_size=3).map(lambda found: [f"{text}." for text in found]))
    return document


def shuffled(value: Any, order: random.Random) -> Any:
    """The same document with the keys of every table in another order and numbers spelt another way."""
    if isinstance(value, dict):
        items = list(value.items())
        order.shuffle(items)
        return {key: shuffled(item, order) for key, item in items}
    if isinstance(value, list):
        return [shuffled(item, order) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and order.random() < 0.5:
        return float(value)
    return value


@settings(deadline=None, max_examples=40)
@given(documents(), st.randoms(use_true_random=False))
def test_the_digest_does_not_see_order_or_spelling(document: dict[str, Any], order: random.Random) -> None:
    agreement = from_canonical(document)
    format_stays = {"format": 1}
    other = parse(write_document(shuffled(document, order) | format_stays))
    assert other == agreement
    assert other.digest == agreement.digest
    assert hash(other) == hash(agreement)


@settings(deadline=None, max_examples=40)
@given(documents())
def test_writing_and_reading_give_the_same_terms(document: dict[str, Any]) -> None:
    agreement = from_canonical(document)
    again = parse(dumps(agreement))
    assert again == agreement
    assert again.digest == agreement.digest
    assert dumps(again) == dumps(agreement)
    carried = json.loads(canonical_bytes(agreement.canonical()))
    assert from_canonical(carried) == agreement


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in leaves(item, (*path, index))]
    return [path]


def with_leaf(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(document))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copy


def test_the_digest_sees_every_value(texts: dict[str, str]) -> None:
    """Every single leaf of the canonical form, changed, gives another digest; so does the order of a list."""
    for text in texts.values():
        document = parse(text).canonical()
        digests = {digest_of(document)}
        paths = leaves(document)
        for path in paths:
            inner: Any = document
            for key in path:
                inner = inner[key]
            changed = inner + "x" if isinstance(inner, str) else inner + 1e-9 if isinstance(inner, float) else inner + 1
            digests.add(digest_of(with_leaf(document, path, changed)))
        assert len(digests) == len(paths) + 1
        assert digest_of(document | {"columns": document["columns"][::-1]}) not in digests


def test_a_default_written_out_is_the_same_agreement(texts: dict[str, str]) -> None:
    written = {
        "measure_once": [
            ("[privacy]\n", '[engine]\nprotocol = "auto"\n[privacy]\nadjacency = "replace_one"\n'),
            ("variances =", 'restarts = 8\nstages = 1\nnoise = "holders"\nvariances ='),
            ('keys = ["person_id"]', 'kind = "exact"\nkeys = ["person_id"]\nrows_per_person = 1'),
            ("rows_at_most = 30000", 'rows_at_most = 30000\nrole = "holder"'),
            ('categories = ["basic"', 'missing = "refuse"\ncategories = ["basic"'),
            ('data_set = "town-2026"', 'data_set = "town-2026"\nrecipients = []'),
        ],
        "dpvi": [
            ("steps = 100", 'steps = 100\nposterior = "mean_field"\nsampling = "none"\naggregator = "clinic"'),
            ("components = 20", 'components = 20\nbound = {kind = "hard", clipping_threshold = 1}\nstep_size = 0.2'),
            ("sigma", 'adjacency = "replace_one"\nsigma'),
            ('type = "binary"', 'type = "binary"\nfamily = "bernoulli"'),
            ('type = "ordinal"', 'type = "ordinal"\nfamily = "categorical"'),
        ],
    }
    for name, changes in written.items():
        text = texts[name]
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        assert parse(text) == parse(texts[name])
        assert parse(text).digest == parse(texts[name]).digest


def test_minus_zero_is_zero(texts: dict[str, str]) -> None:
    first, second = (parse(texts["dpvi"].replace("[0, 120]", f"[{zero}, 120]")) for zero in ("0", "-0.0"))
    assert first == second
    assert first.digest == second.digest


def test_the_digest_is_of_this_form_for_ever(texts: dict[str, str]) -> None:
    """A changed canonical form would make two versions of vertwin disagree about one file: then format = 2."""
    agreement: Agreement = parse(texts["measure_once"])
    assert canonical_bytes(agreement.canonical()).startswith(b'{"columns":[{"bins":{"count":24,"kind":"equal_width"}')
    assert agreement.digest == "34fcd55a03a8857a5b4bf8f9d19b041fc06519b73aa247afcd375f02e1bde417"
