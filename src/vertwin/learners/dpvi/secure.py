"""What runs under MPC in one step of dpvi: bound every record's gradient, sum, add noise. Nothing else is secret.

The paper's Algorithm 1 with the gradient written so that parties share B x K numbers each, not B x K x D. For the
records n of a batch and the components k, party p brings

    e^p_nk  in [0, 1]   its density of the record, its rows shifted (learners/dpvi/local.py); pi inside one party's
    w^p_nk              the squared norm of its score u^p_nk, as rounded, rounded up
    t^p_n               its sufficient statistics (or, without such, the scores u^p_nk themselves)

and the step computes

    e = prod_p e^p        den = sum_k e_k        (r = e / den, never formed)
    Q = sum_k (e_k - pi_k den)^2 + sum_k e_k^2 sum_p w^p_k        = den^2 |g|^2
    M = max(den^2, Q / C'^2)       s = rsqrt(M + slack)       c r = e s

revealing sum_n c_n (r_n - pi) and sum_n c_n r_nk u^p_nk, each with every holder's noise in it. What is bounded is what
is revealed: (r - pi), not r. Both are linear in S = sum_n c_n r_n and T = sum_n c_n r_n t(x_n)': the scores' J_k and
grad A_k are public and are applied to sums.

Lemma. Let f be the fraction bits, ulp = 2^-f, and let every product and truncation be off by at most 2 ulp either way.
If C' = C (1 - rsqrt_error), e^p_nk <= 1, w^p_nk >= |u^p_nk|^2, sum_p w^p_nk <= W and

    slack >= 2 (1 + (1 + K (2 + W)) / C'^2) ulp,

then for every record the vector [e_k s - pi_k den s, e_k s u_k] has norm at most C (1 + K ulp).
Proof. Its squared norm is s^2 Q for the true Q of the e, pi and w that went in, whatever the sign of e. The computed Q
is too small by at most 2 ulp for each (e_k - pi_k den)^2, 2 ulp W for e_k^2 times its weight and 2 ulp for that
product: 2 K (2 + W) ulp; multiplied by 1 / C'^2 and truncated once more, 2 ulp. pi_k den is off by 2 ulp in each k,
which moves Q by at most 4 ulp sqrt(K) A with A = |e - pi den|: the remaining 2 ulp / C'^2 and a relative 2 K ulp cover
it, since 2 K ulp A^2 - 4 ulp sqrt(K) A + 2 ulp >= 0 for every A. So M + slack >= (Q / C'^2) (1 - 2 K ulp), and s is at
most (1 + rsqrt_error) times the rsqrt of that. QED. Roundings of c r itself and of the sums come on top: `rounding`.

A row on which the parties disagree so much that every product truncates has e = 0 and contributes nothing, as has a
row of padding; the log-domain form, not built, would mend the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import jax.numpy as jnp
from jax import Array, lax

from vertwin.errors import user_error

NAME: Final = "vertwin.learners.dpvi.secure:gradient_step"
PER_HOLDER: Final = 4  # private inputs of one holder: densities, squared norms, statistics, noise


@dataclass(frozen=True)
class Arithmetic:
    """What the engine's rsqrt is good for at one width, measured (the contract tests of the engine hold it to that)."""

    field_bits: int
    fraction_bits: int
    rsqrt_error: float  # relative, either way, for arguments in [least, largest]
    least: float
    largest: float

    @property
    def ulp(self) -> float:
        return 2.0**-self.fraction_bits


# FM64: below 2^-9 rsqrt is off by more than 1e-3, above 2^13 too. FM128: good from 2^-31 on, kept below 2^16.
ARITHMETIC: Final = {
    (64, 18): Arithmetic(64, 18, 1e-3, 2.0**-9, 2.0**13),
    (128, 40): Arithmetic(128, 40, 1e-4, 2.0**-31, 2.0**16),
}


