"""The learner's text at every holder: exact counts, noise that is really on, two looks within one budget."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import combinations

import numpy as np
import pandas
import pytest
from unsafe_entropy import UnsafeSeededEntropy

from vertwin import agreement as agreements
from vertwin import encoding, rehearsal, tables
from vertwin.domains import Missing
from vertwin.errors import UserError
from vertwin.learners.measure_once.learn import count, decode_counts, encode_counts
from vertwin.linkage import LinkedTable
from vertwin.noise import DiscreteGaussian
from vertwin.planning import plan
from vertwin.rehearsal import town_agreements, town_files
from vertwin.release import GRID, Release, verify

TERMS = agreements.parse(town_agreements.agreement_text())
TERMS = replace(TERMS, learner=replace(TERMS.learner, components=3, restarts=1))
HOLDERS = ("clinic", "insurer")
PEOPLE_OF_NO_MATTER = 100  # the plan of measure_once does not depend on how many there are


@pytest.fixture(scope="module")
def town():
    return dict(town_files.make(people=6000).aligned)


def encoded(party, town):
    table = tables.read(town[party], TERMS, party)
    return encoding.encode(LinkedTable(table.party, table.columns, table.rows, table.batches), TERMS)


def rehearsed(town, terms=TERMS, entropies=None):
    drawn = entropies or {name: UnsafeSeededEntropy(name) for name in HOLDERS}
    return rehearsal.run(terms, town, secure=False, progress=lambda *_: None, entropies=drawn)


def true_counts(town, columns):
    """By pandas, from the declared codes: the plain twin of `count` and of the secure product."""
    domains = {column.name: column.domain for column in TERMS.columns}
    codes = {}
    for name in columns:
        party = next(column.party for column in TERMS.columns if column.name == name)
        codes[name] = pandas.Categorical(
            domains[name].encode(town[party][name]).codes, categories=range(domains[name].size)
        )
    frame = pandas.DataFrame(codes).dropna()
    return frame.groupby(list(columns), observed=False).size().to_numpy().reshape([domains[n].size for n in columns])


def test_counts_are_exact_and_a_value_that_says_nothing_counts_nowhere(town):
    assert any(column.domain.missing is Missing.MARGINAL for column in TERMS.columns)
    sizes = {column.name: column.domain.size for column in TERMS.columns}
    for party in HOLDERS:
        table = encoded(party, town)
        for columns in [(name,) for name in table.names] + list(combinations(table.names, 2)):
            got = count(table, columns, tuple(sizes[name] for name in columns))
            np.testing.assert_array_equal(got, true_counts(town, columns))


def excess(content, town) -> list[float]:
    """Noise found in each cell, in standard deviations of the plan."""
    found: list[float] = []
    for table in content.tables:
        noise = table.counts / GRID - true_counts(town, table.columns)
        found.extend((noise / table.variance**0.5).ravel())
    return found


class OneSilent:
    """A holder that skimps on its noise: what the test of the noise has to notice."""

    def sample(self, n, entropy):
        return np.zeros(n, np.int64)


def test_the_noise_is_really_on_and_one_share_left_out_is_noticed(town, monkeypatch):
    """Sum of squares of n standard normals: mean n, sd sqrt(2 n). 6 sd: false alarm below 1e-8."""
    noise = np.array(excess(rehearsed(town), town))
    assert len(noise) > 2500
    allowed = 6 * np.sqrt(2 / len(noise))
    assert abs(np.mean(noise**2) - 1) < allowed
    assert abs(np.mean(noise)) < 6 / np.sqrt(len(noise))

    learn = import_module("vertwin.learners.measure_once.learn")
    variances = {t.grid_variance("insurer") for t in plan(TERMS, 100).mechanism.tables if len(t.owners) == 2}
    monkeypatch.setattr(
        learn, "DiscreteGaussian", lambda variance: OneSilent() if variance in variances else DiscreteGaussian(variance)
    )
    skimped = np.array(excess(rehearsed(town), town))
    assert abs(np.mean(skimped**2) - 1) > allowed


def test_fresh_noise_every_time(town):
    a, b = (rehearsed(town, entropies={name: UnsafeSeededEntropy(f"{run}{name}") for name in HOLDERS}) for run in "ab")
    assert all((x.counts != y.counts).mean() > 0.9 for x, y in zip(a.tables, b.tables, strict=True))


def test_two_looks_spend_what_one_would_and_say_so(town):
    terms = replace(TERMS, learner=replace(TERMS.learner, stages=2))
    content = rehearsed(town, terms)
    seen = [table.columns for table in content.tables]
    again = seen[91:]
    assert len(seen) == 91 + len(again)
    assert 24 <= len(again) <= 78
    assert all(len(columns) == 2 for columns in again)
    # What was measured again depends on the first look, so what it happened to leave unused is not promised.
    assert content.statement == plan(terms, PEOPLE_OF_NO_MATTER).statement
    assert verify(Release(content), rehearsal=True).checked
    spent = replace(content, tables=tuple(_less_noise(table) for table in content.tables))
    with pytest.raises(UserError) as caught:
        verify(Release(spent), rehearsal=True)
    assert "E531" in caught.value.codes
    noise = np.array(excess(content, town))
    assert abs(np.mean(noise**2) - 1) < 6 * np.sqrt(2 / len(noise))


def _less_noise(table):
    return replace(table, noise=tuple(replace(share, variance=share.variance / 2) for share in table.noise))


def test_counts_travel_without_pickle():
    held = [np.arange(6).reshape(2, 3), np.array([-5])]
    back = decode_counts(encode_counts(held), 2)
    assert all(np.array_equal(a, b) for a, b in zip(held, back, strict=True))


def test_columns_of_the_parties_may_stand_in_any_order(town):
    """One column of the first party at the end, or all by name: owners are told in the agreement's order of parties."""
    mixed = replace(TERMS, columns=(*TERMS.columns[1:], TERMS.columns[0]))
    turned = replace(TERMS, columns=tuple(sorted(TERMS.columns, key=lambda column: column.name)))
    for terms in (mixed, turned):
        content = rehearsed(town, terms)
        assert verify(Release(content), rehearsal=True).checked
        noise = np.array(excess(content, town))
        assert abs(np.mean(noise**2) - 1) < 6 * np.sqrt(2 / len(noise))
