"""Draws follow the fitted probabilities. Fixed seeds; a correct sampler fails a test here once in 10^7 seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release.example import iterated, measured

from vertwin.release import Content
from vertwin.release.content import Floats
from vertwin.release.sampling import AliasTable, Sampler

DRAWS = 400_000
LIMIT = 5.5  # standard deviations of a binomial count; two-sided normal tail 4e-8, and there are a few dozen cells


def deviations(counts: Floats, probabilities: Floats, draws: int) -> Floats:
    spread = np.sqrt(np.maximum(draws * probabilities * (1 - probabilities), 1.0))
    return np.abs(counts - draws * probabilities) / spread


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30).filter(lambda masses: sum(masses) > 1e-6),
    st.integers(1, 3),
)
@settings(deadline=None, max_examples=200)
def test_an_alias_table_holds_exactly_its_probabilities(masses: list[float], rows: int) -> None:
    probabilities = np.array([np.roll(masses, row) for row in range(rows)]) / sum(masses)
    table = AliasTable.of(probabilities)
    size = len(masses)
    held = np.zeros((rows, size))
    for row in range(rows):
        for code in range(size):
            cell = row * size + code
            held[row, code] += table.keep[cell] / size
            held[row, table.other[cell]] += (1 - table.keep[cell]) / size
    assert np.allclose(held, probabilities, rtol=0, atol=1e-12)
    assert (held[probabilities == 0] == 0).all(), "a code of no mass is never drawn"


def draw_counts(table: AliasTable, draws: int) -> Floats:
    generator = np.random.default_rng(11)
    rows = generator.integers(0, 2, draws).astype(np.int32)
    codes = table.draw(rows, generator)
    return np.array([[np.count_nonzero((rows == row) & (codes == code)) for code in range(4)] for row in range(2)])


PROBABILITIES = np.array([[0.5, 0.25, 0.25, 0.0], [0.01, 0.01, 0.9, 0.08]])


def test_draws_follow_the_table() -> None:
    counts = draw_counts(AliasTable.of(PROBABILITIES), DRAWS)
    assert deviations(counts, PROBABILITIES / 2, DRAWS).max() < LIMIT
    assert counts[0, 3] == 0


def test_a_broken_alias_table_is_caught() -> None:
    table = AliasTable.of(PROBABILITIES)
    broken = replace(table, keep=np.clip(table.keep * 1.1, 0, 1))
    assert deviations(draw_counts(broken, DRAWS), PROBABILITIES / 2, DRAWS).max() > LIMIT


def test_joint_probabilities_of_two_columns_are_the_mixture() -> None:
    content = measured()
    batch = Sampler(content).block(DRAWS, np.random.SeedSequence(5))
    domains = {column.name: column.domain for column in content.agreement.columns}
    fitted = {column.column: column.values for column in content.twin.columns}
    codes = {name: domains[name].encode(batch.column(name)).codes for name in ("smoker", "age", "hours")}
    for one, other in (("smoker", "age"), ("age", "hours")):
        shape = (domains[one].size, domains[other].size)
        counts = np.bincount(codes[one] * shape[1] + codes[other], minlength=shape[0] * shape[1]).reshape(shape)
        expected = np.einsum("k,ki,kj->ij", content.twin.weights, fitted[one], fitted[other])
        assert deviations(counts, expected, DRAWS).max() < LIMIT
        apart = np.outer(expected.sum(axis=1), expected.sum(axis=0))
        assert deviations(counts, apart, DRAWS).max() > LIMIT, "columns drawn without regard to the component"


def moments(content: Content) -> tuple[float, float]:
    """Mean of the scaled age, and mean of its product with the scaled hours."""
    batch = Sampler(content).block(DRAWS, np.random.SeedSequence(6))
    domains = {column.name: column.domain for column in content.agreement.columns}
    age, hours = (domains[name].natural(batch.column(name)) for name in ("age", "hours"))
    return float(age.mean()), float((age * hours).mean())


def test_beta_columns_have_the_mixtures_moments() -> None:
    """Values lie within (0, 1), so a mean of 400,000 has a standard deviation below .0008; allowed is .005."""
    content = iterated()
    values = {column.column: column.values for column in content.twin.columns}
    means = {name: values[name][:, 0] / values[name].sum(axis=1) for name in ("age", "hours")}
    weights = content.twin.weights
    age, product = moments(content)
    assert age == pytest.approx(weights @ means["age"], abs=0.005)
    assert product == pytest.approx(weights @ (means["age"] * means["hours"]), abs=0.005)


def test_one_component_and_one_row() -> None:
    content = measured()
    twin = content.twin
    alone = replace(
        twin,
        weights=np.ones(1),
        columns=tuple(replace(column, values=column.values[:1]) for column in twin.columns),
    )
    batches = list(Sampler(replace(content, twin=alone)).blocks(1, seed=None))
    assert [batch.num_rows for batch in batches] == [1]
