from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.privacy.accountant import LossDistributions
from vertwin.privacy.mechanism import GradientReleases, meet_targets
from vertwin.privacy.oracle import ClosedForm

ANALYST, PARTY, HELPER = frozenset[str](), frozenset({"a"}), frozenset({"helper"})
ORACLE = LossDistributions()
POISSON = GradientReleases(
    clipping_threshold=1.0,
    sigma=1.0,
    rows=30_162,
    batch=100,
    steps=20_000,
    sampling="poisson",
    holders=("a", "b"),
    dimension=2000,
    grid_bits=40,
)
HIDDEN = replace(POISSON, sampling="poisson_hidden", batch_from="helper")


def check(release: GradientReleases, targets: dict[frozenset[str], float], delta: float = 1e-6) -> GradientReleases:
    """Every target met; with half a per cent less noise one of them is not."""
    planned = meet_targets(release, targets, delta, ORACLE)
    less = replace(planned, sigma=planned.sigma * 0.995)
    assert all(ORACLE.epsilon(planned.event(c), delta) <= epsilon for c, epsilon in targets.items())
    assert any(ORACLE.epsilon(less.event(c), delta) > epsilon for c, epsilon in targets.items())
    return planned


@pytest.mark.parametrize(("steps", "expected"), [(1_000, 0.905), (20_000, 3.501), (100_000, 7.832)])
def test_values_of_record_for_epsilon_one(steps: int, expected: float) -> None:
    """Replaced records, secret Poisson samples, delta 1e-5; well under five seconds each."""
    start = time.process_time()
    planned = check(replace(HIDDEN, steps=steps), {ANALYST: 1.0}, 1e-5)
    assert time.process_time() - start < 5
    assert planned.sigma == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("release", [POISSON, HIDDEN], ids=["known", "hidden"])
@pytest.mark.parametrize(
    "targets", [{ANALYST: 10.0}, {ANALYST: 1.0, PARTY: 8.0}, {PARTY: 1.0}, {ANALYST: 0.1, PARTY: 0.2, HELPER: 50.0}]
)
def test_every_target_is_met_with_the_least_sigma(
    release: GradientReleases, targets: dict[frozenset[str], float]
) -> None:
    check(release, targets)


@settings(deadline=None, max_examples=4)
@given(st.integers(1, 20_000), st.integers(1, 3000), st.floats(0.05, 5))
def test_any_setting(steps: int, batch: int, target: float) -> None:
    check(replace(POISSON, steps=steps, batch=batch, rows=3000), {PARTY: target})
    planned = meet_targets(replace(HIDDEN, steps=steps, batch=batch, rows=3000), {ANALYST: target}, 1e-6, ORACLE)
    assert ORACLE.epsilon(planned.event(), 1e-6) <= target


def test_without_secret_samples_the_formula_answers() -> None:
    full = replace(POISSON, sampling="none", batch=None)
    planned = meet_targets(full, {ANALYST: 1.0, PARTY: 1.0}, 1e-6, ClosedForm())
    assert planned.epsilon(1e-6, "a") == pytest.approx(1.0, rel=1e-6)
    assert meet_targets(full, {}, 1e-6, ClosedForm()) is full
