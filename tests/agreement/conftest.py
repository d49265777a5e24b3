"""Two sound agreements that the tests of this folder change in one place each."""

from __future__ import annotations

import pytest

_HEAD = """\
format = 1
name = "care-and-claims"
purpose = "planning of services"
data_set = "town-2026"

[[parties]]
name = "clinic"
rows_at_most = 30000

[[parties]]
name = "insurer"
rows_at_most = 20000
"""
_HELPER = """
[[parties]]
name = "dealer"
role = "helper"
"""
_COLUMNS = """
[linkage]
keys = ["person_id"]

[[columns]]
name = "age"
party = "clinic"
type = "real"
bounds = [0, 120]
bins = {kind = "equal_width", count = 24}
missing = "category"
source = "code book 2024, p. 12"

[[columns]]
name = "sex"
party = "clinic"
type = "binary"
values = ["female", "male"]
source = "code book 2024, p. 13"

[[columns]]
name = "visits"
party = "insurer"
type = "count"
bounds = [0, 60]
bins = {kind = "edges", edges = [0, 1, 5, 61], heaps = [10]}
missing = "marginal"
source = "law on claims, section 3"

[[columns]]
name = "plan"
party = "insurer"
type = "category"
categories = ["basic", "full", "none"]
source = "price list"

[[columns]]
name = "band"
party = "insurer"
type = "ordinal"
levels = ["low", "middle", "high"]
source = "tax tables"
"""
_MEASURE_ONCE = """
[learner]
kind = "measure_once"
variances = "equal"

[privacy]
delta = 1e-6

[privacy.epsilon]
analyst = 1.0
parties = 1.2
"""
_DPVI = """
[learner]
kind = "dpvi"
components = 20
steps = 100

[privacy]
delta = 1e-6
sigma = 2.042
"""


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """Sound agreements by name: each learner, with and without a helper."""
    return {
        "measure_once": _HEAD + _COLUMNS + _MEASURE_ONCE,
        "dpvi": _HEAD + _COLUMNS + _DPVI,
        "dpvi_helper": _HEAD + _HELPER + _COLUMNS + _DPVI,
    }
