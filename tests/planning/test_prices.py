from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vertwin import agreement as agreements
from vertwin.agreement import Privacy, Targets
from vertwin.planning.prices import prices_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_price_of_a_symmetric_promise():
    terms = agreements.load(EXAMPLES / "adult" / "measure_once_symmetric.toml")
    prices = {price.viewer: price for price in prices_of(terms, 30_162)}
    assert list(prices) == ["demographics", "finances", "all"]
    assert prices["all"].cross == pytest.approx(1.18, abs=0.01)
    assert prices["all"].noise == pytest.approx(1.04, abs=0.01)
    assert all(1 <= price.noise <= prices["all"].noise * 1.0001 for price in prices.values())


def test_a_target_that_does_not_bind_is_free():
    terms = agreements.load(EXAMPLES / "adult" / "measure_once.toml")
    terms = replace(terms, privacy=Privacy(1e-6, epsilon=Targets({"analyst": 1.0, "parties": 5.0})))
    assert [price.noise for price in prices_of(terms, 30_162)] == pytest.approx([1.0] * 3, rel=1e-3)


def test_without_an_analysts_target_or_others_there_is_no_price():
    terms = agreements.load(EXAMPLES / "adult" / "measure_once.toml")
    assert prices_of(terms, 30_162) == ()
    other = replace(terms, privacy=Privacy(1e-6, epsilon=Targets({"finances": 1.0})))
    assert prices_of(other, 30_162) == ()


def test_dpvi_pays_in_sigma():
    """Half of the noise is a party's own: the same target for it takes the root of two more."""
    terms = agreements.load(EXAMPLES / "adult" / "dpvi.toml")
    terms = replace(terms, privacy=Privacy(1e-6, epsilon=Targets({"analyst": 10.0, "parties": 10.0})))
    assert prices_of(terms, 30_162)[-1].noise == pytest.approx(2**0.5, rel=1e-3)
