"""The closed forms and the library's numerical accountants, held against each other and against published numbers."""

from __future__ import annotations

import math

import pytest

from vertwin.errors import UserError
from vertwin.privacy.accountant import gaussian_epsilon_numeric, poisson_epsilon, poisson_epsilon_renyi
from vertwin.privacy.closed_form import gaussian_epsilon

PAPER = (2.042, 100 / 30162, 20_000, 1e-5)


def test_the_papers_setting_three_ways() -> None:
    assert poisson_epsilon(*PAPER, adjacency="add_remove") == pytest.approx(0.909, abs=0.002)
    assert poisson_epsilon_renyi(*PAPER) == pytest.approx(0.995, abs=0.005)  # what the paper prints as 1
    assert poisson_epsilon(*PAPER, adjacency="replace_one") == pytest.approx(1.822, abs=0.002)


@pytest.mark.parametrize(("mu", "uses"), [(0.01, 1), (0.3, 7), (1.0, 67), (2.77, 20_000)])
def test_the_closed_form_agrees_and_is_not_below(mu: float, uses: int) -> None:
    ours = gaussian_epsilon(mu * math.sqrt(uses), 1e-6)
    assert ours == pytest.approx(gaussian_epsilon_numeric(mu, uses, 1e-6), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_sampling_everybody_is_the_plain_gaussian(adjacency: str) -> None:
    """A sample that takes every record: the accountant must come out at the closed form, distance 2 and 1."""
    distance = 2 if adjacency == "replace_one" else 1
    numeric = poisson_epsilon(5.0, 1.0, 4, 1e-6, adjacency)  # type: ignore[arg-type]
    assert numeric == pytest.approx(gaussian_epsilon(distance * math.sqrt(4) / 5.0, 1e-6), rel=1e-3)


def test_secret_sampling_is_never_worse_than_none() -> None:
    for probability in (0.01, 0.1, 0.5):
        assert poisson_epsilon(3.0, probability, 10, 1e-6) <= gaussian_epsilon(2 * math.sqrt(10) / 3.0, 1e-6)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((0.0, 0.1, 1, 1e-6), "E702"),
        ((math.nan, 0.1, 1, 1e-6), "E702"),
        ((1.0, 1.1, 1, 1e-6), "E705"),
        ((1.0, 0.1, 0, 1e-6), "E705"),
        ((1.0, 0.1, 1, 1.0), "E700"),
    ],
)
def test_nonsense_is_refused(arguments: tuple[float, float, int, float], code: str) -> None:
    with pytest.raises(UserError) as caught:
        poisson_epsilon(*arguments)
    assert caught.value.codes == (code,)
