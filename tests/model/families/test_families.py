"""One table of families, one set of promises: what every family, built in or a user's, has to keep."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model.small_models import FAMILIES, codes_of, records

from vertwin.agreement import Column
from vertwin.domains import Binary, Category, EqualWidth, Real
from vertwin.errors import UserError
from vertwin.model.families import ExponentialFamily, Family, family_of
from vertwin.model.families.bernoulli import Bernoulli
from vertwin.model.families.beta import EDGE, Beta
from vertwin.model.families.categorical import Categorical

every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{family.name}{family.parameters}")
every_exponential = pytest.mark.parametrize(
    "family", [f for f in FAMILIES if isinstance(f, ExponentialFamily)], ids=lambda f: f"{f.name}{f.parameters}"
)


@lru_cache
def compiled(family: Family, method: str) -> Callable[..., jax.Array]:
    """A method, jitted: compiled once per shape instead of operation by operation."""
    return jax.jit(getattr(family, method))


def draw(family: Family, seed: int, spread: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return records(family, 60, rng), spread * rng.normal(size=(4, family.parameters))


@every_family
def test_log_density_is_numpyros(family: Family) -> None:
    x, psi = draw(family, 1)
    present = ~np.asarray(family.missing(jnp.asarray(x)))
    expected = family.distribution(jnp.asarray(psi)).log_prob(family.filled(jnp.asarray(x))[:, None])
    found = compiled(family, "log_density")(jnp.asarray(x), jnp.asarray(psi))
    assert found.dtype == jnp.float64
    np.testing.assert_allclose(found[present], expected[present], rtol=1e-12, atol=1e-12)


@every_family
def test_a_missing_value_says_nothing(family: Family) -> None:
    x, psi = draw(family, 2)
    absent = np.asarray(family.missing(jnp.asarray(x)))
    assert absent.any()
    assert not np.asarray(compiled(family, "log_density")(jnp.asarray(x), jnp.asarray(psi)))[absent].any()
    for score in ("score", "score_by_autodiff", "bounded_score"):
        assert not np.asarray(compiled(family, score)(x, psi))[absent].any()


@every_family
@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0.1, 2.0, 8.0]))
def test_score_is_the_derivative_of_the_density(family: Family, seed: int, spread: float) -> None:
    x, psi = map(jnp.asarray, draw(family, seed, spread))
    np.testing.assert_allclose(
        compiled(family, "score")(x, psi), compiled(family, "score_by_autodiff")(x, psi), rtol=1e-9, atol=1e-9
    )


@every_family
@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0.1, 2.0, 8.0, 40.0]))
def test_no_score_passes_the_declared_bound(family: Family, seed: int, spread: float) -> None:
    x, psi = map(jnp.asarray, draw(family, seed, spread))
    squared = np.sum(np.asarray(compiled(family, "bounded_score")(x, psi)) ** 2, axis=-1)
    assert squared.max() <= family.score_squared_at_most * (1 + 1e-12)


@every_exponential
@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0.1, 2.0, 8.0, 40.0]))
def test_the_public_bound_holds_for_every_value(family: ExponentialFamily, seed: int, spread: float) -> None:
    """score_squared_bound depends on psi alone, and no value of the support passes it."""
    _, psi = map(jnp.asarray, draw(family, seed, spread))
    support = _support(family)
    squared = jnp.sum(compiled(family, "score")(support, psi) ** 2, axis=-1).max(axis=0)
    bound = compiled(family, "score_squared_bound")(psi)
    assert bool((squared <= bound * (1 + 1e-12) + 1e-300).all())
    # ... and is not vacuous: within 20 % of what some value attains (Beta: cells of the interval).
    assert bool((bound <= 1.2 * squared + 1e-9).all())


@every_exponential
def test_the_public_scale_keeps_jacobian_and_norm_within_their_limits(family: ExponentialFamily) -> None:
    _, psi = draw(family, 3, spread=200.0)
    scaled = family.bounded_linear_map(jnp.asarray(psi))
    assert float(jnp.abs(scaled.jacobian).max()) <= 1.0
    scale = compiled(family, "public_scale")(jnp.asarray(psi))
    assert bool(((scale > 0) & (scale <= 1)).all())


def _support(family: Family) -> jax.Array:
    if isinstance(family, Beta):
        return jnp.concatenate([jnp.linspace(0.0, 1.0, 4001), jnp.geomspace(1e-9, 0.5, 500)])
    return jnp.arange(codes_of(family))


@every_family
def test_constrain_inverts_unconstrain(family: Family) -> None:
    _, psi = draw(family, 4)
    parameters = family.constrain(jnp.asarray(psi))
    np.testing.assert_allclose(family.constrain(family.unconstrain(parameters)), parameters, rtol=1e-9)


@every_family
def test_released_parameters_are_the_constrained_ones(family: Family) -> None:
    _, psi = draw(family, 5)
    released, own = family.released(psi), np.asarray(family.constrain(jnp.asarray(psi)))
    if isinstance(family, Bernoulli):
        np.testing.assert_allclose(released[:, 1:], own, rtol=1e-12)
    else:
        np.testing.assert_allclose(released, own, rtol=1e-12)
    if family.form == "categorical":
        np.testing.assert_allclose(released.sum(axis=1), 1.0, rtol=1e-12)


@every_family
@pytest.mark.parametrize("spread", [1.0, 30.0, 300.0])
def test_nothing_overflows(family: Family, spread: float) -> None:
    x, psi = map(jnp.asarray, draw(family, 6, spread))
    for value in (
        compiled(family, "log_density")(x, psi),
        compiled(family, "score")(x, psi),
        compiled(family, "bounded_score")(x, psi),
    ):
        assert bool(jnp.isfinite(value).all())


def test_log_priors_are_densities_in_unconstrained_space() -> None:
    """The Jacobian is there: each integrates to one over the real line (log-Gamma logits: one factor per logit)."""
    grid = np.linspace(-40, 40, 80001)
    step = grid[1] - grid[0]
    density = np.exp(np.asarray(Bernoulli().log_prior(jnp.asarray(grid[:, None]))))
    assert abs(density.sum() * step - 1) < 1e-6
    # one logit of a categorical: the other factor integrates to one on its own
    other = float(np.log(np.sum(np.exp(np.asarray(Categorical(1).log_prior(jnp.asarray(grid[:, None])))) * step)))
    assert abs(other) < 1e-6
    wide = np.linspace(-60, 60, 60001)
    fixed = float(Beta().log_prior(jnp.zeros((1, 2)))[0]) / 2
    pairs = np.stack([wide, np.zeros_like(wide)], axis=1)
    beta = np.exp(np.asarray(Beta().log_prior(jnp.asarray(pairs))) - fixed)
    # Gamma(1, 1) above LEAST = 0.01: exp(-0.01) of its mass
    assert abs(beta.sum() * (wide[1] - wide[0]) - np.exp(-0.01)) < 1e-6


def test_beta_clips_the_ends_and_keeps_density_and_score_together() -> None:
    psi = jnp.asarray([[0.3, -0.2]])
    at_edge, outside = Beta().log_density(jnp.asarray([EDGE]), psi), Beta().log_density(jnp.asarray([0.0]), psi)
    assert float(at_edge[0, 0]) == float(outside[0, 0])


def column(domain: object, family: object = None) -> Column:
    return Column("x", "a", domain, family)  # type: ignore[arg-type]


def test_the_family_follows_the_domain_unless_named() -> None:
    yes_no = Binary(values=("no", "yes"))
    assert isinstance(family_of(column(yes_no)), Bernoulli)
    assert family_of(column(Binary(values=("no", "yes"), missing="category"))) == Categorical(3)  # type: ignore[arg-type]
    assert family_of(column(yes_no, "categorical")) == Categorical(2)
    age = Real(bounds=(0.0, 120.0), bins=EqualWidth(24))
    assert family_of(column(age)) == Categorical(24)
    assert isinstance(family_of(column(age, "beta")), Beta)


@pytest.mark.parametrize(
    ("domain", "family", "code"),
    [
        (Category(categories=("a", "b", "c")), "beta", "E751"),
        (Category(categories=("a", "b", "c")), "bernoulli", "E751"),
        (Category(categories=("a", "b", "c")), "gamma", "E750"),
    ],
)
def test_a_family_that_does_not_fit_is_refused(domain: object, family: str, code: str) -> None:
    with pytest.raises(UserError) as caught:
        family_of(column(domain, family))
    assert caught.value.codes == (code,)
