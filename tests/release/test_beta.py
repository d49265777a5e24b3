"""The Beta distribution function against SciPy's and against what is known without one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from vertwin.release.beta import cumulative

PARAMETERS = st.floats(1e-3, 1e5)


@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=8), PARAMETERS, PARAMETERS)
@settings(deadline=None, max_examples=200)
def test_agrees_with_scipy(values: list[float], first: float, second: float) -> None:
    x = np.array(values)
    mine = cumulative(x, np.array(first), np.array(second))
    # Of x itself half an ulp is uncertain, which a density of up to sqrt(a + b) magnifies.
    assert np.allclose(mine, special.betainc(first, second, x), rtol=1e-8, atol=1e-9)


def test_the_uniform_distribution_and_the_ends() -> None:
    x = np.array([-1.0, 0.0, 0.25, 1.0, 2.0])
    assert np.allclose(cumulative(x, np.array(1.0), np.array(1.0)), [0, 0, 0.25, 1, 1], atol=1e-14)
    assert cumulative(np.array(0.5), np.array(7.5), np.array(7.5)) == pytest.approx(0.5, abs=1e-12)


def test_broadcasts() -> None:
    a, b = np.array([[2.0], [3.0]]), np.array([[5.0], [0.5]])
    grid = cumulative(np.linspace(0, 1, 11), a, b)
    assert grid.shape == (2, 11)
    assert (np.diff(grid, axis=1) > 0).all()