@dataclass(frozen=True)
class HardClip:
    """The constants of the step for one model and threshold, all public and fixed for a whole run.

    Formal guarantees:
      - the part that one record has in what is revealed has L2 norm at most C, and with every rounding on the way to
        the revealed sums at most `clipping_threshold * (1 + rho)`: the sensitivity that noise is scaled to;
      - no argument of rsqrt lies outside the range where its error is known;
      - combinations for which neither can be said are refused (E752, E753).
    """

    arithmetic: Arithmetic
    clipping_threshold: float
    components: int
    width: int  # columns of theta
    score_squared: float  # W: at most this for any record and component, over all holders

    def __post_init__(self) -> None:
        if not (math.isfinite(self.clipping_threshold) and self.clipping_threshold > 0):
            raise user_error("E752", "the clipping threshold must be a positive number", place="learner.bound")
        if self.steepness >= self.arithmetic.largest:
            least = math.sqrt((2 + self.score_squared) / self.arithmetic.largest)
            raise user_error(
                "E753",
                f"a clipping threshold of {self.clipping_threshold:g} is too small for {self.arithmetic.fraction_bits} "
                f"fraction bits: the bound would rest on a square root outside its known range",
                f"a threshold above {least:.3g}, or the engine's wider field (aby3)",
                "learner.bound.clipping_threshold",
            )

    @property
    def threshold(self) -> float:
        """C': what the step clips to, so that rsqrt's own error keeps the norm below C."""
        return self.clipping_threshold * (1 - self.arithmetic.rsqrt_error)

    @property
    def inverse_square(self) -> float:
        """1 / C'^2, on the grid, rounded up."""
        return math.ceil(1 / self.threshold**2 / self.arithmetic.ulp) * self.arithmetic.ulp

    @property
    def steepness(self) -> float:
        """The largest Q / C'^2 of a row whose den is 1."""
        return max(1.0, (2 + self.score_squared) * self.inverse_square)

    @property
    def slack(self) -> float:
        """One-sided: makes M + slack no smaller than the true Q / C'^2, and no smaller than rsqrt can take."""
        ulp, records = self.arithmetic.ulp, 1 + self.components * (2 + self.score_squared)
        formula = 2 * (1 + records * self.inverse_square) * ulp
        return math.ceil(max(formula, self.arithmetic.least) / ulp) * ulp

    @property
    def total_at_most(self) -> float:
        """The largest den that keeps every argument of rsqrt in range: the party that holds pi sees to it."""
        room = (self.arithmetic.largest - self.slack) / self.steepness
        return min(float(self.components), math.sqrt(max(1.0, room)))

    def rounding(self, output_ulp: float | None = None) -> float:
        """What the roundings after rsqrt can add to the norm of the difference that one record makes.

        s is off by 2 ulp (relative to s, at least 1 / sqrt(largest)); each c r by 2 ulp, which reaches the scores
        through u; the sums, of both data sets, are truncated in the product, twice more on the public linear map
        (J <= 1), and once when they are cut to the output grid.
        """
        ulp, k = self.arithmetic.ulp, self.components
        of_s = 2 * ulp * math.sqrt(self.arithmetic.largest) * self.clipping_threshold
        of_products = 2 * ulp * (math.sqrt(k) + k + math.sqrt(k * self.score_squared))
        of_sums = math.sqrt(k * self.width) * 2 * (6 * ulp + 2 * (output_ulp or 0.0))
        return of_s + of_products + of_sums + self.clipping_threshold * k * ulp

    def rho(self, output_ulp: float | None = None) -> float:
        """The sensitivity is C (1 + rho)."""
        return max(self.arithmetic.rsqrt_error, self.rounding(output_ulp) / self.clipping_threshold)


