"""Poisson samples under replacement: the worst pair against the library's own, brute force, Monte Carlo, literature."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld
from scipy import stats

from vertwin.privacy.accountant import our_loss_distribution
from vertwin.privacy.dominating_pair import cut_samples, renyi_divergence, step_profile
from vertwin.privacy.event import SecretSamplesEvent

ALARM = 1e-6
REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE


def ours(sigma: float, q: float, steps: int, delta: float, distance: float = 2.0, **cut: int) -> float:
    event = SecretSamplesEvent(sigma, q, steps, distance=distance, **cut)  # type: ignore[arg-type]
    return float(our_loss_distribution(event).self_compose(steps).get_epsilon_for_delta(delta))


@pytest.mark.parametrize(
    ("sigma", "q", "steps", "published"),
    [(2, 0.01, 10_000, 4.90740), (1, 0.01, 10_000, 11.95686), (2, 0.005, 10_000, 2.26529)],
)
def test_published_values_of_the_fourier_accountant(sigma: float, q: float, steps: int, published: float) -> None:
    """Koskela et al.: never below, and close."""
    found = ours(sigma, q, steps, 1e-6)
    assert published - 2e-5 < found < published * (1 + 1e-4)


@pytest.mark.parametrize(("sigma", "q", "steps"), [(2.042, 100 / 30_162, 20_000), (0.7, 0.05, 30), (5.0, 0.5, 200)])
def test_at_distance_two_it_is_the_librarys(sigma: float, q: float, steps: int) -> None:
    event = dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma))
    library = pld.PLDAccountant(neighboring_relation=REPLACE).compose(event, steps).get_epsilon(1e-5)
    assert ours(sigma, q, steps, 1e-5) == pytest.approx(library, rel=1e-4)


@pytest.mark.parametrize(("at_most", "slack"), [(150, 1e-4), (130, 1e-3), (120, 0.03)])
def test_cut_samples_cost_no_less_than_the_library_says(at_most: int, slack: float) -> None:
    event = dp_accounting.TruncatedSubsampledGaussianDpEvent(30_162, 100 / 30_162, at_most, 2.042)
    library = pld.PLDAccountant(neighboring_relation=REPLACE).compose(event, 20_000).get_epsilon(1e-5)
    found = ours(2.042, 100 / 30_162, 20_000, 1e-5, rows=30_162, batch_at_most=at_most)
    assert library * (1 - 1e-5) < found < library * (1 + slack)


def test_a_smaller_distance_is_a_smaller_epsilon() -> None:
    """The paper's setting: values of record."""
    for distance, expected in ((1.8, 1.696), (math.sqrt(2), 1.421), (1.2, 1.250), (1.0, 1.075)):
        assert ours(2.042, 100 / 30_162, 20_000, 1e-5, distance) == pytest.approx(expected, abs=0.001)


def hockey_stick_by_sum(sigma: float, q: float, distance: float, epsilon: float) -> float:
    x = np.linspace(-40, 40, 400_001)
    upper = (1 - q) * stats.norm.pdf(x, 0, sigma) + q * stats.norm.pdf(x, 1, sigma)
    lower = (1 - q) * stats.norm.pdf(x, 0, sigma) + q * stats.norm.pdf(x, 1 - distance, sigma)
    return float(np.maximum(upper - math.exp(epsilon) * lower, 0).sum() * (x[1] - x[0]))


@pytest.mark.parametrize(
    ("sigma", "q", "distance"), [(1.0, 0.1, 2.0), (2.0, 0.3, 1.4), (0.5, 0.01, 1.0), (3.0, 0.9, 0.3)]
)
def test_one_step_is_the_divergence_of_the_pair(sigma: float, q: float, distance: float) -> None:
    deltas = step_profile(sigma, q, distance)
    half = len(deltas) // 2
    for k in (0, 1, 500, 3000):
        if k < half:
            assert deltas[half + k] == pytest.approx(hockey_stick_by_sum(sigma, q, distance, k * 1e-4), abs=1e-9)


def test_no_two_contributions_in_the_plane_are_told_apart_more_easily() -> None:
    """Random pairs g, g' within the bounds, in two dimensions, by quadrature: the proof's claim (error below 1e-6)."""
    rng, sigma, q = np.random.default_rng(5), 1.0, 0.2
    axis = np.linspace(-8, 8, 321)
    x, y = np.meshgrid(axis, axis)
    cell = (axis[1] - axis[0]) ** 2

    def density(at: np.ndarray) -> np.ndarray:
        return np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / (2 * sigma**2)) / (2 * math.pi * sigma**2)

    for distance in (2.0, 1.5, 1.0):
        deltas = step_profile(sigma, q, distance)
        half = len(deltas) // 2
        for _ in range(20):
            g, other = rng.uniform(-1, 1, (2, 2))
            g, other = g / max(1, np.linalg.norm(g)), other / max(1, np.linalg.norm(other))
            if np.linalg.norm(g - other) > distance:
                continue
            upper, lower = ((1 - q) * density(np.zeros(2)) + q * density(at) for at in (g, other))
            for k in (0, 1000, 5000):
                found = np.maximum(upper - math.exp(k * 1e-4) * lower, 0).sum() * cell
                assert found <= deltas[half + k] + 1e-6


def test_monte_carlo_stays_below() -> None:
    """sigma 1, q 0.01, 1000 steps: delta(1) and delta(2) estimated from the pair itself. False alarms: ALARM."""
    rng, runs, steps, sigma, q = np.random.default_rng(11), 20_000, 1000, 1.0, 0.01
    loss = np.zeros(runs)
    for _ in range(steps):
        x = rng.normal(0, sigma, runs) + (rng.random(runs) < q)
        loss += np.log1p(q * np.expm1((x - 0.5) / sigma**2)) - np.log1p(q * np.expm1((-x - 0.5) / sigma**2))
    event = SecretSamplesEvent(sigma, q, steps)
    whole = our_loss_distribution(event).self_compose(steps)
    for epsilon in (1.0, 2.0):
        sample = np.maximum(-np.expm1(epsilon - loss), 0)
        error = stats.norm.isf(ALARM / 2) * sample.std() / math.sqrt(runs)
        assert sample.mean() - error <= whole.get_delta_for_epsilon(epsilon) <= sample.mean() + error + 1e-4


def test_kinds_of_rest_by_enumeration() -> None:
    """Seven rows, samples cut to three: who is in, given who else is, by going through all samples."""
    rows, q, at_most = 7, 0.4, 3
    free, inside_full, outside_full = 0.0, 0.0, 0.0
    free_inside = 0.0
    for others in range(rows):
        weight = math.comb(rows - 1, others) * q**others * (1 - q) ** (rows - 1 - others)
        kept = q * min(1.0, at_most / (others + 1))
        if others < at_most - 1:
            free, free_inside = free + weight, free_inside + weight * q
        else:
            inside_full += weight * kept  # it is in, beside at_most - 1 others
            outside_full += weight * (1 - q) if others == at_most - 1 else 0.0
    parts = cut_samples(rows, q, at_most)
    assert parts[0] == (pytest.approx(free), q)
    assert free_inside == pytest.approx(free * q)
    assert parts[1][0] == pytest.approx(inside_full + outside_full)
    assert parts[1][1] == pytest.approx(inside_full / (inside_full + outside_full))
    assert parts[1][1] > q


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0, 32.0])
def test_the_renyi_divergence_without_sampling_is_the_gaussians(order: float) -> None:
    assert renyi_divergence(3.0, 1 - 1e-15, order) == pytest.approx(order * 4 / (2 * 9.0), rel=1e-6)
