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
from vertwin.privacy.event import GaussianEvent, KnownSamplesEvent, SecretSamplesEvent
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


# --- the three bounds, by brute force ---


def contributions(bound: str, rng: np.random.Generator, count: int) -> np.ndarray:
    """Records as each bound leaves them, C = 1: K = 2 components, two one-hot features; the worst ones among them."""
    if bound == "statistics":
        c = 1 / math.sqrt(1 + 2)  # w = 1 and two one-hot features: |h|^2 = sum_k r_k^2 (1 + 2)
        rows = []
        for _ in range(count):
            r = rng.dirichlet([0.3, 0.3]) if rng.random() < 0.5 else np.eye(2)[rng.integers(2)]
            t = np.concatenate([np.eye(2)[rng.integers(2)], np.eye(3)[rng.integers(3)]])
            rows.append(c * np.concatenate([r, np.outer(r, t).ravel()]))
        return np.array(rows)
    g = rng.normal(size=(count, 4)) * rng.exponential(3, size=(count, 1))
    g[::2, 1:] = 0  # many along one axis, in both directions
    norms = np.linalg.norm(g, axis=1, keepdims=True)
    return g / np.maximum(1, norms) if bound == "hard" else g / np.sqrt(norms**2 + 0.01)


@pytest.mark.parametrize("bound", ["hard", "smooth", "statistics"])
@pytest.mark.parametrize("gradient_space", ["unconstrained", "constrained"])
def test_no_replaced_record_moves_the_sum_by_more_and_some_by_nearly_as_much(bound: str, gradient_space: str) -> None:
    mechanism = replace(PAPER, bound=bound, gradient_space=gradient_space, dimension=1)  # type: ignore[arg-type]
    rows = contributions(bound, np.random.default_rng(3), 600)
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    moved = np.linalg.norm(rows[:, None] - rows[None], axis=2).max()
    sensitivity = float(mechanism.sensitivity())
    assert 0.99 * sensitivity < moved <= sensitivity
    assert sensitivity == pytest.approx(math.sqrt(2) if bound == "statistics" else 2.0, rel=1e-9)


def test_a_computed_weight_below_zero_is_paid_for() -> None:
    """Two contributions whose inner product is -negative: farther apart than sqrt(2) c, within the slack."""
    slack = 1e-3
    mechanism = replace(PAPER, bound="statistics", negative=slack, dimension=1)
    angle = math.acos(-slack)
    moved = np.linalg.norm(np.array([1.0, 0.0]) - np.array([math.cos(angle), math.sin(angle)]))
    assert math.sqrt(2) < moved <= float(mechanism.sensitivity())


# --- Poisson samples ---

HIDDEN = replace(PAPER, sampling="poisson_hidden", batch_from="helper")


def test_who_is_told_the_batch() -> None:
    known = {
        "none": ("", "a", "h"),
        "epochs": ("", "a", "h"),
        "poisson": ("a",),
        "poisson_hidden": ("h",),
    }
    for sampling, told in known.items():
        batch_from = "h" if sampling == "poisson_hidden" else None
        batch = None if sampling == "none" else 100
        mechanism = replace(PAPER, sampling=sampling, batch=batch, batch_from=batch_from)  # type: ignore[arg-type]
        for viewer in ("", "a", "h"):
            assert mechanism.knows_batches(viewer) == (viewer in told), (sampling, viewer)
    drawn = replace(PAPER, sampling="poisson", batch_from="h")  # the aggregator drew them, as in the paper
    assert drawn.knows_batches("h") and drawn.knows_batches("a") and not drawn.knows_batches("")


def test_events_of_poisson_samples() -> None:
    known = replace(PAPER, sampling="poisson")
    analyst, party = known.event(), known.event("a")
    assert isinstance(analyst, SecretSamplesEvent) and isinstance(party, KnownSamplesEvent)
    assert analyst.noise_multiplier == pytest.approx(2.042, rel=1e-9) and analyst.noise_multiplier <= 2.042
    assert (analyst.probability, analyst.steps, analyst.distance) == (100 / 30162, 20_000, 2.0)
    assert (analyst.rows, analyst.batch_at_most) == (30162, 150)
    assert party.mu == pytest.approx(2 * math.sqrt(2) / 2.042, rel=1e-6)
    hidden = HIDDEN.event("a")
    assert isinstance(hidden, SecretSamplesEvent) and hidden.batch_at_most is None
    assert hidden.noise_multiplier == pytest.approx(2.042 / math.sqrt(2), rel=1e-6)
    assert isinstance(HIDDEN.event({"helper"}), KnownSamplesEvent)
    statistics = replace(HIDDEN, bound="statistics").event()
    assert isinstance(statistics, SecretSamplesEvent)
    assert statistics.distance == pytest.approx(math.sqrt(2), rel=1e-6)
    assert replace(PAPER, drawers=("h",)).event("h") == GaussianEvent(math.inf)


def test_mu_squared_holds_whatever_a_viewer_knows() -> None:
    """With Poisson samples it is the number for a record in every sample."""
    full = replace(PAPER, sampling="none", batch=None)
    assert replace(PAPER, sampling="poisson").mu_squared("a") == full.mu_squared("a")


def test_a_missing_share_of_noise() -> None:
    three = replace(PAPER, holders=("a", "b", "c"))
    without = three.without_share_of("b")
    assert [share.holder for share in without.noise] == ["a", "c"]
    assert sum(float(s.variance) for s in without.noise) == pytest.approx(2 / 3 * 2.042**2)
    assert without.mu_squared() == pytest.approx(three.mu_squared({"b"}), rel=1e-9)  # as if the analyst knew it
    trusted = replace(PAPER, drawers=("h",))
    assert trusted.without_share_of("a") is trusted and trusted.without_share_of("h") is trusted


@pytest.mark.parametrize(
    "change",
    [
        {"sampling": "poisson", "batch": None},
        {"sampling": "poisson", "batch": 30163},
        {"sampling": "poisson", "adjacency": "add_remove"},
        {"sampling": "poisson_hidden"},
        {"sampling": "poisson_hidden", "batch_from": "a"},
        {"negative": 0.1},
        {"bound": "statistics", "negative": -0.1},
    ],
)
def test_samples_that_break_the_guarantee_cannot_be_written_down(change: dict[str, object]) -> None:
    with pytest.raises(UserError) as caught:
        replace(PAPER, **change)  # type: ignore[arg-type]
    assert set(caught.value.codes) == {"E705"}
