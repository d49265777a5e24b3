"""What a holder computes alone: Algorithm 4 and its exact form, densities and norms on the grid."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from learners.dpvi.steps import NARROW, WIDE, clip_of, layouts_of, run_step
from model.small_models import layout, mixed, mixed_records

from vertwin.learners.dpvi.local import (
    LocalPart,
    normalise_by_loop,
    normalise_by_maximum,
    normalising_threshold,
)
from vertwin.learners.dpvi.parameters import Codec, Layout
from vertwin.learners.dpvi.secure import Arithmetic
from vertwin.model import mixture
from vertwin.model.families.categorical import Categorical
from vertwin.model.packing import Packing

ulps = pytest.mark.parametrize("arithmetic", [WIDE, NARROW], ids=["f40", "f18"])


def test_the_loop_is_algorithm_4() -> None:
    """Against a plain loop, row by row, as printed."""
    rng = np.random.default_rng(1)
    log_density, t = -20.0 * rng.random((6, 3)), -8.0
    expected = log_density.copy()
    for n in range(6):
        while expected[n].max() < t:
            expected[n] += 0.01
    np.testing.assert_allclose(normalise_by_loop(jnp.asarray(log_density), t), expected, atol=1e-9)


@pytest.mark.parametrize("holders", [2, 3, 5])
@ulps
def test_den_is_not_zero_where_some_component_reaches_the_threshold_everywhere(
    holders: int, arithmetic: Arithmetic
) -> None:
    """Products truncated down, with two ulp lost at each as the secure engine may: at least one ulp is left."""
    ulp = arithmetic.ulp
    t = normalising_threshold(arithmetic.fraction_bits, holders)
    worst = np.floor(np.exp(t) / ulp) * ulp
    product = worst
    for _ in range(holders - 1):
        product = np.floor(product * worst / ulp) * ulp - ulp
    assert product >= ulp
    # ... and t is not far higher than it needs to be: a component two nats lower everywhere is lost.
    lower = np.floor(np.exp(t - 2.0) / ulp) * ulp
    product = lower
    for _ in range(holders - 1):
        product = np.floor(product * lower / ulp) * ulp
    assert product == 0


@pytest.mark.parametrize("holders", [2, 5])
def test_loop_and_exact_shift_give_equal_gradients(holders: int) -> None:
    """Where den stays well above the slack: with five holders the loop leaves a row's product at 2^-35 if it may."""
    packing = layout(3, {f"h{p}": (Categorical(4),) for p in range(holders)})
    rng, spread = np.random.default_rng(holders), {2: 2.0, 5: 0.3}[holders]
    values, theta = mixed_records(packing, 60, rng), spread * rng.normal(size=packing.shape)
    exact = run_step(packing, values, theta, 1.0)
    loop = run_step(packing, values, theta, 1.0, normalise="loop")
    np.testing.assert_allclose(loop, exact, atol=2e-3)


def test_log_densities_of_any_size_are_normalised() -> None:
    low = jnp.asarray([[-5000.0, -5001.0], [3.0, -2.0], [0.0, -1e300]])
    assert np.array_equal(np.asarray(normalise_by_maximum(low)).max(axis=1), [0.0, 0.0, 0.0])


def part_of(
    packing: Packing, values: list[np.ndarray], number: int, arithmetic: Arithmetic, threshold: float = 1.0
) -> tuple[LocalPart, Layout]:
    layouts = layouts_of(packing, missing=True)
    clip = clip_of(packing, layouts, threshold, arithmetic)
    start = sum(len(one.blocks) for one in layouts[:number])
    one = layouts[number]
    part = LocalPart(one, values[start : start + len(one.blocks)], clip, holds_weights=number == 0)
    return part, one