def gradient_step(
    *arrays: Array,
    holders: int,
    dense: Sequence[int],
    centre: Sequence[int],
    inverse_square: float,
    slack: float,
    output_scale: float,
) -> tuple[Array]:
    """The noisy sum of bounded gradients, shape (K, width of theta): first the weights' logits, then holder by holder.

    `arrays`, per holder: e (B, K), w (B, K), t (B, D_p + M_p) or, if dense, u (B, K, U_p), and noise (K, width); then,
    public, pi (K,) and per holder with statistics its J ((K, D_p), or (K, U_p, D_p)) and grad A (K, D_p).
    Options: `dense` 1 per holder without statistics, else 0. `centre`, one per statistic, says which base it is centred
    by: 0 for S, i for the presence column i of its holder (the last M_p columns of t), where a column's missing values
    say nothing. `output_scale` 2^(g - f) cuts the sums to g bits before the noise; 1 leaves them.

    Formal guarantees:
      - with e in [0, 1], w no less than the squared norms of u, and the constants of a HardClip, one record moves the
        output by at most C (1 + rho) in L2 norm (the lemma above), noise apart;
      - rows in which every e is 0 (padding) contribute exactly nothing to T and, in the plain twin, to S;
      - the output is the sum plus every holder's noise, each added once, as integers of the grid.

    COST: P - 1 products and 3 of B x K elements, one comparison and one rsqrt of B, one B x K product with s, one
    matrix product K x B x D: about 90 dependent messages. Peers learn the noisy sum and nothing else.
    """
    private = [arrays[PER_HOLDER * p : PER_HOLDER * (p + 1)] for p in range(holders)]
    weights, *public = arrays[PER_HOLDER * holders :]
    e = private[0][0]
    for theirs in private[1:]:
        e = e * theirs[0]
    squared_norms = sum((theirs[1] for theirs in private[1:]), private[0][1])

    total = jnp.sum(e, axis=1)
    offset = e - total[:, None] * weights
    squared = jnp.sum(offset * offset + (e * e) * squared_norms, axis=1)
    size = jnp.maximum(total * total, squared * inverse_square)
    clipped = e * lax.rsqrt(size + slack)[:, None]

    clipped_sum = jnp.sum(clipped, axis=0)
    parts = [(clipped_sum - weights * jnp.sum(clipped_sum))[:, None]]
    parts += _score_sums(clipped, clipped_sum, private, public, dense, centre)
    gradient = jnp.concatenate(parts, axis=1)
    if output_scale != 1.0:
        gradient = gradient * output_scale
    for theirs in private:
        gradient = gradient + theirs[3]
    return (gradient,)


def _score_sums(
    clipped: Array,
    clipped_sum: Array,
    private: Sequence[Sequence[Array]],
    public: list[Array],
    dense: Sequence[int],
    centre: Sequence[int],
) -> list[Array]:
    """sum_n c_n r_nk u_nk per holder: one product for all who have statistics, one per component for the others."""
    linear = [theirs[2] for theirs, is_dense in zip(private, dense, strict=True) if not is_dense]
    sums = clipped.T @ jnp.concatenate(linear, axis=1) if linear else None
    outputs: list[Array] = []
    column = statistic = used = 0
    for theirs, is_dense in zip(private, dense, strict=True):
        if is_dense:
            outputs.append(jnp.einsum("bk,bku->ku", clipped, theirs[2]))
            continue
        assert sums is not None
        jacobian, mean = public[used], public[used + 1]
        used += 2
        here, width = mean.shape[1], theirs[2].shape[1]
        presence = sums[:, column + here : column + width]
        base = _bases(clipped_sum, presence, centre[statistic : statistic + here])
        centred = sums[:, column : column + here] - mean * base
        if jacobian.ndim == 2:
            outputs.append(jacobian * centred)
        else:
            outputs.append(jnp.einsum("kud,kd->ku", jacobian, centred))
        column, statistic = column + width, statistic + here
    return outputs


def _bases(clipped_sum: Array, presence: Array, bases: Sequence[int]) -> Array:
    """What each statistic is centred by: sum_n c_n r_nk over the records in which its column is not missing."""
    everyone = clipped_sum[:, None]
    if not any(bases):
        return everyone
    columns = [
        jnp.broadcast_to(presence[:, base - 1 : base] if base else everyone, (everyone.shape[0], len(list(run))))
        for base, run in groupby(bases)
    ]
    return jnp.concatenate(columns, axis=1)
