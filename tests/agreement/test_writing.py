"""TOML that is written is read back, whatever stands in it."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.agreement import dumps, parse
from vertwin.agreement.writing import quoted, write_document

_SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False), st.text(st.characters(codec="utf-8"))
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)), max_leaves=8
)


@settings(deadline=None, max_examples=150)
@given(st.dictionaries(st.text(st.characters(codec="utf-8")), _VALUES, max_size=6))
def test_any_document_is_read_back(document: dict[str, Any]) -> None:
    assert tomllib.loads(write_document(document)) == document


@settings(deadline=None, max_examples=150)
@given(st.text(st.characters(codec="utf-8")))
def test_any_text_is_read_back(text: str) -> None:
    assert tomllib.loads(f"x = {quoted(text)}") == {"x": text}


def test_it_is_written_for_people(texts: dict[str, str]) -> None:
    text = dumps(parse(texts["measure_once"]))
    assert text.startswith('format = 1\nname = "care-and-claims"\n')
    assert '\n[[columns]]\nname = "age"\nparty = "clinic"\ntype = "real"\nbounds = [0.0, 120.0]\n' in text
    assert text.endswith('\n[privacy.epsilon]\nanalyst = 1.0\nparties = 1.2\n\n[engine]\nprotocol = "auto"\n')
    assert max(map(len, text.splitlines())) <= 120