@ulps
@pytest.mark.parametrize("spread", [0.1, 1.0, 6.0])
def test_norms_are_those_of_the_rounded_scores_rounded_up(arithmetic: Arithmetic, spread: float) -> None:
    packing, rng = mixed(3), np.random.default_rng(2)
    values, theta = mixed_records(packing, 60, rng), spread * rng.normal(size=packing.shape)
    layouts = layouts_of(packing, missing=True)
    codec = Codec(packing, layouts, arithmetic.fraction_bits)
    parameters = codec.decode(codec.encode(theta))
    for number in (0, 1):
        part, one = part_of(packing, values, number, arithmetic)
        prepared = part.prepare(parameters, number, np.arange(60))
        jacobian, mean = parameters.jacobians[number], parameters.means[number]
        assert jacobian is not None
        assert mean is not None
        present = prepared.statistics[:, [one.statistics + base - 1 for base in one.centre]]
        t = prepared.statistics[:, : one.statistics]
        u = jacobian * (t[:, None] - mean * present[:, None])
        squared = (u**2).sum(axis=2)
        assert (prepared.squared_norms >= squared).all()
        assert (prepared.squared_norms <= squared + 2 * arithmetic.ulp + 1e-11).all()
        assert prepared.squared_norms.max() <= one.score_squared


@ulps
def test_everything_shared_lies_on_the_grid(arithmetic: Arithmetic) -> None:
    packing, rng = mixed(3), np.random.default_rng(3)
    values, theta = mixed_records(packing, 60, rng), rng.normal(size=packing.shape)
    codec = Codec(packing, layouts_of(packing, missing=True), arithmetic.fraction_bits)
    parameters = codec.decode(codec.encode(theta))
    for number in (0, 1):
        prepared = part_of(packing, values, number, arithmetic)[0].prepare(parameters, number, np.arange(60))
        for array in prepared:
            units = array / arithmetic.ulp
            assert np.array_equal(units, np.round(units))


@ulps
def test_densities_are_the_models_up_to_the_rows_shift(arithmetic: Arithmetic) -> None:
    packing, rng = mixed(3), np.random.default_rng(4)
    values, theta = mixed_records(packing, 60, rng), rng.normal(size=packing.shape)
    codec = Codec(packing, layouts_of(packing, missing=True), arithmetic.fraction_bits)
    parameters = codec.decode(codec.encode(theta))
    product = np.ones((60, 3))
    for number in (0, 1):
        e = part_of(packing, values, number, arithmetic)[0].prepare(parameters, number, np.arange(60)).densities
        assert e.min() >= 0
        assert e.max() <= 1
        product *= e
    r = product / product.sum(axis=1, keepdims=True)
    exact = mixture.responsibilities(packing, values, jnp.asarray(parameters.theta))
    np.testing.assert_allclose(r, exact, atol=1e-3 if arithmetic is NARROW else 1e-9)


def test_the_sum_at_the_holder_of_the_weights_is_limited() -> None:
    """A small threshold in the narrow field: den must stay below what rsqrt can take."""
    packing, rng = mixed(8), np.random.default_rng(5)
    values, theta = mixed_records(packing, 50, rng), 1e-3 * rng.normal(size=packing.shape)
    layouts = layouts_of(packing, missing=True)
    limit = clip_of(packing, layouts, 0.2, NARROW).total_at_most
    assert 1 <= limit < 8
    codec = Codec(packing, layouts, 18)
    part, _ = part_of(packing, values, 0, NARROW, 0.2)
    e = part.prepare(codec.decode(codec.encode(theta)), 0, np.arange(50)).densities
    assert e.sum(axis=1).max() <= limit


def test_padding_is_zero_throughout() -> None:
    packing, rng = mixed(3), np.random.default_rng(6)
    values = mixed_records(packing, 10, rng)
    codec = Codec(packing, layouts_of(packing, missing=True), 40)
    parameters = codec.decode(codec.encode(rng.normal(size=packing.shape)))
    prepared = part_of(packing, values, 0, WIDE)[0].prepare(parameters, 0, np.array([3, -1, 4]))
    for array in prepared:
        assert not array[1].any()
        assert array[0].any()


def test_a_local_part_shows_no_row() -> None:
    packing, rng = mixed(3), np.random.default_rng(7)
    part, _ = part_of(packing, mixed_records(packing, 10, rng), 0, WIDE)
    assert repr(part) == "LocalPart(2 columns, rows hidden)"
