"""The metrics against brute force, on tables small enough to write every record down."""

from __future__ import annotations

import math
from itertools import combinations, product

import metrics
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from vertwin.agreement import Agreement, parse
from vertwin.release.content import Twin, TwinColumn

HEAD = """
format = 1
name = "tiny"
purpose = "a test"
data_set = "tiny"
[[parties]]
name = "left"
[[parties]]
name = "right"
[linkage]
kind = "aligned"
rows_per_person = 1
[learner]
kind = "measure_once"
[privacy]
delta = 1e-6
adjacency = "replace_one"
[privacy.epsilon]
analyst = 1.0
"""
DOMAINS = (
    ("a", "left", 'type = "category"\ncategories = ["p", "q", "r"]\nmissing = "marginal"'),
    (
        "n",
        "left",
        'type = "count"\nbounds = [0, 9]\nbins = {kind = "edges", edges = [0, 1, 4, 10]}\nmissing = "refuse"',
    ),
    (
        "x",
        "right",
        'type = "real"\nbounds = [-1, 3]\nbins = {kind = "edges", edges = [-1, 0, 3]}\nmissing = "category"',
    ),
    ("s", "right", 'type = "binary"\nvalues = ["no", "yes"]\nmissing = "refuse"'),
)


@pytest.fixture(scope="module")
def agreement() -> Agreement:
    columns = "".join(
        f'[[columns]]\nname = "{name}"\nparty = "{party}"\n{domain}\nsource = "a test"\n'
        for name, party, domain in DOMAINS
    )
    return parse(HEAD + columns)


def _twin(agreement: Agreement, seed: int = 0, components: int = 3) -> Twin:
    rng = np.random.default_rng(seed)
    columns = tuple(
        TwinColumn(column.name, "categorical", rng.dirichlet(np.ones(column.domain.size), components))
        for column in agreement.columns
    )
    return Twin(rng.dirichlet(np.ones(components)), columns)


def _density(twin: Twin, record: tuple[int, ...]) -> float:
    total = 0.0
    for k, weight in enumerate(twin.weights):
        each = weight
        for column, code in zip(twin.columns, record, strict=True):
            each *= 1.0 if code < 0 else column.values[k, code]
        total += each
    return total


def test_nll_is_minus_the_mean_log_density_record_by_record(agreement: Agreement) -> None:
    twin, sizes = _twin(agreement), [column.domain.size for column in agreement.columns]
    records = list(product(range(-1, sizes[0]), *(range(size) for size in sizes[1:])))
    expected = -sum(math.log(_density(twin, record)) for record in records) / len(records)
    assert metrics.negative_log_likelihood(agreement, twin, np.array(records)) == pytest.approx(expected)


def test_the_densities_of_all_records_sum_to_one(agreement: Agreement) -> None:
    twin, sizes = _twin(agreement, 1), [column.domain.size for column in agreement.columns]
    every = product(*(range(size) for size in sizes))
    likelihoods = [math.exp(-metrics.negative_log_likelihood(agreement, twin, np.array([record]))) for record in every]
    assert sum(likelihoods) == pytest.approx(1.0)


