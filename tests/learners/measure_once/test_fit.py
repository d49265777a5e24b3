"""The fit on populations whose truth is known. Fixed seeds throughout; what is asserted holds with wide margins."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from vertwin.learners.measure_once import fit as rule
from vertwin.learners.measure_once.fit import FitOptions, Mixture, fit
from vertwin.learners.measure_once.fit_objective import Objective
from vertwin.learners.measure_once.fit_stages import FIRST_LOOK, dependence, merged, pairs_to_measure_again
from vertwin.learners.measure_once.fit_tables import NoisyTables
from vertwin.learners.measure_once.fit_thinning import thinned

SIZES = (3, 4, 6, 2, 5, 8)
QUICK = FitOptions(components=20, restarts=2, steps=500)


class Population:
    """A mixture of five products, and rows drawn from it."""

    def __init__(self, sizes: tuple[int, ...] = SIZES, sharpness: float = 2.0, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.names = [f"c{i}" for i in range(len(sizes))]
        self.sizes = sizes
        self.weights = rng.dirichlet(np.full(5, 3.0))
        self.probabilities = [np.exp(sharpness * rng.standard_normal((5, size))) for size in sizes]
        self.probabilities = [p / p.sum(axis=1, keepdims=True) for p in self.probabilities]

    def pair(self, i: int, j: int) -> NDArray[np.float64]:
        return (self.probabilities[i] * self.weights[:, None]).T @ self.probabilities[j]

    def rows(self, n: int, seed: int) -> NDArray[np.int64]:
        rng = np.random.default_rng(seed)
        component = rng.choice(5, n, p=self.weights)
        columns = []
        for p in self.probabilities:
            below = p.cumsum(axis=1)[component]
            columns.append(np.minimum((rng.random(n)[:, None] > below).sum(axis=1), p.shape[1] - 1))
        return np.stack(columns, axis=1)

    def measure(
        self, rows: NDArray[np.int64], sd: float, seed: int, partial: frozenset[str] = frozenset()
    ) -> NoisyTables:
        rng = np.random.default_rng(seed)
        one_way, pairs = {}, {}
        for i, name in enumerate(self.names):
            seen = rows[rows[:, i] >= 0, i]
            one_way[name] = np.bincount(seen, minlength=self.sizes[i]) + sd * rng.standard_normal(self.sizes[i])
        for i, j in combinations(range(len(self.sizes)), 2):
            shape = (self.sizes[i], self.sizes[j])
            seen = rows[(rows[:, i] >= 0) & (rows[:, j] >= 0)]
            counts = np.bincount(seen[:, i] * shape[1] + seen[:, j], minlength=shape[0] * shape[1]).reshape(shape)
            pairs[self.names[i], self.names[j]] = counts + sd * rng.standard_normal(shape)
        variances = {**{(name,): sd**2 for name in one_way}, **dict.fromkeys(pairs, sd**2)}
        return NoisyTables(dict(zip(self.names, self.sizes, strict=True)), one_way, pairs, variances, partial)


def pair_error(mixture: Mixture, population: Population) -> float:
    """Mean total variation distance of the pair tables to the truth."""
    pairs = list(combinations(range(len(population.sizes)), 2))
    names = population.names
    return float(
        np.mean([0.5 * np.abs(mixture.pair_table(names[i], names[j]) - population.pair(i, j)).sum() for i, j in pairs])
    )


def test_a_known_mixture_is_recovered_better_than_its_noisy_tables_are() -> None:
    population = Population()
    rows = population.rows(20_000, 2)
    tables = population.measure(rows, 60.0, 3)
    mixture = fit(tables, QUICK)
    raw = np.mean(
        [
            0.5 * np.abs(tables.pairs[population.names[i], population.names[j]] / 20_000 - population.pair(i, j)).sum()
            for i, j in combinations(range(6), 2)
        ]
    )
    assert pair_error(mixture, population) < 0.8 * raw
    assert mixture.rows == pytest.approx(20_000, abs=200)
    assert mixture.misfit == pytest.approx(1.0, abs=0.1)  # as far from the tables as the noise is


def test_with_little_noise_the_pair_tables_come_back() -> None:
    population = Population()
    mixture = fit(population.measure(population.rows(200_000, 4), 1.0, 5), FitOptions(20, 1, 1500, pseudo_counts=25.0))
    assert pair_error(mixture, population) < 0.004


def test_the_result_is_a_mixture() -> None:
    population = Population()
    mixture = fit(population.measure(population.rows(2000, 2), 20.0, 3), FitOptions(7, 3, 100, pseudo_counts=100.0))
    assert mixture.weights.shape == (21,) and mixture.weights.sum() == pytest.approx(1.0)
    assert list(mixture.probabilities) == population.names
    for name, size in zip(population.names, SIZES, strict=True):
        table = mixture.probabilities[name]
        assert table.shape == (21, size) and table.min() > 0 and table.sum(axis=1) == pytest.approx(np.ones(21))
        assert mixture.one_way(name).sum() == pytest.approx(1.0)
    assert mixture.pseudo_counts == 100.0


def test_the_same_seed_gives_the_same_twin_and_another_seed_another() -> None:
    population = Population()
    tables = population.measure(population.rows(2000, 2), 20.0, 3)
    options = FitOptions(10, 2, 100, pseudo_counts=100.0)
    first, again, other = fit(tables, options, 1), fit(tables, options, 1), fit(tables, options, 2)
    assert np.array_equal(first.weights, again.weights)
    assert all(np.array_equal(first.probabilities[n], again.probabilities[n]) for n in population.names)
    assert not np.array_equal(first.weights, other.weights)


def test_progress_goes_up_to_the_end() -> None:
    seen: list[float] = []
    population = Population()
    fit(population.measure(population.rows(500, 2), 20.0, 3), FitOptions(5, 2, 20), progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == 1.0 and len(seen) > 5


def test_without_a_signal_the_fit_is_nearly_independent() -> None:
    """Independent columns under noise: no pair table may show more than a little dependence."""
    rng = np.random.default_rng(6)
    population = Population()
    rows = np.stack([rng.integers(0, size, 5000) for size in SIZES], axis=1)
    mixture = fit(population.measure(rows, 60.0, 7), QUICK)
    apart = [
        0.5 * np.abs(mixture.pair_table(a, b) - np.outer(mixture.one_way(a), mixture.one_way(b))).sum()
        for a, b in combinations(population.names, 2)
    ]
    noise = [0.5 * 60 / 5000 * 0.8 * SIZES[i] * SIZES[j] for i, j in combinations(range(6), 2)]  # of a raw table
    assert np.mean(apart) < 0.4 * np.mean(noise)


@pytest.mark.parametrize("seed", [21, 22])
def test_under_heavy_noise_one_strong_pair_is_still_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where even independent columns fit better than the noise, the discrepancy principle alone would see nothing."""
    guarded: list[float] = []
    guard = rule._pull_by_thinning
    monkeypatch.setattr(rule, "_pull_by_thinning", lambda *given: guarded.append(guard(*given)) or guarded[0])
    rng = np.random.default_rng(8)
    sizes = (4, 4, 12, 12, 12, 12, 12)
    rows = np.stack([rng.integers(0, size, 3000) for size in sizes], axis=1)
    rows[:, 1] = np.where(rng.random(3000) < 0.8, rows[:, 0], rows[:, 1])
    mixture = fit(Population(sizes).measure(rows, 80.0, seed), FitOptions(20, 2, 500))
    assert guarded == [mixture.pseudo_counts]
    assert np.trace(mixture.pair_table("c0", "c1")) > 0.4  # truth .85, independent .25


