"""An agreement small enough to reason about by hand, for the tests of the report."""

from __future__ import annotations

from typing import Final

from vertwin.agreement import Agreement, parse

_HEAD: Final = """
format = 1
name = "small"
purpose = "a test"
data_set = "small"
[[parties]]
name = "left"
[[parties]]
name = "right"
[linkage]
kind = "aligned"
rows_per_person = 1
"""
_TAIL: Final = """
[learner]
kind = "measure_once"
[privacy]
delta = 1e-6
adjacency = "replace_one"
[privacy.epsilon]
analyst = 1.0
"""
COLUMNS: Final = (
    ("a", "left", 'type = "category"\ncategories = ["p", "q", "r"]', "refuse"),
    ("n", "left", 'type = "count"\nbounds = [0, 9]\nbins = {kind = "equal_width", count = 5}', "category"),
    ("b", "right", 'type = "ordinal"\nlevels = ["low", "mid", "high"]', "marginal"),
    ("s", "right", 'type = "binary"\nvalues = ["no", "yes"]', "refuse"),
)


def small_agreement() -> Agreement:
    columns = "".join(
        f'[[columns]]\nname = "{name}"\nparty = "{party}"\n{domain}\nmissing = "{missing}"\nsource = "a test"\n'
        for name, party, domain, missing in COLUMNS
    )
    return parse(_HEAD + columns + _TAIL)
