"""Releases of two neighbouring tables, from the same injected noise: noised integers differ, and what follows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from unsafe_entropy import UnsafeSeededEntropy

from vertwin import agreement as agreements
from vertwin import rehearsal
from vertwin.rehearsal import town_agreements, town_files
from vertwin.release import GRID, Release

HOLDERS = ("clinic", "insurer")
PEOPLE = 1999  # a number that would be recognised


def terms(adjacency: str):
    parsed = agreements.parse(town_agreements.agreement_text())
    learner = replace(parsed.learner, components=3, restarts=1)
    return replace(parsed, learner=learner, privacy=replace(parsed.privacy, adjacency=adjacency))


@pytest.fixture(scope="module")
def town():
    made = town_files.make(people=2600).aligned
    return {name: table.slice(0, PEOPLE) for name, table in made.items()}


def released(agreement, tables):
    entropies = {name: UnsafeSeededEntropy(name) for name in HOLDERS}
    return rehearsal.run(agreement, tables, secure=False, progress=lambda *_: None, entropies=entropies)


def neighbour(tables, adjacency: str):
    """Without the last person, or with the last one's record replaced by the first one's."""
    shorter = {name: table.slice(0, PEOPLE - 1) for name, table in tables.items()}
    if adjacency == "add_remove":
        return shorter
    import pyarrow as pa

    return {name: pa.concat_tables([table, tables[name].slice(0, 1)]) for name, table in shorter.items()}


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_neighbouring_tables_differ_in_noised_integers_only(town, adjacency):
    agreement = terms(adjacency)
    one, other = released(agreement, town), released(agreement, neighbour(town, adjacency))
    moved = 0
    for a, b in zip(one.tables, other.tables, strict=True):
        assert (a.columns, a.owners, a.noise) == (b.columns, b.owners, b.noise)
        difference = np.abs(a.counts - b.counts).sum()
        assert difference <= (2 if adjacency == "replace_one" else 1) * GRID
        moved += difference
    assert moved, "the neighbours differ at all"
    assert one.statement == other.statement
    assert (one.agreement, one.learner, one.watermark) == (other.agreement, other.learner, other.watermark)
    assert [c.values.shape for c in one.twin.columns] == [c.values.shape for c in other.twin.columns]


def test_with_the_same_noisy_tables_nothing_else_can_differ(town):
    """The twin, its notes and the estimated row count are a function of the noisy tables: no other way leads out."""
    agreement = terms("add_remove")
    assert Release(released(agreement, town)).to_bytes() == Release(released(agreement, town)).to_bytes()


def test_under_add_remove_the_number_of_people_is_nowhere_in_the_file(town):
    """Nor seconds, bytes or blocks; the estimate from the noisy tables is another number."""
    content = released(terms("add_remove"), town)
    text = Release(content).to_bytes()
    assert str(PEOPLE).encode() not in text
    assert b"seconds" not in text
    assert content.rows_estimate is not None
    assert content.rows_estimate != PEOPLE
    assert abs(content.rows_estimate - PEOPLE) < 500


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_neighbouring_tables_of_dpvi_differ_in_the_noisy_trajectory_only(town, adjacency):
    """Everything but the end of the noisy trajectory, and the twin that is made of it, is the same text and shape."""
    parsed = agreements.parse(town_agreements.agreement_text("dpvi"))
    learner = replace(parsed.learner, components=2, steps=2, sampling="none", batch=None)
    agreement = replace(parsed, learner=learner, privacy=replace(parsed.privacy, adjacency=adjacency))

    def learned(tables):
        entropies = {party.name: UnsafeSeededEntropy(party.name) for party in agreement.parties}
        return rehearsal.run(agreement, tables, secure=False, progress=lambda *_: None, entropies=entropies)

    one, other = learned(town), learned(neighbour(town, adjacency))
    assert [(r.name, r.values.shape, r.dtype) for r in one.revealed] == [
        (r.name, r.values.shape, r.dtype) for r in other.revealed
    ]
    same = ("agreement", "learner", "watermark", "statement", "tables", "notes", "product_version")
    assert all(getattr(one, name) == getattr(other, name) for name in same)
    if adjacency == "add_remove":
        assert one.rows_estimate is None
        assert str(PEOPLE).encode() not in Release(one).to_bytes()
