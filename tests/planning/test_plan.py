"""The plan: a function of public facts, compared before the first share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import in_threads

from vertwin import agreement as agreements
from vertwin.errors import UserError
from vertwin.planning import compare, plan
from vertwin.rehearsal.links import queue_links

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ADULT = agreements.load(EXAMPLES / "adult" / "measure_once.toml")


def with_privacy(agreement, **changes):
    return replace(agreement, privacy=replace(agreement.privacy, **changes))


@pytest.mark.parametrize(("delta", "demographics", "finances"), [(1e-6, 1.080, 1.119), (1e-5, 1.082, 1.121)])
def test_adult_promises_the_analyst_one_and_the_parties_a_little_more(delta, demographics, finances):
    """replace_one; equal variances, target for the analyst alone."""
    found = {p.viewer: p.epsilon for p in plan(with_privacy(ADULT, delta=delta), 30_162).statement.promises}
    assert 0.995 <= found["analyst"] <= 1.0
    assert sorted([found["demographics"], found["finances"]]) == pytest.approx([demographics, finances], abs=0.01)


@pytest.mark.parametrize(("adjacency", "sd"), [("add_remove", 35.6), ("replace_one", 50.3)])
def test_the_noise_of_a_pair_table_cell_on_adult(adjacency, sd):
    mechanism = plan(with_privacy(ADULT, delta=1e-5, adjacency=adjacency), 30_162).mechanism
    assert mechanism.table("age", "income").noise_sd == pytest.approx(sd, abs=0.1)


def test_the_digest_covers_terms_rows_and_noise():
    plans = [
        plan(ADULT, 30_162),
        plan(ADULT, 30_161),
        plan(with_privacy(ADULT, delta=1e-7), 30_162),
        plan(replace(ADULT, purpose="another"), 30_162),
    ]
    assert len({each.digest for each in plans}) == len(plans)
    assert plan(ADULT, 30_162).digest == plans[0].digest


def test_parties_with_different_plans_stop():
    links = queue_links(("demographics", "finances"))
    mine = {"demographics": plan(ADULT, 30_162), "finances": plan(ADULT, 30_161)}
    codes = []

    def party(name):
        try:
            compare(mine[name], SimpleNamespace(link=links[name]))
        except UserError as error:
            codes.append(error.codes)

    in_threads({name: lambda name=name: party(name) for name in mine})
    assert codes == [("E411",), ("E411",)]


def test_dpvi_says_that_there_is_no_statement_yet():
    terms = agreements.load(EXAMPLES / "three" / "dpvi.toml")
    assert plan(terms, 4000).statement.text == "no privacy statement yet"
    assert plan(terms, 4000).statement.promises == ()