def test_rare_categories_keep_their_share() -> None:
    """Thirty rare categories at half the noise's size each: together they are to keep their weight."""
    sizes = (31, 4, 4)
    population = Population(sizes)
    rng = np.random.default_rng(9)
    shares = np.array([1 - 30 * 0.002] + [0.002] * 30)
    rows = np.stack([rng.choice(31, 10_000, p=shares), rng.integers(0, 4, 10_000), rng.integers(0, 4, 10_000)], axis=1)
    rare = [1 - float(fit(population.measure(rows, 40.0, seed), QUICK).one_way("c0")[0]) for seed in range(2)]
    assert np.mean(rare) == pytest.approx(float((rows[:, 0] > 0).mean()), abs=0.012)


def test_missing_values_that_say_nothing_bias_nothing() -> None:
    """A column missing for half of those in one category of another: its own pair tables must not shift the rest."""
    population = Population()
    rows = population.rows(30_000, 10)
    truth = np.bincount(rows[:, 0], minlength=3) / 30_000
    gone = (rows[:, 0] == 0) & (np.random.default_rng(11).random(30_000) < 0.5)
    rows[gone, 2] = -1
    tables = population.measure(rows, 10.0, 12, frozenset({"c2"}))
    mixture = fit(tables, QUICK)
    assert mixture.rows == pytest.approx(30_000, abs=150)
    assert mixture.one_way("c0") == pytest.approx(truth, abs=0.03)
    blind = NoisyTables(tables.sizes, tables.one_way, tables.pairs, tables.variances)
    assert mixture.misfit < 0.7 * fit(blind, QUICK).misfit  # as if all tables had the same rows


