"""The secure gradient step: its bound on adversarial rows, its equality with the model, in the plain twin."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from learners.dpvi.steps import NARROW, WIDE, clip_of, layouts_of, options_of, run_step
from model.small_models import Opaque, Turned, layout, mixed, mixed_records

from vertwin.engine.fixed_point import fixed_point
from vertwin.errors import UserError
from vertwin.learners.dpvi import secure
from vertwin.learners.dpvi.secure import ARITHMETIC, Arithmetic, HardClip
from vertwin.model import mixture
from vertwin.model.families.beta import Beta
from vertwin.model.families.categorical import Categorical
from vertwin.model.packing import Packing

ROWS = 50_000


def adversarial(
    rng: np.random.Generator, rows: int, holders: int, components: int, limit: float, clip: HardClip
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Densities, norms and one-parameter scores per holder, and pi: each row of one of the kinds that hurt."""
    ulp = clip.arithmetic.ulp
    kind = rng.integers(0, 6, rows)[:, None]
    densities = []
    for p in range(holders):
        spread = rng.choice([0.1, 2.0, 8.0, 20.0], (rows, 1))
        e = np.exp(-spread * rng.exponential(size=(rows, components)))
        sure = np.full((rows, components), ulp) + (np.arange(components) == rng.integers(0, components, (rows, 1)))
        e = np.where(kind == 1, sure, e)  # every party sure, most often of another component
        e = np.where(kind == 2, ulp * rng.integers(0, 4, (rows, components)), e)  # all at the floor
        e = np.where(kind == 3, 2.0 ** (-rng.uniform(0, clip.arithmetic.fraction_bits / holders, (rows, 1))), e)
        e = np.where(kind == 4, np.where(rng.random((rows, components)) < 0.5, 1.0, e), e)
        if p == 0:  # where pi is inside: the sum is limited
            e = e * np.minimum(1.0, clip.total_at_most / np.maximum(e.sum(axis=1, keepdims=True), 1e-300))
        densities.append(np.floor(np.minimum(e, 1.0) / ulp) * ulp)
    steep = rng.choice([0.0, 1e-3, 0.5, 1.0], (rows, 1), p=[0.1, 0.2, 0.2, 0.5])
    share = limit * steep * rng.choice([1.0, 0.2], (rows, components))
    scores = [
        np.trunc(rng.choice([-1.0, 1.0], (rows, components)) * np.sqrt(share) / ulp) * ulp for _ in range(holders)
    ]
    norms = [np.ceil(u**2 / ulp - 1e-9) * ulp for u in scores]
    pi = rng.dirichlet(rng.choice([0.05, 1.0, 50.0]) * np.ones(components))
    return densities, norms, scores, np.round(pi * 2.0**18) / 2.0**18


def computed_norms(
    clip: HardClip, holders: int, seed: int, limit: float, *, slack: float | None = None, rows: int = ROWS
) -> np.ndarray:
    """The norm of what each adversarial record alone would reveal, in the plain twin's arithmetic."""
    rng = np.random.default_rng(seed)
    densities, norms, scores, pi = adversarial(rng, rows, holders, clip.components, limit, clip)
    records = [part for p in range(holders) for part in (densities[p], norms[p], scores[p])]
    constants = np.array(clip.inverse_square), np.array(clip.slack if slack is None else slack)
    alone = _alone(holders, clip.arithmetic, secure.lax.rsqrt)
    return np.asarray(alone(*constants, pi, *records))


