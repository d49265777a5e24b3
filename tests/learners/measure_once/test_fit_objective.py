from __future__ import annotations

import numpy as np
import pytest

from vertwin.learners.measure_once.fit_objective import Objective
from vertwin.learners.measure_once.fit_tables import NoisyTables, row_counts

SIZES = {"a": 2, "b": 3, "c": 4}


def tables(partial: frozenset[str] = frozenset()) -> NoisyTables:
    """Three columns, one pair not measured, variances that differ, a cell below zero."""
    rng = np.random.default_rng(1)
    one_way = {name: rng.uniform(50, 400, size) for name, size in SIZES.items()}
    pairs = {("a", "b"): rng.uniform(-5, 200, (2, 3)), ("b", "c"): rng.uniform(-5, 100, (3, 4))}
    variances = {("a",): 40.0, ("b",): 90.0, ("c",): 25.0, ("a", "b"): 100.0, ("b", "c"): 300.0}
    return NoisyTables(SIZES, one_way, pairs, variances, partial)


def parameters(objective: Objective) -> np.ndarray:
    return objective.start(5, 0.7, np.random.default_rng(2)) + np.random.default_rng(3).normal(0, 0.3, (10, 5))


@pytest.mark.parametrize("partial", [frozenset(), frozenset({"a"})])
def test_misfit_is_the_sum_over_measured_cells(partial: frozenset[str]) -> None:
    data = tables(partial)
    objective = Objective(data, np.float64)
    x = parameters(objective)
    w, p = objective.probabilities(x)
    rows = row_counts(data)
    assert (rows["b", "c"] != rows["a", "b"]) == bool(partial)
    by_hand = 0.0
    for columns in data.all_columns:
        blocks = [p[objective.slices[name]] for name in columns]
        model = blocks[0] @ w if len(blocks) == 1 else np.einsum("k,ik,jk->ij", w, *blocks)
        by_hand += float(((rows[columns] * model - data.counts(columns)) ** 2).sum()) / data.variances[columns]
    assert objective.misfit(x) == pytest.approx(by_hand, rel=1e-12)
    assert objective.cells == data.cells == 9 + 6 + 12


@pytest.mark.parametrize("partial", [frozenset(), frozenset({"a", "c"})])
def test_gradient_of_the_misfit_equals_finite_differences(partial: frozenset[str]) -> None:
    objective = Objective(tables(partial), np.float64)
    x = parameters(objective)
    gradient = objective.gradient(x, 0.0, np.zeros_like(x))
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-5
        slope = (objective.misfit(x + step) - objective.misfit(x - step)) / 4e-5  # of misfit / 2
        assert gradient[index] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_gradient_of_the_pull_equals_finite_differences_at_fixed_weights() -> None:
    objective = Objective(tables(), np.float64)
    x = parameters(objective)
    weights, _ = objective.probabilities(x)
    pull = objective.gradient(x, 30.0, np.zeros_like(x)) - objective.gradient(x, 0.0, np.zeros_like(x))
    assert pull[-1] == pytest.approx(np.zeros(5), abs=1e-9)  # the weights are not pulled
    for index in np.ndindex(9, 5):
        step = np.zeros_like(x)
        step[index] = 1e-5
        slope = 30 * (objective.pull(x + step, weights) - objective.pull(x - step, weights)) / 2e-5
        assert pull[index] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_single_precision_is_the_same_function() -> None:
    double, single = Objective(tables(), np.float64), Objective(tables(), np.float32)
    x = parameters(double)
    wide = double.gradient(x, 30.0, np.zeros_like(x))
    narrow = single.gradient(x.astype(np.float32), 30.0, np.zeros((10, 5), np.float32))
    assert narrow.dtype == np.float32
    assert np.abs(narrow - wide).max() < 1e-4 * np.abs(wide).max()


def test_recentring_changes_no_probability_and_keeps_exp_in_range() -> None:
    objective = Objective(tables(), np.float32)
    x = parameters(objective).astype(np.float32) * 20
    before = objective.probabilities(x.astype(np.float64))[1]
    objective.recentre(x)
    assert objective.probabilities(x.astype(np.float64))[1] == pytest.approx(before, abs=1e-5)
    assert x[:-1].max() == 0 and x[:-1].min() >= -40
