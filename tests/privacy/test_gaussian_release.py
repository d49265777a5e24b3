"""The two facts that join exact integer noise to the continuous closed form, checked by summing the laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from vertwin.privacy.gaussian_release import NoiseShare, grid_units, hidden_variance, on_grid, rounded_up


def law(variance: float, reach: int) -> dict[int, mpf]:
    weights = {x: mp.exp(-mpf(x * x) / (2 * mpf(variance))) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.5), (1.0, 1.0), (0.5, 2.0), (2.0, 2.0)])
def test_a_sum_of_shares_is_one_discrete_gaussian_up_to_the_stated_factor(first: float, second: float) -> None:
    """At shares small enough for the factor to be seen; at the least share that is allowed (16) it is 1 + 1e-67."""
    with mp.workprec(200):
        reach = 60
        a, b, whole = law(first, reach), law(second, reach), law(first + second, 2 * reach)
        stated = 10 * math.exp(-(math.pi**2) * min(first, second))
        for x in range(-int(6 * math.sqrt(first + second)), int(6 * math.sqrt(first + second)) + 1):
            together = sum(a[y] * b[x - y] for y in range(-reach, reach + 1) if abs(x - y) <= reach)
            assert abs(mp.log(together / whole[x])) <= stated


@pytest.mark.parametrize("eta", [0.2, 0.5, 1.0])
def test_discrete_noise_is_a_post_processing_of_continuous_noise(eta: float) -> None:
    """y normal with variance s - eta, then discrete around y with variance eta: the law of x, against the target."""
    variance = 3.0 + eta
    r = 2 * sum(math.exp(-2 * math.pi**2 * k * k * eta) for k in range(1, 6))
    bound = math.log((1 + r) / (1 - r))
    y = np.linspace(-20, 20, 40_001)  # smooth and decayed at both ends: the sum is exact to rounding
    normal = np.exp(-y * y / 6) / math.sqrt(6 * math.pi)
    around = np.exp(-((np.arange(-40, 41)[:, None] - y) ** 2) / (2 * eta)).sum(axis=0)
    target = law(variance, 60)
    for x in range(-6, 7):
        got = (normal * np.exp(-((x - y) ** 2) / (2 * eta)) / around).sum() * (y[1] - y[0])
        assert abs(math.log(got / float(target[x]))) <= bound * (1 + 1e-9) + 1e-9


def test_variances_round_up_and_what_a_coalition_knows_is_taken_off() -> None:
    assert on_grid(Fraction(1, 3), 8) * 2**16 == math.ceil(2**16 / 3)
    assert grid_units(on_grid(0.5, 8), 8) == 2**15
    noise = (NoiseShare("p", Fraction(3)), NoiseShare("q", Fraction(5)))
    assert hidden_variance(noise, set(), 8) == 8 - Fraction(4, 2**16)
    assert hidden_variance(noise, {"q"}, 8) == 3 - Fraction(4, 2**16)
    assert hidden_variance(noise, {"p", "q"}, 8) == 0
    assert Fraction(rounded_up(Fraction(1, 3))) > Fraction(1, 3)