@lru_cache
def _alone(holders: int, arithmetic: Arithmetic, rsqrt: object) -> Callable[..., jax.Array]:
    """One function for all thresholds, compiled once per shape. (`rsqrt` is what the module under test uses now.)"""

    def step(inverse_square: jax.Array, slack: jax.Array, *arrays: jax.Array) -> tuple[jax.Array]:
        options = {"holders": holders, "dense": (1,) * holders, "centre": (), "output_scale": 1.0}
        return secure.gradient_step(*arrays, inverse_square=inverse_square, slack=slack, **options)  # type: ignore[arg-type]

    twin = fixed_point(step, arithmetic.field_bits, arithmetic.fraction_bits)

    def one(inverse_square: jax.Array, slack: jax.Array, pi: jax.Array, *record: jax.Array) -> jax.Array:
        arrays: list[jax.Array] = []
        for p in range(holders):
            e, w, u = record[3 * p : 3 * p + 3]
            arrays += [e[None], w[None], u[None, :, None], jnp.zeros((pi.shape[0], 1 + holders))]
        return jnp.linalg.norm(twin(inverse_square, slack, *arrays, pi)[0])

    return jax.jit(jax.vmap(one, in_axes=(None, None, None, *[0] * (3 * holders))))


BOUNDS = [(c, p, a) for c in (2.0, 1.0, 0.5, 0.2) for p in (2, 3, 5) for a in (WIDE, NARROW)]


@pytest.mark.parametrize(("threshold", "holders", "arithmetic"), BOUNDS)
def test_gradient_step_l2_sensitivity_at_most_clipping_threshold(
    threshold: float, holders: int, arithmetic: Arithmetic
) -> None:
    """K = 2 with small norms (where the slack is smallest beside the errors), and K = 6 with steep scores."""
    for components, limit in ((2, 0.05), (6, 14.0)):
        clip = HardClip(arithmetic, threshold, components, 1 + holders, holders * limit)
        norms = computed_norms(clip, holders, seed=components, limit=limit, rows=ROWS // 2)
        assert norms.max() <= threshold * (1 + clip.rho())
    # The bound is used, not merely kept: steep rows come up to it.
    assert norms.max() >= 0.95 * threshold


@pytest.mark.parametrize("arithmetic", [WIDE, NARROW], ids=["f40", "f18"])
def test_the_bound_holds_when_rsqrt_errs_upwards(monkeypatch: pytest.MonkeyPatch, arithmetic: Arithmetic) -> None:
    """SPU's rsqrt may lie above the truth by its stated error; without C' < C this would pass C."""
    above = 1 + arithmetic.rsqrt_error
    monkeypatch.setattr(secure, "lax", SimpleNamespace(rsqrt=lambda x: lax.rsqrt(x) * above))
    clip = HardClip(arithmetic, 1.0, 4, 3, 20.0)
    norms = computed_norms(clip, 2, seed=1, limit=10.0, rows=20_000)
    assert norms.max() <= 1.0 + clip.rounding()
    assert norms.max() >= 1 - 2 * arithmetic.rsqrt_error


@pytest.mark.parametrize("arithmetic", [WIDE, NARROW], ids=["f40", "f18"])
def test_without_the_slack_the_bound_breaks(arithmetic: Arithmetic) -> None:
    """The test above can fail: a slack of one ulp lets adversarial rows through."""
    clip = HardClip(arithmetic, 0.5, 6, 3, 20.0)
    norms = computed_norms(clip, 2, seed=1, limit=10.0, slack=arithmetic.ulp, rows=20_000)
    assert norms.max() > 1.1 * 0.5


def test_slack_is_the_formula_of_the_lemma() -> None:
    for c in (2.0, 1.0, 0.5, 0.2):
        clip = HardClip(WIDE, c, 20, 140, 26.0)
        formula = 2 * (1 + (1 + 20 * 28) / c**2) * 2.0**-40
        assert formula <= clip.slack <= formula * 1.001 + 2.0**-31
        assert HardClip(NARROW, c, 20, 140, 26.0).slack >= max(formula * 2.0**22, 2.0**-9)


def test_arguments_of_rsqrt_stay_in_their_range() -> None:
    """M + slack over adversarial rows, from the definition: within [least, largest] of the arithmetic."""
    for arithmetic in (WIDE, NARROW):
        for threshold, limit in ((1.0, 13.0), (0.2, 13.0), (0.5, 60.0)):
            clip = HardClip(arithmetic, threshold, 20, 3, 2 * limit)
            rng = np.random.default_rng(3)
            densities, norms, _, pi = adversarial(rng, 20_000, 2, 20, limit, clip)
            e = densities[0] * densities[1]
            den = e.sum(axis=1)
            q = ((e - den[:, None] * pi) ** 2 + e**2 * (norms[0] + norms[1])).sum(axis=1)
            argument = np.maximum(den**2, q * clip.inverse_square) + clip.slack
            assert argument.min() >= arithmetic.least
            assert argument.max() <= arithmetic.largest


@pytest.mark.parametrize(("key", "squared"), [((64, 18), 2.0**13), ((128, 40), 2.0**16)])
def test_combinations_without_a_proof_are_refused(key: tuple[int, int], squared: float) -> None:
    with pytest.raises(UserError) as caught:
        HardClip(ARITHMETIC[key], 1.0, 20, 140, squared)
    assert caught.value.codes == ("E753",)
    assert "E753" in str(caught.value)
    with pytest.raises(UserError):
        HardClip(ARITHMETIC[key], 0.2, 20, 140, squared / 25)
    HardClip(ARITHMETIC[key], 0.2, 20, 140, squared / 30)
    for threshold in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UserError) as caught:
            HardClip(ARITHMETIC[key], threshold, 20, 140, 26.0)
        assert caught.value.codes == ("E752",)