def test_one_column_and_two_columns() -> None:
    for sizes in ((4,), (2, 2)):
        population = Population(sizes)
        mixture = fit(population.measure(population.rows(3000, 2), 5.0, 3), FitOptions(5, 1, 300, pseudo_counts=50.0))
        truth = population.weights @ population.probabilities[0]
        assert mixture.one_way("c0") == pytest.approx(truth, abs=0.05)


def test_thinned_tables_are_independent_and_add_up() -> None:
    population = Population()
    rows = population.rows(1000, 2)
    firsts, seconds = [], []
    for seed in range(400):
        tables = population.measure(rows, 10.0, 100 + seed)
        first, second = thinned(tables, np.random.default_rng(seed))
        firsts.append(first.pairs["c0", "c1"])
        seconds.append(second.pairs["c0", "c1"])
        assert first.variances["c0", "c1"] == pytest.approx(125.0)
        assert second.variances["c0", "c1"] == pytest.approx(500.0)
    a, b = np.array(firsts).reshape(400, -1), np.array(seconds).reshape(400, -1)
    assert a.var(axis=0).mean() == pytest.approx(125, rel=0.1) and b.var(axis=0).mean() == pytest.approx(500, rel=0.1)
    correlation = [np.corrcoef(a[:, i], b[:, i])[0, 1] for i in range(a.shape[1])]
    assert np.abs(np.mean(correlation)) < 6 / np.sqrt(400 * a.shape[1])


def test_the_pairs_to_measure_again_are_the_dependent_ones() -> None:
    rng = np.random.default_rng(13)
    population = Population()
    rows = np.stack([rng.integers(0, size, 8000) for size in SIZES], axis=1)
    rows[:, 3] = rows[:, 0] > 0
    rows[:, 4] = np.where(rng.random(8000) < 0.5, rows[:, 1], rows[:, 4])
    tables = population.measure(rows, 30.0, 14)
    assert pairs_to_measure_again(tables, least=0)[:2] == (("c0", "c3"), ("c1", "c4"))
    assert len(pairs_to_measure_again(tables)) >= 10
    still = [score for pair, score in dependence(tables).items() if pair not in (("c0", "c3"), ("c1", "c4"))]
    assert np.abs(np.mean(still)) < 1.5 and np.std(still) < 2.5
    assert 0 < FIRST_LOOK < 1


def test_two_measurements_are_merged_by_inverse_variance() -> None:
    population = Population()
    rows = population.rows(1000, 2)
    first, again = population.measure(rows, 30.0, 3), population.measure(rows, 10.0, 4)
    second = NoisyTables(again.sizes, {}, again.pairs, again.variances)
    both = merged(first, second)
    assert both.variances["c0", "c1"] == pytest.approx(90.0)
    assert both.pairs["c0", "c1"] == pytest.approx(0.1 * first.pairs["c0", "c1"] + 0.9 * second.pairs["c0", "c1"])
    assert both.variances["c0",] == 900.0 and both.one_way["c0"] is first.one_way["c0"]


def test_a_fit_of_the_size_of_adult_is_quick() -> None:
    """Thirteen columns, 140 categories, 100 components: one of the 13 to 15 fits in all, within 20 s together."""
    sizes = (13, 16, 7, 6, 5, 2, 41, 7, 14, 13, 7, 7, 2)
    population = Population(sizes)
    tables = population.measure(population.rows(30_000, 2), 35.6, 3)
    objective = Objective(tables)
    start = time.perf_counter()
    fit(tables, FitOptions(restarts=1, steps=300, pseudo_counts=400.0))
    assert objective.cells == 140 + (140**2 - sum(size**2 for size in sizes)) // 2
    assert (time.perf_counter() - start) * 5 * 14 < 60  # a busy machine may take three times as long
