"""What one holder computes in the clear, alone, before a step: densities, squared norms, statistics, on the grid.

Densities are exponentials of log densities that may be -800: each row is shifted first. The shift is the paper's
normalising constant; it multiplies numerator and denominator alike and cancels. Its Algorithm 4 adds c = 0.01 until
the row's maximum reaches a threshold t (`normalise_by_loop`, as written); the exact form, used by default, shifts the
row's maximum to 0 at once (`normalise_by_maximum`). Gradients agree (a test).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from vertwin.learners.dpvi.parameters import Layout, PublicParameters
from vertwin.learners.dpvi.secure import HardClip
from vertwin.model import simplex
from vertwin.model.mixture import component_log_density

Normalise = Literal["maximum", "loop"]
LOOP_CONSTANT: Final = 0.01  # the paper's c


def normalising_threshold(fraction_bits: int, holders: int) -> float:
    """t: where some component reaches it at every holder, the product of the densities is not truncated to 0.

    Every e^p is then at least exp(t) less one ulp of the grid, and each of the P - 1 products loses at most 2 ulp:
    P t = log((2 P + 1) ulp) leaves at least one ulp.
    """
    return (math.log(2 * holders + 1) - fraction_bits * math.log(2)) / holders


def normalise_by_loop(log_density: Array, threshold: float | Array, constant: float = LOOP_CONSTANT) -> Array:
    """Algorithm 4 as written: while a row's maximum is below t, add c to the row. COST: (t - maximum) / c rounds."""

    def low(state: Array) -> Array:
        return jnp.any(jnp.max(state, axis=1) < threshold)

    def add(state: Array) -> Array:
        below = jnp.max(state, axis=1, keepdims=True) < threshold
        return jnp.where(below, state + constant, state)

    return lax.while_loop(low, add, log_density)


def normalise_by_maximum(log_density: Array) -> Array:
    """The exact form: every row's maximum becomes 0."""
    return log_density - jnp.max(log_density, axis=1, keepdims=True)


def floor_to_grid(values: Array, ulp: float) -> Array:
    return jnp.floor(values / ulp) * ulp


def ceil_to_grid(values: Array, ulp: float) -> Array:
    return jnp.ceil(values / ulp) * ulp


class Prepared(NamedTuple):
    """One holder's private inputs of a step, the noise apart."""

    densities: np.ndarray  # e, (B, K)
    squared_norms: np.ndarray  # w, (B, K)
    statistics: np.ndarray  # (B, D + M), or (B, K, U) if dense

    def __repr__(self) -> str:
        return "Prepared(rows hidden)"


class LocalPart:
    """One holder's side of the step: holds its encoded columns, hands out what it shares. Blind repr."""

    def __init__(
        self,
        layout: Layout,
        values: Sequence[np.ndarray],
        clip: HardClip,
        *,
        holds_weights: bool,
        normalise: Normalise = "maximum",
        holders: int = 2,
    ) -> None:
        self._layout = layout
        self._ulp = clip.arithmetic.ulp
        self._values = tuple(np.asarray(x) for x in values)
        self.rows = len(self._values[0])
        self._limit = layout.score_squared
        self._columns = slice(layout.blocks[0].start, layout.blocks[-1].stop)  # of theta
        self._relative = layout.relative
        self._holds_weights = holds_weights
        self._log_total_at_most = math.log(clip.total_at_most)
        loop = normalise == "loop"
        self._threshold = normalising_threshold(clip.arithmetic.fraction_bits, holders) if loop else None

    def __repr__(self) -> str:
        return f"LocalPart({len(self._layout.blocks)} columns, rows hidden)"

    def prepare(self, parameters: PublicParameters, holder: int, batch: np.ndarray) -> Prepared:
        """The inputs for the rows in `batch`; an index of -1 is padding and gives zeros throughout."""
        real = batch >= 0
        rows = np.where(real, batch, 0)
        values = tuple(x[rows] for x in self._values)
        densities, norms, statistics = _local_step(
            parameters.theta[:, self._columns],
            parameters.theta[:, 0] if self._holds_weights else None,
            values,
            real,
            parameters.jacobians[holder],
            parameters.means[holder],
            self._log_total_at_most,
            self._threshold,
            layout=self._relative,
            ulp=self._ulp,
        )
        norms = np.asarray(norms)
        assert float(norms.max(initial=0.0)) <= self._limit, "a score passes its family's declared bound"
        return Prepared(np.asarray(densities), norms, np.asarray(statistics))


