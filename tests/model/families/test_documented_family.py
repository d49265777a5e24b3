"""The example of docs/families.md runs, keeps every promise of a family, and goes through the secure step."""

from __future__ import annotations

import re
import sys
import types
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from learners.dpvi.steps import run_step
from model.small_models import layout

from vertwin.domains import Category, Ordinal
from vertwin.model import mixture
from vertwin.model.families import ExponentialFamily
from vertwin.model.families.categorical import Categorical

PAGE = Path(__file__).parents[3] / "docs" / "families.md"


@lru_cache
def documented() -> Any:
    """The class of the page's only Python block."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    module = types.ModuleType("documented_family")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(block, str(PAGE), "exec"), module.__dict__)
    return module.__dict__["Binomial"]


@pytest.mark.parametrize("trials", [1, 4, 30])
def test_the_documented_family_keeps_its_promises(trials: int) -> None:
    family, rng = documented()(trials), np.random.default_rng(trials)
    assert isinstance(family, ExponentialFamily)
    x = jnp.asarray(np.where(rng.random(50) < 0.2, -1, rng.integers(0, trials + 1, 50)))
    psi = jnp.asarray(3.0 * rng.normal(size=(4, 1)))
    absent = np.asarray(x) < 0
    np.testing.assert_allclose(family.score(x, psi), family.score_by_autodiff(x, psi), atol=1e-9)
    assert not np.asarray(family.log_density(x, psi))[absent].any()
    assert not np.asarray(family.score(x, psi))[absent].any()
    assert float((family.bounded_score(x, psi) ** 2).sum(axis=-1).max()) <= family.score_squared_at_most * (1 + 1e-12)
    support = jnp.arange(trials + 1)
    attained = (family.score(support, psi) ** 2).sum(axis=-1).max(axis=0)
    np.testing.assert_allclose(family.score_squared_bound(psi), attained, rtol=1e-12)
    released = family.released(np.asarray(psi))
    np.testing.assert_allclose(np.log(released).T, family.log_density(support, psi), atol=1e-8)
    np.testing.assert_allclose(family.constrain(family.unconstrain(family.constrain(psi))), family.constrain(psi))


def test_it_fits_ordered_levels_only() -> None:
    assert documented().of(Ordinal(levels=("low", "middle", "high"))).trials == 2
    assert documented().of(Category(categories=("a", "b"))) is None


def test_it_goes_through_the_secure_step() -> None:
    """Scores too long for its bound (30 trials) are shortened publicly: the step sees J < 1."""
    family = documented()(30)
    packing, rng = layout(3, {"a": (family,), "b": (Categorical(3),)}), np.random.default_rng(1)
    values = [rng.integers(0, 31, 60), rng.integers(0, 3, 60)]
    theta = np.round(rng.normal(size=packing.shape) * 2.0**20) / 2.0**20
    found = run_step(packing, values, theta, 1e3, missing=False)
    exact = np.array(jnp.sum(mixture.record_gradient(packing, values, jnp.asarray(theta)), axis=0))
    exact[:, 1] *= np.asarray(family.public_scale(jnp.asarray(theta[:, 1:2])))
    np.testing.assert_allclose(found, exact, rtol=1e-3, atol=5e-3)
