"""The paper's remark that sub-sampling may not pay between parties, as a statement that is computed."""

from __future__ import annotations

import math

import pytest

from vertwin.planning.sampling_forms import Form, compare_forms, implied_targets
from vertwin.privacy.accountant import LossDistributions
from vertwin.privacy.mechanism import GradientReleases

ORACLE = LossDistributions()
PAPER = GradientReleases(
    clipping_threshold=1.0,
    sigma=2.042,
    rows=30_162,
    batch=100,
    steps=20_000,
    sampling="epochs",
    holders=("a", "b"),
    dimension=2000,
    grid_bits=40,
)


def forms(target: float, viewer: str = "a") -> dict[str, Form]:
    return {form.sampling: form for form in compare_forms(PAPER, {frozenset(viewer): target}, 1e-5, ORACLE)}


@pytest.mark.parametrize("target", [1.0, 100.0])
def test_towards_a_party_known_samples_do_not_pay(target: float) -> None:
    found = forms(target)
    assert next(iter(found)) == "none"  # the cheapest first
    assert found["epochs"].sigma == pytest.approx(found["none"].sigma, rel=1e-6)  # E-fold either way
    assert found["poisson"].sigma > found["epochs"].sigma
    assert found["poisson"].noise_per_pass > found["epochs"].noise_per_pass > 10 * found["none"].noise_per_pass


@pytest.mark.parametrize("target", [1.0, 10.0])
def test_hidden_samples_pay_in_noise_and_cost_all_rows_in_every_step(target: float) -> None:
    found = forms(target)
    assert found["poisson_hidden"].sigma < found["epochs"].sigma
    assert found["none"].noise_per_pass <= found["poisson_hidden"].noise_per_pass * 1.001
    assert found["poisson_hidden"].noise_per_pass < found["epochs"].noise_per_pass
    assert found["poisson_hidden"].rows_computed == 302 * found["none"].rows_computed


def test_equal_passes_and_equal_targets() -> None:
    found = forms(10.0)
    assert (found["none"].steps, found["epochs"].steps, found["poisson"].steps) == (67, 67 * 302, 67 * 302)
    assert found["epochs"].noise_per_pass == pytest.approx(found["epochs"].sigma * math.sqrt(302))


def test_with_a_full_batch_the_others_take_a_hundredth() -> None:
    full = GradientReleases(
        clipping_threshold=1.0,
        sigma=5.0,
        rows=1000,
        batch=None,
        steps=40,
        sampling="none",
        holders=("a", "b"),
        dimension=20,
    )
    found = {form.sampling: form for form in compare_forms(full, {frozenset("a"): 3.0}, 1e-6, ORACLE)}
    assert (found["none"].steps, found["epochs"].steps) == (40, 4000)


def test_a_given_sigma_stands_for_the_targets_it_implies() -> None:
    targets = implied_targets(PAPER, 1e-5, ORACLE)
    assert targets == {frozenset({name}): pytest.approx(111.78, abs=0.01) for name in "ab"}
    found = {form.sampling: form for form in compare_forms(PAPER, targets, 1e-5, ORACLE)}
    assert found["epochs"].sigma == pytest.approx(2.042, rel=1e-6)
