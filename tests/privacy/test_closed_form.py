from __future__ import annotations

import math

import dp_accounting
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.stats import norm

from vertwin.errors import UserError
from vertwin.privacy.closed_form import gaussian_delta, gaussian_epsilon, gaussian_mu, guess_probability

MU = st.floats(1e-4, 1e3)
DELTA = st.floats(1e-30, 0.5)


def exact_delta(mu: float, epsilon: float) -> mpf:
    with mp.workprec(1200):
        m, e = mpf(mu), mpf(epsilon)

        def below(x: mpf) -> mpf:
            return mp.erfc(-x / mp.sqrt(2)) / 2

        return below(m / 2 - e / m) - mp.exp(e) * below(-m / 2 - e / m)


@settings(deadline=None, max_examples=150)
@given(MU, st.floats(-6, 37))
def test_delta_is_never_below_the_exact_value_and_close_to_it(mu: float, tail: float) -> None:
    epsilon = mu * mu / 2 + mu * tail
    if epsilon < 0:
        return
    exact, computed = exact_delta(mu, epsilon), gaussian_delta(mu, epsilon)
    assert computed >= exact
    if exact > 1e-290:
        assert computed <= exact * (1 + 1e-12 + 1e-10 / mu + 1e-15 * (1 + abs(tail)) * (mu + abs(tail)))


@settings(deadline=None, max_examples=100)
@given(st.floats(0.05, 50), st.floats(1e-10, 1e-2))
def test_epsilon_agrees_with_dp_accounting(mu: float, delta: float) -> None:
    assert gaussian_epsilon(mu, delta) == pytest.approx(
        dp_accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-6, abs=1e-9
    )


@settings(deadline=None, max_examples=100)
@given(MU, DELTA)
def test_epsilon_is_on_the_safe_side(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    assert exact_delta(mu, epsilon) <= delta
    if epsilon > 1e-6 * mu:  # and no more than needed
        assert exact_delta(mu, epsilon * (1 - 1e-6)) > delta


@settings(deadline=None, max_examples=100)
@given(st.floats(1e-3, 1e3), DELTA)
def test_mu_is_the_inverse_on_the_safe_side(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(mu * (1 + 1e-6), epsilon) > delta
    assert gaussian_epsilon(mu, delta) <= epsilon


@settings(deadline=None, max_examples=100)
@given(st.floats(0.01, 30), DELTA, st.floats(1.001, 3))
def test_more_noise_is_a_smaller_epsilon(mu: float, delta: float, factor: float) -> None:
    assert gaussian_epsilon(mu / factor, delta) <= gaussian_epsilon(mu, delta)
    assert gaussian_epsilon(mu, delta) <= gaussian_epsilon(mu, delta / factor)


def test_published_values() -> None:
    """sigma 2.042: 67 uses of a record by half the noise, and all 20,000, replacement, delta 1e-5 (facts of record)."""
    half = math.sqrt(2) * 2 / 2.042
    assert gaussian_epsilon(half * math.sqrt(67), 1e-5) == pytest.approx(111.78, abs=0.01)
    assert gaussian_epsilon(half * math.sqrt(20_000), 1e-5) == pytest.approx(20_020.2, abs=0.1)
    assert 1 / gaussian_mu(1.0, 1e-5) == pytest.approx(3.73063, abs=1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-12, 1e-300), (1e-300, 1e-300), (1e-9, 1e-30), (1e3, 1e-300)])
def test_absurd_targets_end(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert mu > 0 and gaussian_epsilon(mu, delta) <= epsilon


def test_limits() -> None:
    assert gaussian_epsilon(0.0, 1e-6) == 0.0
    assert gaussian_epsilon(math.inf, 1e-6) == math.inf
    assert gaussian_delta(math.inf, 3.0) == 1.0
    assert gaussian_delta(1.0, math.inf) == 0.0
    assert 0 < gaussian_delta(0.001, 1e6) < 1e-300  # underflow rounds up, not to zero


def test_guess_probability_is_the_best_tests() -> None:
    for mu in (0.0, 0.1, 1.0, 5.0):
        assert guess_probability(mu) == pytest.approx(norm.cdf(mu / 2), rel=1e-9)
        # what epsilon and delta alone allow, (exp(epsilon) + delta) / (1 + exp(epsilon)), is weaker at every delta
        for delta in (1e-9, 1e-3, 0.05):
            bound = math.exp(gaussian_epsilon(mu, delta))
            assert guess_probability(mu) <= (bound + delta) / (1 + bound) + 1e-9


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: gaussian_epsilon(1.0, 0.0), "E700"),
        (lambda: gaussian_epsilon(1.0, 1.0), "E700"),
        (lambda: gaussian_epsilon(1.0, math.nan), "E700"),
        (lambda: gaussian_mu(0.0, 1e-6), "E701"),
        (lambda: gaussian_mu(math.nan, 1e-6), "E701"),
        (lambda: gaussian_mu(math.inf, 1e-6), "E701"),
        (lambda: gaussian_delta(-1.0, 1.0), "E702"),
        (lambda: gaussian_delta(math.nan, 1.0), "E702"),
        (lambda: gaussian_delta(1.0, -1.0), "E701"),
    ],
)
def test_nonsense_is_refused(call: object, code: str) -> None:
    with pytest.raises(UserError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.codes == (code,)