def test_nll_is_the_same_however_many_records_are_scored_at_once(
    agreement: Agreement, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin, records = _twin(agreement), np.random.default_rng(2).integers(0, 2, size=(100, 4))
    whole = metrics.negative_log_likelihood(agreement, twin, records)
    monkeypatch.setattr(metrics, "BLOCK", 7)
    assert metrics.negative_log_likelihood(agreement, twin, records) == pytest.approx(whole)


def test_a_record_that_a_twin_calls_impossible_costs_infinitely_much(agreement: Agreement) -> None:
    twin = _twin(agreement)
    twin.columns[0].values[:] = [1.0, 0.0, 0.0]
    assert metrics.negative_log_likelihood(agreement, twin, np.array([[1, 0, 0, 0]])) == math.inf
    assert math.isfinite(metrics.negative_log_likelihood(agreement, twin, np.array([[0, 0, 0, 0]])))


def test_densities_far_below_the_smallest_float_do_not_vanish(agreement: Agreement) -> None:
    twin = _twin(agreement)
    for column in twin.columns:
        column.values[:] = 1e-200
    found = metrics.negative_log_likelihood(agreement, twin, np.array([[0, 0, 0, 0]]))
    assert found == pytest.approx(4 * 200 * math.log(10))


def test_a_beta_gives_each_bin_of_a_count_what_its_distribution_function_says(agreement: Agreement) -> None:
    """Integers 0..9 are widened by a half: n lies in [n / 10, (n + 1) / 10) of the unit interval."""
    parameters = np.array([[2.0, 5.0], [0.7, 0.4]])
    found = metrics.code_probabilities(agreement.columns[1], TwinColumn("n", "beta", parameters))
    for k, (first, second) in enumerate(parameters):
        expected = np.diff(beta(first, second).cdf([0.0, 0.1, 0.4, 1.0]))
        assert found[k] == pytest.approx(expected)


def test_a_beta_of_a_real_says_nothing_about_missing_values(agreement: Agreement) -> None:
    parameters = np.array([[2.0, 3.0]])
    found = metrics.code_probabilities(agreement.columns[2], TwinColumn("x", "beta", parameters))
    below = beta(2.0, 3.0).cdf(0.25)
    assert found == pytest.approx(np.array([[below, 1 - below, 0.0]]))


def test_a_heap_inside_a_bin_is_taken_out_of_it() -> None:
    text = HEAD + (
        '[[columns]]\nname = "h"\nparty = "left"\ntype = "count"\nbounds = [0, 9]\nsource = "t"\nmissing = "refuse"\n'
        'bins = {kind = "edges", edges = [0, 5, 10], heaps = [3]}\n'
        '[[columns]]\nname = "s"\nparty = "right"\ntype = "binary"\nvalues = ["no", "yes"]\nmissing = "refuse"\n'
        'source = "t"\n'
    )
    column = parse(text).columns[0]
    found = metrics.code_probabilities(column, TwinColumn("h", "beta", np.array([[1.0, 1.0]])))[0]
    by_label = dict(zip(column.domain.labels, found, strict=True))
    assert found.sum() == pytest.approx(1.0)
    assert by_label["3"] == pytest.approx(0.1)
    assert sorted(found) == pytest.approx([0.1, 0.4, 0.5])


tables = st.lists(st.tuples(*(st.integers(0, 2) for _ in range(4))), min_size=1, max_size=30)


@settings(deadline=None, max_examples=50)
@given(tables, tables)
def test_total_variation_by_counting_every_combination(
    first: list[tuple[int, ...]], second: list[tuple[int, ...]]
) -> None:
    expected: list[float] = []
    for subset in combinations(range(4), 2):
        distance = 0.0
        for cell in product(range(3), repeat=2):
            shares = [
                sum(tuple(row[j] for j in subset) == cell for row in rows) / len(rows) for rows in (first, second)
            ]
            distance += abs(shares[0] - shares[1]) / 2
        expected.append(distance)
    found = metrics.total_variation([3] * 4, np.array(first), np.array(second), list(combinations(range(4), 2)))
    assert found == pytest.approx(sum(expected) / len(expected))


def test_rows_that_say_nothing_about_a_column_do_not_count_for_it() -> None:
    with_gaps = np.array([[0, 0], [1, 1], [-1, 0], [-1, 0]])
    assert metrics.total_variation([2, 2], with_gaps, np.array([[0, 0], [1, 1]]), [(0,), (0, 1)]) == 0.0


def test_distances_are_over_columns_pairs_cross_pairs_and_triples(agreement: Agreement) -> None:
    """One cell is moved in column a alone: only what holds a is off, by as much as a is."""
    test = np.array([[0, 0, 0, 0]] * 4)
    synthetic = test.copy()
    synthetic[0, 0] = 1
    found = metrics.distances(agreement, synthetic, test)
    assert found == pytest.approx(
        {"tv1": 0.25 / 4, "tv2": 0.25 * 3 / 6, "tv2_cross": 0.25 * 2 / 4, "tv3": 0.25 * 3 / 4}
    )


def test_triples_are_fixed_different_and_all_where_there_are_few() -> None:
    assert metrics.fixed_triples(5) == list(combinations(range(5), 3))
    chosen = metrics.fixed_triples(13)
    assert chosen == metrics.fixed_triples(13)
    assert len(set(chosen)) == 200
    assert all(0 <= a < b < c < 13 for a, b, c in chosen)
    assert {j for triple in chosen for j in triple} == set(range(13))


def test_encoding_is_column_by_column_and_refuses_what_is_not_declared(agreement: Agreement) -> None:
    table = pa.table({"s": ["yes", "no"], "x": [None, 0.5], "n": [3, 9], "a": ["r", None]})
    assert metrics.encode(agreement, table).tolist() == [[2, 1, 2, 1], [-1, 2, 1, 0]]
    with pytest.raises(ValueError, match="column a: 1 values outside"):
        metrics.encode(agreement, table.set_column(3, "a", pa.array(["r", "z"])))


def test_aucs_know_a_telling_column_from_an_idle_one(agreement: Agreement) -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 2000)
    telling = np.stack([np.where(rng.random(2000) < 0.9, s, 2), rng.integers(0, 3, 2000), s * 0, s], axis=1)
    idle = telling.copy()
    idle[:, 0] = rng.integers(0, 3, 2000)
    good = metrics.classifier_aucs(agreement, telling[:1000], telling[1000:], "s")
    none = metrics.classifier_aucs(agreement, idle[:1000], telling[1000:], "s")
    assert good["gb_auc"] > 0.9
    assert good["lr_auc"] > 0.9
    assert abs(none["lr_auc"] - 0.5) < 0.3
    one_class = telling[:1000].copy()
    one_class[:, 3] = 0
    assert metrics.classifier_aucs(agreement, one_class, telling[1000:], "s") == {"gb_auc": 0.5, "lr_auc": 0.5}


def test_aucs_take_a_value_that_says_nothing(agreement: Agreement) -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 400)
    rows = np.stack([np.where(rng.random(400) < 0.3, -1, s), s * 0, s * 0, s], axis=1)
    assert metrics.classifier_aucs(agreement, rows[:200], rows[200:], "s")["lr_auc"] > 0.7