@partial(jax.jit, static_argnames=("layout", "ulp"))
def _local_step(
    psi: Array,
    weight_logits: Array | None,
    values: tuple[Array, ...],
    real: Array,
    jacobian: Array | None,
    mean: Array | None,
    log_total_at_most: float | Array,
    threshold: float | Array | None,
    *,
    layout: Layout,
    ulp: float,
) -> tuple[Array, Array, Array]:
    """Densities, squared norms of the scores, and statistics or, on the dense path, the scores themselves."""
    log_density = component_log_density(layout.blocks, values, psi)
    if weight_logits is not None:
        log_density = log_density + simplex.log_weights(weight_logits)
    shifted = _normalised(log_density, threshold, None if weight_logits is None else log_total_at_most)
    densities = floor_to_grid(jnp.exp(shifted), ulp) * real[:, None]
    if layout.dense:
        pairs = zip(layout.blocks, values, strict=True)
        scores = jnp.concatenate([block.family.bounded_score(x, block.of(psi)) for block, x in pairs], axis=2)
        # Towards zero, so that rounding never lengthens a score.
        scores = jnp.trunc(scores / ulp) * ulp * real[:, None, None]
        return densities, _upper_squares(jnp.sum(scores**2, axis=2), ulp), scores
    assert jacobian is not None
    assert mean is not None
    statistics = _statistics(values, layout, ulp) * real[:, None]
    squares = _linear_squares(statistics, jacobian, mean, layout)
    return densities, _upper_squares(squares, ulp) * real[:, None], statistics


def _statistics(values: tuple[Array, ...], layout: Layout, ulp: float) -> Array:
    """t(x) of the rows of a batch, on the grid, then the presence columns. Made anew for each batch: one-hot columns
    of a whole table would take forty times its codes."""
    columns = list(zip(layout.exponential, values, layout.can_be_missing, strict=True))
    parts = [floor_to_grid(family.statistic(x), ulp) for family, x, _ in columns]
    parts += [jnp.where(family.missing(x), 0.0, 1.0)[:, None] for family, x, missing in columns if missing]
    return jnp.concatenate(parts, axis=1)


def _normalised(log_density: Array, threshold: float | Array | None, log_total_at_most: float | Array | None) -> Array:
    """Rows shifted so that every density lies in (0, 1] and, at the holder of pi, their sum below its limit."""
    if threshold is None:
        shifted = normalise_by_maximum(log_density)
    else:
        shifted = normalise_by_loop(log_density, threshold)
        # The loop only raises; a density above 1 would break the bound, and is lowered.
        shifted = shifted - jnp.maximum(jnp.max(shifted, axis=1, keepdims=True), 0.0)
    if log_total_at_most is None:
        return shifted
    excess = jax.nn.logsumexp(shifted, axis=1, keepdims=True) - log_total_at_most
    return shifted - jnp.maximum(excess, 0.0)


def _linear_squares(statistics: Array, jacobian: Array, mean: Array, layout: Layout) -> Array:
    """|J_k (t - grad A_k)|^2 over the columns that are present, (B, K), by products instead of B x K x D numbers."""
    t = statistics[:, : layout.statistics]
    if jacobian.ndim == 3:
        centred = t[:, None, :] - mean * _presence(statistics, layout)[:, None, :]
        return jnp.sum(jnp.einsum("kud,bkd->bku", jacobian, centred) ** 2, axis=2)
    squared = jacobian**2
    positive = (t**2) @ squared.T
    if any(layout.can_be_missing):
        positive = positive + _presence(statistics, layout) @ (squared * mean**2).T
    else:
        positive = positive + jnp.sum(squared * mean**2, axis=1)
    # The difference may cancel: float64's error is relative to the terms, not to what is left of them.
    return positive * (1.0 + 2.0**-46) - 2.0 * t @ (squared * mean).T


def _presence(statistics: Array, layout: Layout) -> Array:
    """Per record and statistic: 1 where its column is not missing."""
    bases = np.asarray(layout.centre)
    columns = statistics[:, np.maximum(layout.statistics + bases - 1, 0)]
    return jnp.where(bases == 0, 1.0, columns)


def _upper_squares(squares: Array, ulp: float) -> Array:
    """Rounded up, float64's own error (products of terms up to 2^6) included."""
    return ceil_to_grid(jnp.maximum(squares, 0.0) + 2.0**-42, ulp)