def float_step(packing: Packing, values: list[np.ndarray], theta: np.ndarray, threshold: float) -> np.ndarray:
    """The model's own gradient of every record, clipped in float and summed."""
    gradients = mixture.record_gradient(packing, values, jnp.asarray(theta))
    norms = jnp.sqrt(jnp.sum(gradients**2, axis=(1, 2)))
    return np.asarray(jnp.sum(gradients * jnp.minimum(1.0, threshold / norms)[:, None, None], axis=0))


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "marginal"])
@pytest.mark.parametrize("threshold", [1e3, 1.0])
def test_the_step_is_the_models_clipped_gradient(threshold: float, missing: bool) -> None:
    packing, rng = mixed(3), np.random.default_rng(5)
    values = mixed_records(packing, 60, rng, missing=0.3 if missing else 0.0)
    theta = np.round(rng.normal(size=packing.shape) * 2.0**20) / 2.0**20
    found = run_step(packing, values, theta, threshold, missing=missing)
    # grad A and pi are on the grid 2^-20: up to 60 records times that; and C' is 1e-4 below C.
    np.testing.assert_allclose(found, float_step(packing, values, theta, threshold), rtol=2e-4, atol=2e-3)


def test_three_holders_are_two_with_the_columns_moved() -> None:
    rng = np.random.default_rng(6)
    families = Categorical(3), Beta(), Categorical(4)
    three = layout(3, {"a": families[:1], "b": families[1:2], "c": families[2:]})
    two = layout(3, {"a": families[:2], "b": families[2:]})
    values, theta = mixed_records(three, 60, rng), rng.normal(size=three.shape)
    np.testing.assert_allclose(run_step(three, values, theta, 1.0), run_step(two, values, theta, 1.0), atol=1e-3)


def test_the_dense_path_is_the_linear_one() -> None:
    """A Beta without statistics, at one holder and at both, against the built-in one."""
    rng = np.random.default_rng(7)
    packings = [
        layout(3, {"a": (one, Categorical(4)), "b": (other, Categorical(3))})
        for one, other in ((Beta(), Beta()), (Beta(), Opaque()), (Opaque(), Opaque()))
    ]
    values, theta = mixed_records(packings[0], 60, rng), rng.normal(size=packings[0].shape)
    linear, half, whole = (run_step(packing, values, theta, 1.0) for packing in packings)
    np.testing.assert_allclose(half, linear, atol=2e-3)
    np.testing.assert_allclose(whole, linear, atol=2e-3)


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "marginal"])
def test_a_jacobian_that_is_a_matrix_is_applied(missing: bool) -> None:
    packing, rng = layout(3, {"a": (Turned(), Categorical(2)), "b": (Beta(),)}), np.random.default_rng(12)
    values = mixed_records(packing, 60, rng, missing=0.3 if missing else 0.0)
    theta = np.round(rng.normal(size=packing.shape) * 2.0**20) / 2.0**20
    found = run_step(packing, values, theta, 1.0, missing=missing)
    np.testing.assert_allclose(found, float_step(packing, values, theta, 1.0), rtol=2e-4, atol=2e-3)


