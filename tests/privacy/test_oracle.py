"""Closed forms without a library: known samples against exact sums, and what every oracle owes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from vertwin.errors import UserError
from vertwin.privacy.closed_form import gaussian_delta, gaussian_epsilon, guess_probability
from vertwin.privacy.event import GaussianEvent, KnownSamplesEvent, SecretSamplesEvent
from vertwin.privacy.oracle import ClosedForm

ORACLE = ClosedForm()


def exact_delta(event: KnownSamplesEvent, epsilon: float) -> mpf:
    """The mean over all numbers of uses, one by one, in 60 digits."""
    with mp.workdps(60):
        total, q = mpf(0), mpf(event.probability)
        for uses in range(1, event.steps + 1):
            m, e = mpf(event.mu) * mp.sqrt(uses), mpf(epsilon)
            delta = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
            total += mp.binomial(event.steps, uses) * q**uses * (1 - q) ** (event.steps - uses) * delta
        return total


@settings(deadline=None, max_examples=25)
@given(st.floats(0.05, 3), st.floats(0.001, 0.999), st.integers(1, 60), st.floats(0, 20))
def test_known_samples_are_never_below_the_exact_mean_and_close(
    mu: float, q: float, steps: int, epsilon: float
) -> None:
    event = KnownSamplesEvent(mu, q, steps)
    exact, found = exact_delta(event, epsilon), ORACLE.delta(event, epsilon)
    assert found >= exact
    assert found <= exact * (1 + 1e-9) + 1e-30


@settings(deadline=None, max_examples=15)
@given(st.floats(0.01, 3), st.floats(0.001, 1.0), st.integers(1, 100_000))
def test_known_samples_lie_between_nothing_and_every_step(mu: float, q: float, steps: int) -> None:
    event = KnownSamplesEvent(mu, q, steps)
    epsilon = ORACLE.epsilon(event, 1e-6)
    assert ORACLE.delta(event, epsilon) <= 1e-6 * (1 + 1e-7)  # delta has its own rounding, upwards
    assert epsilon <= gaussian_epsilon(mu * math.sqrt(steps), 1e-6) * (1 + 1e-8)
    if q == 1:
        assert epsilon == pytest.approx(gaussian_epsilon(mu * math.sqrt(steps), 1e-6))


def test_the_papers_setting_with_batches_that_a_party_knows() -> None:
    """Half of the noise is its own; the record is replaced (127.7), or only added (42.8)."""
    hidden = 2.042 * math.sqrt(1 / 2)
    for distance, expected in ((2.0, 127.7), (1.0, 42.8)):
        event = KnownSamplesEvent(distance / hidden, 100 / 30_162, 20_000)
        assert ORACLE.epsilon(event, 1e-5) == pytest.approx(expected, abs=0.05)


def test_a_delta_below_what_the_tails_leave_counts_every_step() -> None:
    event = KnownSamplesEvent(0.1, 0.5, 100_000)
    assert ORACLE.epsilon(event, 1e-200) == pytest.approx(gaussian_epsilon(0.1 * math.sqrt(100_000), 1e-200), rel=1e-8)


def test_grouping_many_uses_costs_little() -> None:
    """A hundred thousand steps: uses are told apart in groups, rounded up."""
    mean_uses = 50_000
    found = ORACLE.epsilon(KnownSamplesEvent(0.01, 0.5, 2 * mean_uses), 1e-6)
    least = gaussian_epsilon(0.01 * math.sqrt(mean_uses), 1e-6)
    assert least < found < 1.01 * least


def test_gaussian_events_are_the_closed_form() -> None:
    for mu in (0.0, 0.2, 3.0, math.inf):
        event = GaussianEvent(mu)
        assert ORACLE.epsilon(event, 1e-6) == gaussian_epsilon(mu, 1e-6)
        assert ORACLE.delta(event, 0.5) == gaussian_delta(mu, 0.5)
        assert ORACLE.guess_probability(event) == pytest.approx(guess_probability(mu), rel=1e-9)


def test_secret_samples_have_no_closed_form() -> None:
    event = SecretSamplesEvent(2.0, 0.01, 100)
    for call in (lambda: ORACLE.epsilon(event, 1e-6), lambda: ORACLE.delta(event, 1.0)):
        with pytest.raises(UserError) as caught:
            call()
        assert caught.value.codes == ("E705",)
    with pytest.raises(UserError) as caught:
        ORACLE.epsilon(KnownSamplesEvent(1.0, 0.5, 2), 0.0)
    assert caught.value.codes == ("E700",)
