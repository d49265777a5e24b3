from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.errors import UserError
from vertwin.privacy.closed_form import gaussian_mu
from vertwin.privacy.mechanism import GradientReleases, with_least_sigma

PAPER = GradientReleases(
    clipping_threshold=1.0,
    sigma=2.042,
    rows=30162,
    batch=100,
    steps=20_000,
    sampling="epochs",
    holders=("a", "b"),
    dimension=2000,
    relative_slack=0.0,
    grid_bits=40,
)


def test_the_papers_setting_towards_a_party() -> None:
    """67 passes over disjoint batches, half of the noise its own, a record replaced; and every row in every step."""
    assert PAPER.uses == 67
    assert PAPER.epsilon(1e-5, "a") == pytest.approx(111.78, abs=0.01)
    assert PAPER.epsilon(1e-5) == pytest.approx(65.5, abs=0.1)
    full = replace(PAPER, sampling="none", batch=None)
    assert full.uses == 20_000
    assert full.epsilon(1e-5, "b") == pytest.approx(20_020, abs=1)


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 60), st.integers(1, 70), st.integers(1, 200))
def test_no_record_is_used_more_often_than_uses_says(rows: int, batch: int, steps: int) -> None:
    mechanism = replace(PAPER, rows=rows, batch=batch, steps=steps)
    batches = [range(start, min(start + batch, rows)) for start in range(0, rows, batch)]
    used = np.zeros(rows, dtype=int)
    for step in range(steps):
        used[list(batches[step % len(batches)])] += 1
    assert used.max() == mechanism.uses


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 8), st.floats(0.2, 2), st.sampled_from([0.0, 1e-4, 1e-2]), st.integers(0, 2**32))
def test_replacing_a_record_moves_a_truncated_sum_by_at_most_the_sensitivity(
    dimension: int, threshold: float, slack: float, seed: int
) -> None:
    grid = 6  # coarse, so that truncation matters
    mechanism = replace(
        PAPER, clipping_threshold=threshold, relative_slack=slack, dimension=dimension, grid_bits=grid, sigma=50.0
    )
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(4, dimension))
    rows *= threshold * (1 + slack) / np.linalg.norm(rows, axis=1, keepdims=True)
    rows[1] = -rows[0]  # the worst pair
    others = rows[2:].sum(axis=0)
    sums = [np.floor((others + row) * 2**grid + rng.integers(0, 2, dimension)) / 2**grid for row in rows[:2]]
    assert np.linalg.norm(sums[0] - sums[1]) <= float(mechanism.sensitivity())


def test_noise_shares_are_rounded_up_and_add_up_to_sigma() -> None:
    mechanism = replace(PAPER, holders=("a", "b", "c"), clipping_threshold=0.3, grid_bits=20)
    whole = sum((share.variance for share in mechanism.noise), Fraction(0))
    asked = (Fraction(0.3) * Fraction(2.042)) ** 2
    assert asked <= whole <= asked + Fraction(3, 4**20)
    assert mechanism.grid_variance("a") == math.ceil(asked / 3 * 4**20)


def test_noise_of_the_helper_protects_against_holders_and_not_against_the_helper() -> None:
    mechanism = replace(PAPER, drawers=("helper",))
    assert mechanism.mu_squared("a") == mechanism.mu_squared()
    assert mechanism.mu_squared({"helper"}) == math.inf
    assert mechanism.mu_squared({"a", "b"}) == 0.0


def test_add_remove_is_half_the_distance_for_the_analyst_only() -> None:
    full = replace(PAPER, sampling="none", batch=None)
    other = replace(full, adjacency="add_remove")
    assert other.mu() == pytest.approx(full.mu() / 2, rel=1e-9)
    assert other.mu("a") == full.mu("a")


@settings(deadline=None, max_examples=40)
@given(st.floats(0.05, 20), st.integers(2, 5), st.integers(1, 3000), st.floats(0, 0.01))
def test_the_least_sigma_meets_its_targets_and_no_less_would(
    epsilon: float, parties: int, steps: int, slack: float
) -> None:
    holders = tuple("abcde"[:parties])
    mechanism = replace(PAPER, holders=holders, steps=steps, relative_slack=slack, grid_bits=20)
    limits = {frozenset(): gaussian_mu(2 * epsilon, 1e-6) ** 2, frozenset({"a"}): gaussian_mu(epsilon, 1e-6) ** 2}
    planned = with_least_sigma(mechanism, limits)
    assert planned.epsilon(1e-6, "a") <= epsilon * (1 + 1e-12) and planned.epsilon(1e-6) <= 2 * epsilon * (1 + 1e-12)
    less = replace(planned, sigma=planned.sigma * 0.999)
    assert less.epsilon(1e-6, "a") > epsilon or less.epsilon(1e-6) > 2 * epsilon


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"sigma": 0.0}, "E702"),
        ({"sigma": math.nan}, "E702"),
        ({"clipping_threshold": -1.0}, "E702"),
        ({"steps": 0}, "E705"),
        ({"batch": 0}, "E705"),
        ({"batch": None}, "E705"),
        ({"sampling": "none"}, "E705"),
        ({"adjacency": "add_remove"}, "E705"),
        ({"relative_slack": -0.1}, "E705"),
        ({"sigma": 1e-3, "grid_bits": 8}, "E702"),
    ],
)
def test_settings_that_break_the_guarantee_cannot_be_written_down(change: dict[str, object], code: str) -> None:
    with pytest.raises(UserError) as caught:
        replace(PAPER, **change)  # type: ignore[arg-type]
    assert code in caught.value.codes