@pytest.mark.parametrize("arithmetic", [WIDE, NARROW], ids=["f40", "f18"])
def test_padding_contributes_exactly_nothing(arithmetic: Arithmetic) -> None:
    packing, rng = mixed(3), np.random.default_rng(8)
    values, theta = mixed_records(packing, 60, rng), rng.normal(size=packing.shape)
    rows = np.arange(40)
    padded = np.concatenate([rows, np.full(17, -1)])
    without = run_step(packing, values, theta, 1.0, arithmetic=arithmetic, batch=rows)
    assert np.array_equal(run_step(packing, values, theta, 1.0, arithmetic=arithmetic, batch=padded), without)


def test_noise_of_every_holder_is_added_once_and_exactly() -> None:
    packing, rng = mixed(3), np.random.default_rng(9)
    values, theta = mixed_records(packing, 60, rng), rng.normal(size=packing.shape)
    noise = [rng.integers(-(2**36), 2**36, packing.shape) * 2.0**-40 for _ in range(2)]
    silent = run_step(packing, values, theta, 1.0)
    assert np.array_equal(run_step(packing, values, theta, 1.0, noise=noise) - silent, noise[0] + noise[1])


def test_sums_are_cut_to_the_output_grid() -> None:
    packing, rng = mixed(3), np.random.default_rng(10)
    values, theta = mixed_records(packing, 60, rng), rng.normal(size=packing.shape)
    whole, cut = (run_step(packing, values, theta, 1.0, output_scale=scale) for scale in (1.0, 2.0**-10))
    assert np.array_equal(cut * 2.0**40, np.floor(whole * 2.0**30))  # integers in units of 2^-30


def test_a_row_on_which_all_products_truncate_contributes_nothing() -> None:
    clip = HardClip(WIDE, 1.0, 2, 3, 4.0)
    disagree = [np.array([[1.0, 2.0**-10]]), np.array([[2.0**-11, 1.0]])]  # products of 2^-11 and 2^-10 remain
    assert np.abs(_direct(clip, disagree)).max() > 0.1
    gone = [np.array([[1.0, 2.0**-21]]), np.array([[2.0**-41, 2.0**-20]])]  # 2^-41 both: nothing is left
    assert not _direct(clip, gone).any()


def _direct(clip: HardClip, e: list[np.ndarray]) -> np.ndarray:
    norms, scores, noise = np.full((1, 2), 1.0), np.ones((1, 2, 1)), np.zeros((2, 3))
    arrays = [part for p in range(2) for part in (e[p], norms, scores, noise)]
    function = partial(
        secure.gradient_step,
        holders=2,
        dense=(1, 1),
        centre=(),
        inverse_square=clip.inverse_square,
        slack=clip.slack,
        output_scale=1.0,
    )
    return np.asarray(fixed_point(function, 128, 40)(*arrays, np.array([0.5, 0.5]))[0])


def test_new_parameters_do_not_compile_anew() -> None:
    packing = mixed(3)
    layouts = layouts_of(packing, missing=False)
    options = options_of(layouts, clip_of(packing, layouts, 1.0))
    step = jax.jit(partial(secure.gradient_step, **options))  # type: ignore[arg-type]
    rng = np.random.default_rng(11)
    for _ in range(3):
        arrays: list[np.ndarray] = []
        for one in layouts:
            arrays += [rng.random((5, 3)), rng.random((5, 3)), rng.random((5, one.statistics)), np.zeros(packing.shape)]
        arrays.append(rng.random(3))
        for one in layouts:
            arrays += [rng.random((3, one.parameters)), rng.random((3, one.statistics))]
        step(*arrays)
    assert step._cache_size() == 1
